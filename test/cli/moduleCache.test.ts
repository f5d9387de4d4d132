import { execFile } from "node:child_process"
import { createHash } from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import { promisify } from "node:util"
import { describe, expect, it } from "vitest"
import { folders } from "#src/cli/moduleCache.mjs"
import { version } from "#schemas/version.ts"
import { emptyDirectory, run } from "./support/command.ts"

describe("the module cache", () => {
  it("knows the folders that the package's own names lead to", () => {
    const { imports } = JSON.parse(fs.readFileSync(path.join(import.meta.dirname, "../../package.json"), "utf8")) as { readonly imports: Record<string, string> }
    expect(imports).toEqual(Object.fromEntries(folders.map((name) => [`#${name}/*`, `./${name}/*`])))
  })

  it("is turned off whole, and the gateway runs as before", async () => {
    const directory = emptyDirectory()
    expect((await run(["--version"], { env: { NODE_COMPILE_CACHE: directory, NODE_DISABLE_COMPILE_CACHE: "1" } })).stdout).toContain(version)
    expect(fs.readdirSync(directory)).toEqual([])
  })

  it("is not missed where its directory cannot be made", async () => {
    const file = path.join(emptyDirectory(), "file")
    fs.writeFileSync(file, "")
    expect((await run(["--version"], { env: { NODE_COMPILE_CACHE: path.join(file, "cache") } })).stdout).toContain(version)
  })

  it("is written once, believed only where the source's hash fits, and never needed", async () => {
    const directory = emptyDirectory()
    const env = { NODE_COMPILE_CACHE: directory }
    const said = async () => (await run(["--version"], { env })).stdout
    const source = fs.readFileSync(path.join(import.meta.dirname, "../../schemas/version.ts"), "utf8")
    const file = path.join(directory, `stripped-${process.version}`, createHash("sha256").update(source).digest("hex"))

    expect(await said()).toContain(version)
    expect(fs.readFileSync(file, "utf8")).toContain(version)
    expect(fs.statSync(path.dirname(file)).mode & 0o077).toBe(0)

    // Under the source's hash: the cached code runs.
    fs.writeFileSync(file, `${"export const version = 'from the cache'".padEnd(source.length - 1)}\n`)
    expect(await said()).toContain("from the cache")
    // Under another hash, as after an edit: the source runs, and is kept anew.
    fs.renameSync(file, `${file.slice(0, -4)}0000`)
    expect(await said()).toContain(version)
    expect(fs.readFileSync(file, "utf8")).toContain(version)
    // What a power cut may leave: the source runs.
    for (const torn of ["", source.slice(0, 20), "\0".repeat(source.length)]) {
      fs.writeFileSync(file, torn)
      expect(await said()).toContain(version)
      expect(fs.readFileSync(file, "utf8")).toContain(version)
    }
    fs.rmSync(path.dirname(file), { recursive: true })
    fs.writeFileSync(path.dirname(file), "no directory")
    expect(await said()).toContain(version)
  })

  it("spares every thread Node's own TypeScript compiler", async () => {
    const look = "process.moduleLoadList.some((name) => name.includes('amaro'))"
    const script = `
      import { Worker } from "node:worker_threads"
      await import("#schemas/version.ts")
      const thread = new Worker("await import('#schemas/version.ts'); (await import('node:worker_threads')).parentPort.postMessage(${look})", { eval: true })
      thread.once("message", (inThread) => console.log(JSON.stringify([${look}, inThread])))
    `
    const loaded = async (...flags: ReadonlyArray<string>) =>
      JSON.parse((await promisify(execFile)(process.execPath, [...flags, "--disable-warning=ExperimentalWarning", "--input-type=module", "-e", script])).stdout) as unknown
    // The first run strips what no run before it did.
    await loaded("--import=./src/preload.mjs")
    expect([await loaded(), await loaded("--import=./src/preload.mjs")]).toEqual([[true, true], [false, false]])
  })

  it("spares a start Node's own undici, which an import of node:http loads", async () => {
    const loaded = async (source: string) => {
      const script = `await import("${source}"); console.log(process.moduleLoadList.some((name) => name.includes("deps/undici")))`
      const flags = ["--import=./src/preload.mjs", "--disable-warning=ExperimentalWarning", "--input-type=module"]
      return (await promisify(execFile)(process.execPath, [...flags, "-e", script])).stdout.trim()
    }
    expect([await loaded("node:http"), await loaded("#src/App.ts")]).toEqual(["true", "false"])
  })
})
