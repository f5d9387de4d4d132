#!/usr/bin/env node
/**
 * Builds the dashboard into dashboard/dist: `npm ci` runs it as `prepare`, `npm run dashboard` runs it with --strict.
 *
 * Nothing is built when the sources and the lock file are those of the last build. Without --strict it never fails: where Vite is not
 * installed (`--omit=dev`) or the build breaks, it says so in one line, and the gateway starts without a dashboard.
 */
import * as Crypto from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import * as zlib from "node:zlib"

const here = import.meta.dirname
const dist = path.join(here, "dist")
const stampFile = path.join(dist, ".stamp")
const strict = process.argv.includes("--strict")

/** Smaller files are not worth a second form. */
const LEAST_COMPRESSED = 1_024

const filesBelow = (folder) => fs.readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
  const place = path.join(folder, entry.name)
  if (entry.isDirectory()) return entry.name.startsWith("dist") ? [] : filesBelow(place)
  return [place]
})

const stampOf = () => {
  const hash = Crypto.createHash("sha256")
  for (const file of [...filesBelow(here).sort(), path.join(here, "..", "package-lock.json")]) {
    hash.update(path.relative(here, file)).update("\0").update(fs.readFileSync(file)).update("\0")
  }
  return hash.digest("hex")
}

const isBuilt = (stamp) => fs.existsSync(stampFile) && fs.readFileSync(stampFile, "utf8") === stamp

/** The licences of the packages whose code is in the bundle, as their terms ask. */
const licences = () => {
  const packages = new Map()
  return {
    name: "licences",
    generateBundle(_, bundle) {
      for (const chunk of Object.values(bundle)) {
        if (chunk.type !== "chunk") continue
        for (const id of chunk.moduleIds) {
          const [, place] = /^(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(id) ?? []
          if (place === undefined || packages.has(place)) continue
          const { license, name, version } = JSON.parse(fs.readFileSync(path.join(place, "package.json"), "utf8"))
          const file = fs.readdirSync(place).find((entry) => /^licen[cs]e/i.test(entry))
          packages.set(place, `${name} ${version} (${license})\n\n${file === undefined ? "" : fs.readFileSync(path.join(place, file), "utf8")}`)
        }
      }
      this.emitFile({ type: "asset", fileName: "assets/licences.txt", source: [...packages.values()].sort().join("\n\n----\n\n") })
    }
  }
}

/** What the page's own files take of React. Another name breaks the build: write it here. */
const ofReact = {
  "react": ["lazy", "memo", "StrictMode", "Suspense", "useCallback", "useEffect", "useId", "useLayoutEffect", "useMemo", "useRef", "useState", "useSyncExternalStore"],
  "react/jsx-runtime": ["Fragment", "jsx", "jsxs"]
}

/**
 * React comes as CommonJS: each use of a member would be written out, as in `(0, react.useState)`, and each chunk would wrap the package anew.
 * The page's own files take the members from one module instead, whose names the build makes short.
 */
const namesOfReact = () => {
  const mark = "\0names-of:"
  return {
    name: "names-of-react",
    enforce: "pre",
    resolveId(source, importer) {
      const isOwn = importer !== undefined && importer.startsWith(here) && !importer.includes("node_modules")
      return isOwn && Object.hasOwn(ofReact, source) ? `${mark}${source}` : undefined
    },
    load(id) {
      if (!id.startsWith(mark)) return undefined
      const source = id.slice(mark.length)
      return `import * as whole from ${JSON.stringify(source)}\nexport const { ${ofReact[source].join(", ")} } = whole`
    }
  }
}

const compress = (folder) => {
  for (const file of filesBelow(folder)) {
    const bytes = fs.readFileSync(file)
    if (file.endsWith("index.html") || bytes.length < LEAST_COMPRESSED) continue
    fs.writeFileSync(`${file}.br`, zlib.brotliCompressSync(bytes))
    fs.writeFileSync(`${file}.gz`, zlib.gzipSync(bytes, { level: 9 }))
  }
}

const build = async (vite, stamp) => {
  // Another value, such as that of a test runner, would take the libraries' slow and large development code.
  process.env.NODE_ENV = "production"
  // Built beside, then renamed: a gateway that starts meanwhile sees a whole dashboard or none.
  const next = path.join(here, `dist-${process.pid}`)
  const old = path.join(here, `dist-${process.pid}-old`)
  try {
    await vite.build({
      configFile: false,
      root: here,
      base: "./",
      logLevel: "warn",
      publicDir: false,
      plugins: [namesOfReact(), licences()],
      build: {
        outDir: next,
        emptyOutDir: true,
        target: "es2022",
        cssTarget: ["chrome125", "firefox125", "safari17.5"],
        // The page's policy allows no inline data in place of files.
        assetsInlineLimit: 0,
        modulePreload: { polyfill: false },
        reportCompressedSize: false,
        rolldownOptions: {
          // Few files before the first drawing: what screens share is one chunk, however they are cut.
          output: { codeSplitting: { groups: [{ name: "shared", test: /names-of:|node_modules|\/dashboard\/(?:api|format|parts)\// }] } },
          // The libraries mark files for servers that render React; this page is rendered in the browser only.
          onwarn: (warning, otherwise) => warning.code === "MODULE_LEVEL_DIRECTIVE" ? undefined : otherwise(warning)
        }
      }
    })
    compress(next)
    fs.writeFileSync(path.join(next, ".stamp"), stamp)
    // Of two builds at once the first stands.
    if (isBuilt(stamp)) return
    try {
      // In one step: another build that ends now finds none or a whole one.
      fs.renameSync(dist, old)
    } catch {
      // There was none, or the other one has moved it.
    }
    fs.renameSync(next, dist)
  } catch (error) {
    // The other one was first with the same.
    if (!isBuilt(stamp)) throw error
  } finally {
    fs.rmSync(old, { recursive: true, force: true })
    fs.rmSync(next, { recursive: true, force: true })
  }
}

const say = (text) => process.stdout.write(`dashboard: ${text}\n`)

try {
  const stamp = stampOf()
  if (isBuilt(stamp)) {
    say("up to date")
  } else {
    const vite = await import("vite").catch(() => null)
    if (vite === null) {
      if (strict) throw new Error("Vite is not installed: run `npm ci` without --omit=dev")
      say("not built, because the development packages are not installed; `npm ci` builds it")
    } else {
      const begun = performance.now()
      await build(vite, stamp)
      say(`built in ${((performance.now() - begun) / 1000).toFixed(1)} s`)
    }
  }
} catch (error) {
  if (strict) throw error
  say(`not built: ${error instanceof Error ? error.message.split("\n", 1)[0] : String(error)}`)
}
