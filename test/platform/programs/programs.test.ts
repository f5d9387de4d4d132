/** Programs that the gateway starts: what they get, what is heard of them, and that none is left. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as Effect from "effect/Effect"
import { afterAll, describe, expect, it } from "vitest"
import * as Find from "#src/platform/programs/find.ts"
import { environmentOf } from "#src/platform/programs/process.ts"
import * as Program from "#src/platform/programs/Program.ts"
import * as Run from "#src/platform/programs/run.ts"
import { eventually } from "#test/support/operator.ts"
import { isAlive } from "#test/support/tunnelPrograms.ts"

const directory = fs.mkdtempSync(path.join(os.tmpdir(), "programs-"))
afterAll(() => fs.rmSync(directory, { recursive: true, force: true }))

const node = (script: string, env: Record<string, string> = {}): Run.Command => ({ file: process.execPath, args: ["-e", script], env })

describe("a program of this machine", () => {
  it("is found where it can be run, by absolute places only", async () => {
    const [runs, other] = [path.join(directory, "runs"), path.join(directory, "not")]
    fs.writeFileSync(runs, "", { mode: 0o755 })
    fs.writeFileSync(other, "", { mode: 0o644 })
    fs.mkdirSync(path.join(directory, "folder"))
    const find = async (list: string, name: string) => (await Effect.runPromise(Find.inPath(list, name)))?.file ?? null
    expect([await find(`relative:/nonexistent:${directory}`, "runs"), await find(directory, "not"), await find(directory, "folder"), await find(path.relative(process.cwd(), directory), "runs")])
      .toEqual([runs, null, null, null])
  })

  it("gets the variables that are named", () => {
    expect(environmentOf({ PATH: "/bin", SECRET: "s", HOME: undefined }, { OWN: "1" })).toEqual({ PATH: "/bin", OWN: "1" })
  })

  it("is run to its end within bounds", async () => {
    const bounds = { withinMs: 20_000, outputMax: 10 }
    expect(await Effect.runPromise(Run.run(node("console.log('x'.repeat(99)); console.error('e'); process.exit(3)"), bounds))).toMatchObject({ stdout: "xxxxxxxxxx", stderr: "e\n", problem: expect.stringContaining("exit code 3") as string })
    expect((await Effect.runPromise(Run.run({ ...node(""), file: path.join(directory, "none") }, bounds))).problem).toBe("it cannot be started (ENOENT)")
    const began = performance.now()
    expect((await Effect.runPromise(Run.run(node("setInterval(() => {}, 1000)"), { ...bounds, withinMs: 300 }))).problem).toContain("did not answer within 0.3 s")
    expect(performance.now() - began).toBeLessThan(30_000)
  })

  it("is heard in whole lines, however its bytes come", () => {
    for (let cut = 0; cut <= 10; cut++) {
      const heard: Array<string> = []
      const take = Program.lines((line) => heard.push(line))
      take("ab\r\n\ncde\nf".slice(0, cut))
      take("ab\r\n\ncde\nf".slice(cut))
      expect(heard).toEqual(["ab", "", "cde"])
    }
    let longest = 0
    const take = Program.lines((line) => longest = Math.max(longest, line.length))
    for (let part = 0; part < 100; part++) take("x".repeat(10_000))
    take("\n")
    expect(longest).toBe(16 * 1_024)
  })

  it("ends with its scope, and says how it ended by itself", async () => {
    const lines: Array<string> = []
    const ended = await Effect.runPromise(Effect.scoped(Effect.flatMap(Program.start(node("console.log('out'); console.error(process.env.A); process.exit(4)", { A: "a" }), (line) => lines.push(line)), ({ ended }) => ended)))
    expect([ended, lines.toSorted()]).toEqual([{ code: 4, signal: null, error: null }, ["a", "out"]])
    let pid = 0
    await Effect.runPromise(Effect.scoped(Effect.gen(function*() {
      yield* Program.start(node("console.log(process.pid); setInterval(() => {}, 1000)"), (line) => pid = Number(line))
      yield* Effect.promise(() => eventually(async () => pid, (known) => known > 0, "its pid"))
      expect(isAlive(pid)).toBe(true)
    })))
    expect(isAlive(pid)).toBe(false)
  })

  it.skipIf(!fs.existsSync("/usr/bin/setpriv"))("ends when the gateway is killed", async () => {
    const script = `
      import * as Effect from "effect/Effect"
      import * as Program from "#src/platform/programs/Program.ts"
      const own = { file: process.execPath, args: ["-e", "console.log(process.pid); setInterval(() => {}, 1000)"], env: {} }
      await Effect.runPromise(Effect.scoped(Effect.andThen(Program.start(own, (line) => console.log(line)), Effect.never)))
    `
    const gateway = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", "--input-type=module-typescript", "-e", script], {
      cwd: path.resolve(import.meta.dirname, "../../.."), stdio: ["ignore", "pipe", "inherit"]
    })
    const [chunk] = await once(gateway.stdout, "data") as [Buffer]
    const pid = Number(chunk.toString())
    expect(isAlive(pid)).toBe(true)
    gateway.kill("SIGKILL")
    await eventually(async () => isAlive(pid), (alive) => !alive, "its end")
  })
})
