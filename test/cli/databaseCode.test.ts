/** What V8 compiles of the embedded database while the gateway starts. */
import * as fs from "node:fs"
import * as path from "node:path"
import { describe, expect, it, vi } from "vitest"
import { Command, emptyDirectory, freePort, root } from "./support/command.ts"

describe("the code of the embedded database", () => {
  it("is compiled as it is called, and optimized after a first start only", async () => {
    const { scripts } = JSON.parse(fs.readFileSync(path.join(root, "package.json"), "utf8")) as { readonly scripts: { readonly start: string } }
    const traced = scripts.start.replace(" src/main.ts", " --trace-wasm-compilation-times src/main.ts")
    const directory = emptyDirectory()
    // A file, because V8 drops lines when a pipe is full.
    const output = path.join(directory, "output")
    const env = { PATH: `${path.join(root, "node_modules/.bin")}:${process.env["PATH"]}`, GATEWAY_DATA_DIR: path.join(directory, "data"), PORT: String(await freePort()) }
    const gateway = new Command("sh", ["-c", `${traced} > ${output}`], { cwd: root, env })
    await vi.waitFor(() => expect(fs.readFileSync(output, "utf8")).toContain("Try it:"), { timeout: 100_000, interval: 100 })
    await gateway.stop()
    const compiled = fs.readFileSync(output, "utf8").split("\n").filter((line) => line.startsWith("Compiled function"))
    expect(compiled.filter((line) => line.includes("using Liftoff")).length).toBeGreaterThan(1000)
    expect(compiled.filter((line) => line.includes("using TurboFan"))).toEqual([])
  })
})
