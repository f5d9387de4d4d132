/** A node whose clock is set back by an hour while it runs, as a wrong clock that NTP corrects: nothing rests longer than it was told to. */
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Spawned, spawned } from "#test/support/gateway.ts"
import * as Http from "#test/support/http.ts"
import { eventually } from "#test/support/operator.ts"
import { type Sim, startSim } from "#test/support/sim.ts"

const HOUR_MS = 3_600_000
/** Longest rest that a failure here asks for, s. */
const REST_S = 60

let gateway: Spawned
let sim: Sim
const folder = Fs.mkdtempSync(Path.join(Os.tmpdir(), "gateway-clock-"))
const clock = Path.join(folder, "skew")

beforeAll(async () => {
  sim = await startSim({ models: { "*": {} } })
  gateway = await spawned({
    environment: { GATEWAY_TEST_CLOCK: clock, NODE_OPTIONS: `--import ${Path.resolve(import.meta.dirname, "../support/skewedClock.mjs")}` }
  })
  for (const prefix of ["calm", "resting", "broken"]) {
    const provider = await gateway.operator.createNode({ prefix, baseUrl: `${sim.url}/v1` })
    await gateway.operator.createConnection({ provider, apiKey: `sk-of-${prefix}`, name: prefix })
  }
})
afterAll(async () => {
  await gateway.close()
  await sim.stop()
  Fs.rmSync(folder, { recursive: true, force: true })
})

const chat = (model: string, key?: string) => Http.send(gateway.url, {
  path: "/v1/chat/completions", body: { model, messages: [{ role: "user", content: "What time is it?" }] },
  ...key === undefined ? {} : { headers: { authorization: `Bearer ${key}` } }
})
const nodeTime = async () => Date.parse((await gateway.operator.call<{ time: string }>("GET", "/api/health")).time)
const setClock = async (skewMs: number) => {
  const before = await nodeTime()
  Fs.writeFileSync(clock, String(skewMs))
  process.kill(gateway.pid(), "SIGUSR2")
  await eventually(nodeTime, (time) => Math.abs(time - before - skewMs) < HOUR_MS / 2, "the wrong clock")
}
const retryAfter = ({ headers }: Http.Reply) => Number(headers["retry-after"] ?? "0")

describe.skipIf(process.platform === "win32")("a clock that is set back by an hour", () => {
  it("prolongs no rate window of a key, no cooldown and no open breaker", { timeout: 180_000 }, async () => {
    const { key } = await gateway.operator.createKey("by the minute", { rateLimits: [{ limit: 1, window: 3 }] })
    expect((await chat("calm/a", key)).status).toBe(200)
    expect((await chat("calm/a", key)).status).toBe(429)
    await sim.rule({ match: { model: "tired" }, times: 1, script: { status: 429, headers: { "retry-after": "40" }, error: { message: "slow down" } } })
    expect((await chat("resting/tired")).status).toBe(429)
    const pause = { baseCooldownMs: 0 }
    await gateway.operator.call("PATCH", "/api/resilience", { connectionCooldown: { oauth: pause, apikey: pause, local: pause } })
    await sim.rule({ match: { model: "away" }, times: 100, script: { status: 503, error: { message: "away" } } })
    const isOpen = (reply: Http.Reply) => reply.text.includes("provider_circuit_open")
    await eventually(() => chat("broken/away"), isOpen, "the open breaker")

    await setClock(-HOUR_MS)
    const [limited, resting, broken] = [await chat("calm/a", key), await chat("resting/tired"), await chat("broken/away")]
    for (const reply of [limited, resting, broken]) expect(retryAfter(reply)).toBeLessThanOrEqual(REST_S)
    await eventually(() => chat("calm/a", key), ({ status }) => status === 200, "the end of the window")
    await eventually(() => chat("resting/tired"), ({ status }) => status === 200, "the end of the cooldown", REST_S * 1_000)
    await eventually(() => chat("broken/away"), (reply) => !isOpen(reply), "the breaker's probe", REST_S * 1_000)
  })
})
