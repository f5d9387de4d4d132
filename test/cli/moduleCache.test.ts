import * as fs from "node:fs"
import * as path from "node:path"
import { describe, expect, it } from "vitest"
import { folders } from "#src/cli/moduleCache.ts"
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
    const file = path.join(directory, `stripped-${process.version}.json`)
    const env = { NODE_COMPILE_CACHE: directory }
    const said = async () => (await run(["--version"], { env })).stdout

    expect(await said()).toContain(version)
    const first = JSON.parse(fs.readFileSync(file, "utf8")) as Record<string, [string, string]>
    const url = Object.keys(first).find((name) => name.endsWith("/schemas/version.ts")) ?? ""
    expect(first[url]?.[1]).toContain(version)

    // The fitting hash: the cached code runs.
    const hash = first[url]?.[0] ?? ""
    fs.writeFileSync(file, JSON.stringify({ ...first, [url]: [hash, "export const version = 'from the cache'"] }))
    expect(await said()).toContain("from the cache")
    // Another hash, as after an edit: the source runs.
    fs.writeFileSync(file, JSON.stringify({ ...first, [url]: ["stale", "export const version = 'from the cache'"] }))
    expect(await said()).toContain(version)
    expect((JSON.parse(fs.readFileSync(file, "utf8")) as Record<string, [string, string]>)[url]).toEqual(first[url])
    fs.writeFileSync(file, "{ torn")
    expect(await said()).toContain(version)
  })
})
