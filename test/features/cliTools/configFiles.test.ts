/** Files of a tool: another program's change is not overwritten, and all of them are written or none. */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as ConfigFiles from "#src/features/cliTools/ConfigFiles.ts"
import { toolOf } from "#src/features/cliTools/tools.ts"

describe("a tool's files", () => {
  it.effect("keep what another program wrote meanwhile, and the files before it are put back", () => Effect.gen(function*() {
    const home = fs.mkdtempSync(path.join(os.tmpdir(), "config-files-"))
    const machine = { home, path: "", mounts: () => null }
    const pi = toolOf("pi")
    const at = (name: string) => path.join(home, ".pi", "agent", name)
    fs.mkdirSync(path.dirname(at("x")), { recursive: true })
    fs.writeFileSync(at("models.json"), "first", { mode: 0o640 })
    const files = yield* ConfigFiles.read(machine, pi)
    const writings = files.map((file) => ({ file, text: "ours", mode: file.mode }))
    fs.writeFileSync(at("settings.json"), "theirs")
    const error = yield* Effect.flip(ConfigFiles.write(machine, pi, writings))
    expect([error.reason, error.message]).toEqual(["changed", `${at("settings.json")} was changed by another program meanwhile; nothing was written to it: ask again`])
    expect([fs.readFileSync(at("models.json"), "utf8"), fs.readFileSync(at("settings.json"), "utf8"), fs.statSync(at("models.json")).mode & 0o777]).toEqual(["first", "theirs", 0o640])
    expect(fs.readdirSync(path.dirname(at("x"))).sort()).toEqual(["models.json", "settings.json"])
    fs.rmSync(home, { recursive: true })
  }))

  it.effect("that are no files are refused by their name", () => Effect.gen(function*() {
    const home = fs.mkdtempSync(path.join(os.tmpdir(), "config-files-"))
    const codex = toolOf("codex")
    const file = path.join(home, ".codex", "config.toml")
    fs.mkdirSync(file, { recursive: true })
    const read = Effect.flip(ConfigFiles.read({ home, path: "", mounts: () => null }, codex))
    expect((yield* read).message).toBe(`${file} cannot be read: it is no file`)
    fs.rmdirSync(file)
    fs.symlinkSync(path.join(home, "gone"), file)
    expect((yield* read).message).toBe(`${file} cannot be read: it is a link to a file that does not exist`)
    fs.rmSync(home, { recursive: true })
  }))
})
