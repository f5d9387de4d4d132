/** `gateway.yaml` as an operator uses it: beside the gateway, changed and told by SIGHUP, exported, and taken away again. */
import * as fs from "node:fs"
import * as path from "node:path"
import { describe, expect, it } from "vitest"
import { eventually } from "#test/support/operator.ts"
import { type Command, emptyDirectory, freePort, run, start } from "./support/command.ts"
import { chat, migrated } from "./support/dataDir.ts"

const combo = (name: string, ...models: ReadonlyArray<string>) => `  ${name}:\n    models: [${models.join(", ")}]\n`

interface Place {
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly url: string
}

/** A working directory with this `gateway.yaml`, and a data directory. */
const place = async (yaml: string): Promise<Place> => {
  const cwd = emptyDirectory()
  const port = await freePort()
  fs.writeFileSync(path.join(cwd, "gateway.yaml"), yaml)
  return { cwd, env: { PORT: String(port), GATEWAY_DATA_DIR: await migrated(), TEAM_KEY: "sk-a-key-of-the-team-0001", LIVE_WS_PORT: "0" }, url: `http://127.0.0.1:${port}` }
}

const serve = async ({ cwd, env }: Place, more: Readonly<Record<string, string>> = {}): Promise<Command> => {
  const command = start(["serve"], { cwd, env: { ...env, ...more } })
  await command.said("listens on")
  return command
}

const status = async ({ url }: Place, model: string): Promise<number> => {
  const response = await chat({ url } as never, { model })
  await response.body?.cancel()
  return response.status
}

describe("gateway.yaml", () => {
  it("beside the gateway is applied before it serves, again at SIGHUP, and comes out of `gateway export`", async () => {
    const here = await place(`combos:\n${combo("first", "sim/echo")}keys:\n  team: { key: "\${TEAM_KEY}" }\n`)
    const command = await serve(here)
    expect(await status(here, "first")).toBe(200)

    fs.writeFileSync(path.join(here.cwd, "gateway.yaml"), `combos:\n${combo("second", "sim/echo")}keys:\n  team: { key: "\${TEAM_KEY}" }\n`)
    command.signal("SIGHUP")
    expect(await eventually(() => status(here, "second"), (seen) => seen === 200, "the second combo")).toBe(200)
    expect(await eventually(() => status(here, "first"), (seen) => seen !== 200, "the end of the first combo")).not.toBe(200)

    // A file with a fault changes nothing, and the gateway goes on.
    fs.writeFileSync(path.join(here.cwd, "gateway.yaml"), "combos: [\n")
    command.signal("SIGHUP")
    await eventually(() => Promise.resolve(command.stdout + command.stderr), (text) => text.includes("Nothing of the configuration file"), "the log line")
    expect(await status(here, "second")).toBe(200)

    const printed = await run(["export"], { cwd: here.cwd, env: here.env })
    expect(printed.code).toBe(0)
    expect(printed.stdout).toContain("second:\n    models:\n      - sim/echo")
    expect(printed.stdout).toContain("key: ${TEAM_KEY}")
    expect(printed.stdout).not.toContain(here.env["TEAM_KEY"])
    // Never over a file that stands there.
    const over = await run(["export", "--output", path.join(here.cwd, "gateway.yaml")], { cwd: here.cwd, env: here.env })
    expect([over.code, fs.readFileSync(path.join(here.cwd, "gateway.yaml"), "utf8")]).toEqual([1, "combos: [\n"])
    const written = await run(["export", "-o", path.join(here.cwd, "other.yaml")], { cwd: here.cwd, env: here.env })
    expect([written.code, fs.readFileSync(path.join(here.cwd, "other.yaml"), "utf8").trimEnd()]).toEqual([0, printed.stdout.trimEnd()])
    expect((await command.stop()).code).toBe(0)
  })

  it("is read by a start that is told SIGHUP before it serves", async () => {
    const here = await place(`combos:\n${combo("early", "sim/echo")}`)
    const command = start(["serve"], { cwd: here.cwd, env: here.env })
    // The port is open before the rest is loaded.
    const ping = () => fetch(`${here.url}/api/health/ping`).then((response) => response.status, () => 0)
    await eventually(ping, (seen) => seen !== 0, "the port")
    command.signal("SIGHUP")
    await command.said("listens on")
    expect(await status(here, "early")).toBe(200)
    expect((await command.stop()).code).toBe(0)
  })

  it("with a fault ends the start with code 1, every fault, and no stack; a file that is named and missing, too", async () => {
    const here = await place("combos:\n  c: { models: [sim/echo], stategy: weighted }\nkeys:\n  k: { key: \"${NOWHERE}\" }\n")
    const { code, stderr } = await run(["serve"], { cwd: here.cwd, env: here.env })
    expect(code).toBe(1)
    expect(stderr).toContain("keys.k.key: The variable NOWHERE is not set")
    expect(stderr).not.toMatch(/\n\s+at /)
    const missing = await run(["serve"], { cwd: here.cwd, env: { ...here.env, GATEWAY_CONFIG: "nowhere.yaml" } })
    expect(missing.code).toBe(1)
    expect(missing.stderr).toContain(path.join(here.cwd, "nowhere.yaml"))
    expect(missing.stderr).not.toMatch(/\n\s+at /)
  })

  it("that is taken away leaves its records to operators; SIGHUP then ends the process, as it ends any", async () => {
    const here = await place(`combos:\n${combo("kept", "sim/echo")}`)
    expect((await (await serve(here)).stop()).code).toBe(0)
    fs.rmSync(path.join(here.cwd, "gateway.yaml"))
    const command = await serve(here)
    expect(command.stdout + command.stderr).toContain("may be changed by the API again")
    expect(await status(here, "kept")).toBe(200)
    const removed = await run(["combos", "remove", "kept"], { cwd: here.cwd, env: here.env })
    expect(removed.code).toBe(0)
    command.signal("SIGHUP")
    expect((await command.ended).signal).toBe("SIGHUP")
  })

  it("owns its records against the command line, too", async () => {
    const here = await place(`combos:\n${combo("mine", "sim/echo")}`)
    const command = await serve(here)
    const { code, stderr } = await run(["combos", "remove", "mine"], { cwd: here.cwd, env: here.env })
    expect([code, stderr.includes(path.join(here.cwd, "gateway.yaml"))]).toEqual([1, true])
    await command.stop()
  })
})
