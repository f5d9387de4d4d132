// @ts-check
/**
 * Makes a start faster: Node's compile cache, beside it the sources with their types stripped, which Node (22) would strip anew at
 * every start, and imports of sources that are resolved without a look at the disk.
 *
 * Both live in `node_modules/.cache`, where only an account that can change the sources can change them. A stripped source stands under
 * the hash of the source that it was made of; a directory that cannot be written costs the speed and nothing else.
 *
 * It is JavaScript: one source with types makes Node load its TypeScript compiler, which takes 80 ms and 16 MB of each thread.
 */
import { createHash } from "node:crypto"
import * as fs from "node:fs"
import * as Module from "node:module"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { threadId } from "node:worker_threads"

/**
 * What was kept for a source. Types become blanks, so that a whole one is as long as its source; a power cut may leave less, or zeros.
 * @type {(file: string, source: string) => string | null}
 */
const read = (file, source) => {
  try {
    const code = fs.readFileSync(file, "utf8")
    return code.length === source.length && code.endsWith("\n") ? code : null
  } catch {
    return null
  }
}

/** @type {(file: string, code: string) => void} */
const write = (file, code) => {
  try {
    const fresh = `${file}.${process.pid}-${threadId}`
    fs.writeFileSync(fresh, code, { mode: 0o600 })
    fs.renameSync(fresh, file)
  } catch {
    // The next start strips again.
  }
}

const root = new URL("../../", import.meta.url).href
const packages = new URL("node_modules/", root).href

/** A path that is the whole name of a module beside the one that asks for it. */
const beside = /^\.\.?\/.*\.(?:ts|m?js)$/

/**
 * The folders that `imports` of package.json names: `#src/x.ts` is `src/x.ts`.
 * @type {ReadonlyArray<string>}
 */
export const folders = ["schemas", "actors", "src", "test", "bench"]
const named = new RegExp(`^#(?:${folders.join("|")})/`)

/**
 * Where an import leads. Node asks the disk for each one (the package's file, links, whether it exists), thousands of times in a
 * start. The gateway's own names and whole paths say where they lead, and a package's name leads to the same file from each source.
 */
const resolveQuickly = () => {
  /** @type {Map<string, Module.ResolveFnOutput>} */
  const known = new Map()
  Module.registerHooks({
    resolve: (specifier, context, next) => {
      const parent = context.parentURL
      // `require` has rules of its own.
      if (parent === undefined || !parent.startsWith(root) || context.conditions?.includes("require") === true) return next(specifier, context)
      if (beside.test(specifier)) return { url: new URL(specifier, parent).href, shortCircuit: true }
      if (parent.startsWith(packages)) return next(specifier, context)
      if (named.test(specifier) && specifier.endsWith(".ts")) return { url: root + specifier.slice(1), shortCircuit: true }
      // What a file says of itself is asked each time.
      if (/^(?:[./#]|file:|data:)/.test(specifier)) return next(specifier, context)
      const found = known.get(specifier)
      if (found !== undefined) return found
      const resolved = next(specifier, context)
      known.set(specifier, { ...resolved, shortCircuit: true })
      return resolved
    }
  })
}

/** @type {(directory: string) => void} */
const keepStripped = (directory) => {
  try {
    fs.mkdirSync(directory, { recursive: true, mode: 0o700 })
  } catch {
    return
  }
  Module.registerHooks({
    load: (url, context, next) => {
      if (!url.startsWith("file:") || !url.endsWith(".ts")) return next(url, context)
      const source = fs.readFileSync(fileURLToPath(url), "utf8")
      const file = path.join(directory, createHash("sha256").update(source).digest("hex"))
      const kept = read(file, source)
      if (kept !== null) return { format: "module", source: kept, shortCircuit: true }
      const code = Module.stripTypeScriptTypes(source)
      write(file, code)
      return { format: "module", source: code, shortCircuit: true }
    }
  })
}

let isEnabled = false

/** For this thread, and once. */
export const enable = () => {
  if (isEnabled) return
  isEnabled = true
  const own = fileURLToPath(new URL("../../node_modules/.cache/gateway", import.meta.url))
  const directory = process.env["NODE_COMPILE_CACHE"] ?? own
  const { status } = Module.enableCompileCache(directory)
  const { DISABLED, FAILED } = Module.constants.compileCacheStatus
  if (status === FAILED) Module.enableCompileCache()
  // `node --watch` learns what to watch from the loads that the hooks would answer.
  if (status === DISABLED || process.env["WATCH_REPORT_DEPENDENCIES"] !== undefined) return
  // This needs no directory.
  resolveQuickly()
  if (status !== FAILED) keepStripped(path.join(directory, `stripped-${process.version}`))
}
