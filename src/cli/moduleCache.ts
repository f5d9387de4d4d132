/**
 * Makes a start faster: Node's compile cache, beside it the sources with their types stripped, which Node (22) would strip anew at
 * every start, and imports of sources that are resolved without a look at the disk.
 *
 * Both live in `node_modules/.cache`, where only an account that can change the sources can change them. A source is taken from the
 * cache when its hash is the same; a directory that cannot be written costs the speed and nothing else.
 */
import { createHash } from "node:crypto"
import * as fs from "node:fs"
import * as Module from "node:module"
import * as path from "node:path"
import { fileURLToPath } from "node:url"

/** By URL: hash of the source, source without types. */
type Stripped = Record<string, readonly [hash: string, code: string]>

/** The first start writes what it stripped once it is over, in case it is killed later (ms). */
const saveAfterMs = 10_000

const readUnsafe = (file: string): Stripped => {
  const value: unknown = JSON.parse(fs.readFileSync(file, "utf8"))
  return typeof value === "object" && value !== null ? value as Stripped : {}
}

const read = (file: string): Stripped => {
  try {
    return readUnsafe(file)
  } catch {
    return {}
  }
}

const write = (file: string, stripped: Stripped): void => {
  try {
    const fresh = `${file}.${process.pid}`
    fs.writeFileSync(fresh, JSON.stringify(stripped), { mode: 0o600 })
    fs.renameSync(fresh, file)
  } catch {
    // The next start strips again.
  }
}

/** The same while requests are served: an entry at a time, so that no turn of the loop writes megabytes. */
const writeInTurns = async (file: string, stripped: Stripped): Promise<boolean> => {
  const fresh = `${file}.${process.pid}.turns`
  try {
    await fs.promises.writeFile(fresh, piecesOf(stripped), { mode: 0o600 })
    await fs.promises.rename(fresh, file)
    return true
  } catch {
    return false
  }
}

const piecesOf = function*(stripped: Stripped): Generator<string> {
  let before = "{"
  for (const [url, entry] of Object.entries(stripped)) {
    yield `${before}${JSON.stringify(url)}:${JSON.stringify(entry)}`
    before = ","
  }
  yield before === "{" ? "{}" : "}"
}

const root = new URL("../../", import.meta.url).href
const packages = new URL("node_modules/", root).href

/** Is it one of the gateway's own sources? */
const isOwn = (url: string | undefined): boolean => url !== undefined && url.startsWith(root) && !url.startsWith(packages)

/** The folders that `imports` of package.json names: `#src/x.ts` is `src/x.ts`. */
export const folders: ReadonlyArray<string> = ["schemas", "actors", "src", "test", "bench"]
const named = new RegExp(`^#(?:${folders.join("|")})/`)

/**
 * Where an import of a source leads. Node asks the disk for each one (the package's file, links, whether it exists), 3,500 times: a
 * third of a start's CPU. The gateway's own names say where they lead, and a package's name leads to the same file from each of them.
 */
const resolveQuickly = (): void => {
  const known = new Map<string, Module.ResolveFnOutput>()
  Module.registerHooks({
    resolve: (specifier, context, next) => {
      if (!isOwn(context.parentURL)) return next(specifier, context)
      if (specifier.endsWith(".ts")) {
        if (named.test(specifier)) return { url: root + specifier.slice(1), shortCircuit: true }
        if (specifier.startsWith("./") || specifier.startsWith("../")) return { url: new URL(specifier, context.parentURL).href, shortCircuit: true }
      }
      // What a file says of itself is asked each time; conditions differ between `import` and `require`.
      if (/^(?:[./#]|file:|data:)/.test(specifier) || context.conditions?.includes("require") === true) return next(specifier, context)
      const found = known.get(specifier)
      if (found !== undefined) return found
      const resolved = next(specifier, context)
      known.set(specifier, { ...resolved, shortCircuit: true })
      return resolved
    }
  })
}

const keepStripped = (file: string): void => {
  const known = read(file)
  const used: Stripped = {}
  let isNew = false
  const save = (): void => {
    if (isNew) write(file, { ...known, ...used })
    isNew = false
  }
  Module.registerHooks({
    load: (url, context, next) => {
      if (!url.startsWith("file:") || !url.endsWith(".ts")) return next(url, context)
      const source = fs.readFileSync(fileURLToPath(url), "utf8")
      const hash = createHash("sha256").update(source).digest("base64")
      let entry = known[url]
      if (entry === undefined || entry[0] !== hash) {
        entry = [hash, Module.stripTypeScriptTypes(source)]
        isNew = true
      }
      used[url] = entry
      return { format: "module", source: entry[1], shortCircuit: true }
    }
  })
  process.on("exit", save)
  setTimeout(() => {
    if (isNew) void writeInTurns(file, { ...known, ...used }).then((written) => {
      isNew &&= !written
    })
  }, saveAfterMs).unref()
}

export const enable = (): void => {
  const own = fileURLToPath(new URL("../../node_modules/.cache/gateway", import.meta.url))
  const directory = process.env["NODE_COMPILE_CACHE"] ?? own
  const { status } = Module.enableCompileCache(directory)
  const { DISABLED, FAILED } = Module.constants.compileCacheStatus
  if (status === FAILED) Module.enableCompileCache()
  // `node --watch` learns what to watch from the loads that the hooks would answer.
  if (status === DISABLED || process.env["WATCH_REPORT_DEPENDENCIES"] !== undefined) return
  // This needs no directory.
  resolveQuickly()
  if (status !== FAILED) keepStripped(path.join(directory, `stripped-${process.version}.json`))
}
