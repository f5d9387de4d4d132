/** The commands that ask a running gateway, against one, with the simulator as its upstream. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Table from "#src/cli/terminal/table.ts"
import { type Sim, startSim } from "#test/support/sim.ts"
import { emptyDirectory, freePort, run } from "./support/command.ts"
import { migrated, type Served, serve } from "./support/dataDir.ts"

const key = "sk-terminal-canary"

describe("a running gateway from the terminal", () => {
  let sim: Sim
  let dataDir = ""
  let served: Served
  beforeAll(async () => {
    sim = await startSim({ keys: [key], models: { "*": {}, broken: { status: 500 } } })
    dataDir = await migrated()
    served = await serve(dataDir, { GATEWAY_SIM_PROVIDER: "false" })
  })
  afterAll(async () => {
    await served.command.stop()
    await sim.stop()
  })
  const gateway = (...args: ReadonlyArray<string>) => run([...args, "--data-dir", dataDir])

  it("nodes, providers, combos: made, listed in columns, tested and removed; chat streams; usage and logs add up", async () => {
    const added = await run(["nodes", "add", "lab", `${sim.url}/v1`, "--key", "-", "--data-dir", dataDir], { input: `${key}\n` })
    expect([added.code, added.stdout, added.stderr]).toEqual([0, expect.stringContaining("lab/<model>"), ""])
    const [title = "", row = ""] = (await gateway("nodes")).stdout.split("\n")
    expect(row.indexOf(`${sim.url}/v1`)).toBe(title.indexOf("address"))
    expect((await gateway("providers", "test", "lab")).stdout).toContain("works")

    const chat = await gateway("chat", "lab/echo", "Hello from a terminal")
    expect([chat.code, chat.stdout]).toEqual([0, expect.stringContaining("Hello from a terminal")])
    const piped = await run(["chat", "lab/echo", "--data-dir", dataDir], { input: "through a pipe" })
    expect(piped.stdout).toContain("through a pipe")

    expect((await gateway("combos", "add", "both", "lab/echo", "lab/tokens")).code).toBe(0)
    expect((await gateway("combos")).stdout).toContain("lab/echo, lab/tokens")
    expect((await gateway("chat", "both", "again")).stdout).toContain("again")
    // A node is shown by its prefix, never by its id.
    for (const list of ["nodes", "providers", "usage", "logs"]) expect([list, (await gateway(list)).stdout]).toEqual([list, expect.not.stringContaining("-compatible-chat-")])

    const logs = JSON.parse((await gateway("logs", "--json")).stdout) as ReadonlyArray<{ readonly model: string; readonly status: number }>
    expect(logs.map(({ status }) => status)).toEqual([200, 200, 200])
    const usage = (await gateway("usage")).stdout
    expect(usage).toMatch(/^total +3 /m)

    const listed = await gateway("providers", "--json")
    expect((JSON.parse(listed.stdout) as { connections: ReadonlyArray<unknown> }).connections).toHaveLength(1)
    expect((await gateway("combos", "remove", "both")).code).toBe(0)
    expect((await gateway("nodes", "remove", "lab")).code).toBe(0)
    expect((await gateway("providers")).stdout).toContain("No connections.")
    expect([listed.stdout, added.stdout, chat.stdout, usage].join("")).not.toContain(key)
  })

  it("a gateway that is not there is named with the reason", async () => {
    const address = `http://localhost:${await freePort()}`
    for (const command of [["providers"], ["chat", "sim/echo", "hello"]]) {
      const { code, stderr } = await run([...command, "--url", address])
      expect([code, stderr]).toEqual([1, expect.stringMatching(new RegExp(`^gateway: The gateway at ${address} cannot be asked: .*ECONNREFUSED`))])
    }
  })

  it("a failure is one line on stderr with exit code 1, help only on request", async () => {
    const failed = await gateway("chat", "nowhere/model", "hello")
    expect([failed.code, failed.stdout]).toEqual([1, ""])
    expect(failed.stderr).toContain("nowhere/model did not answer: 404")
    const refused = await gateway("nodes", "add", "openai", "http://127.0.0.1:1/v1")
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("prefix: A built-in provider")])
    const missing = await gateway("combos", "remove", "nothing")
    expect([missing.code, missing.stderr.trim()]).toEqual([1, "gateway: No combo has the id or name 'nothing'."])
    const slip = await gateway("logs", "--limt", "3")
    expect([slip.code, slip.stdout]).toEqual([2, ""])
    expect(slip.stderr).toContain("--limt")
    expect(slip.stderr.trim().split("\n").length).toBeLessThan(8)
  })

  it("another gateway is asked by its address with a token; without one it says what is missing", async () => {
    const elsewhere = ["--url", served.url, "--data-dir", emptyDirectory()]
    const refused = await run(["providers", ...elsewhere])
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("--token")])
    const made = JSON.parse((await gateway("keys", "create", "admin", "--scope", "admin", "--json")).stdout) as { readonly key: string }
    const listed = await run(["providers", ...elsewhere], { env: { GATEWAY_TOKEN: made.key } })
    expect([listed.code, listed.stdout]).toEqual([0, expect.stringContaining("No connections.")])
  })

  it("says how to start a gateway where none runs", async () => {
    const none = await run(["usage", "--data-dir", emptyDirectory()])
    expect([none.code, none.stderr]).toEqual([1, expect.stringContaining("gateway serve")])
  })
})

describe("tables", () => {
  const columns = [{ title: "name" }, { title: "cost", right: true }]

  it("align by what a terminal shows, wide letters and numbers included", () => {
    expect(Table.render(columns, [["ab", "1"], ["日本語", "100"]], false).split("\n")).toEqual([
      "name    cost",
      "ab         1",
      "日本語   100"
    ])
  })

  it("print nothing that a terminal obeys, and colour only where it is wanted", () => {
    expect(Table.render(columns, [["a\u001b[31mb\nc", { text: "5", mood: "bad" }]], false)).not.toContain("\u001b")
    expect(Table.render(columns, [["a", { text: "5", mood: "bad" }]], true)).toContain("\u001b[31m5\u001b[0m")
    expect([Table.isColoured({}, true), Table.isColoured({}, false), Table.isColoured({ NO_COLOR: "1" }, true), Table.isColoured({ FORCE_COLOR: "1" }, false)])
      .toEqual([true, false, false, true])
  })
})
