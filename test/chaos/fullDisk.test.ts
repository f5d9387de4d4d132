/** The embedded database on a disk that takes no more bytes, as the kernel refuses them: a limit of the process's files. */
import { execFileSync } from "node:child_process"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Spawned, spawned } from "#test/support/gateway.ts"
import * as Http from "#test/support/http.ts"
import { eventually } from "#test/support/operator.ts"
import { type Sim, startSim } from "#test/support/sim.ts"

let gateway: Spawned
let sim: Sim

beforeAll(async () => {
  sim = await startSim({ models: { "*": {} } })
  gateway = await spawned()
  const provider = await gateway.operator.createNode({ prefix: "lab", baseUrl: `${sim.url}/v1` })
  await gateway.operator.createConnection({ provider, apiKey: "sk-of-the-full-disk" })
})
afterAll(async () => {
  await gateway.close()
  await sim.stop()
})

/** Bytes that a file of the gateway may have: beyond them each write fails. */
const allow = (bytes: string) => execFileSync("prlimit", ["--pid", String(gateway.pid()), `--fsize=${bytes}:unlimited`])
const store = (name: string) => gateway.operator.raw("POST", "/api/combos", { name, models: ["lab/echo"] })

describe.skipIf(process.platform !== "linux")("a full disk below the embedded database", () => {
  it("changes are refused with 503 and models answer, until there is space, and then changes are stored", { timeout: 120_000 }, async () => {
    expect((await store("before")).status).toBe(201)
    allow("4096")
    expect((await store("meanwhile")).status).toBe(503)
    await eventually(() => Promise.resolve(gateway.output()), (lines) => lines.includes("The embedded Postgres gave up: PANIC"), "the reason in the log", 20_000)
    expect((await Http.send(gateway.url, { path: "/v1/models" })).status).toBe(200)
    allow("unlimited")
    await eventually(() => store("after"), ({ status }) => status === 201, "the database's return", 40_000)
    const { combos } = await gateway.operator.call<{ combos: ReadonlyArray<{ name: string }> }>("GET", "/api/combos")
    expect(combos.map(({ name }) => name)).toEqual(expect.arrayContaining(["before", "after"]))
    const chat = await Http.send(gateway.url, { path: "/v1/chat/completions", body: { model: "lab/echo", messages: [{ role: "user", content: "Still there?" }] } })
    expect(chat.status).toBe(200)
    expect((await gateway.operator.settled()).gap).toBe(0)
  })
})
