/** A client's Idempotency-Key at its upstreams: one key never names two requests, for an upstream may refuse the second. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { answerOf, type Combos, combosOf } from "#test/support/combos.ts"
import { type Lab, startLab } from "#test/support/lab.ts"

let lab: Lab
let combos: Combos
beforeAll(async () => {
  // A gateway is an upstream that holds its clients to their keys.
  lab = await startLab({ environment: { GATEWAY_OWN_HOPS: "1" } })
  combos = combosOf(lab, "rk")
  const { operator } = lab.gateway
  const provider = await operator.createNode({ prefix: "gate", baseUrl: `${lab.gateway.url}/v1` })
  await operator.createConnection({ provider, apiKey: (await operator.createKey("gate")).key })
})
afterAll(() => lab.close())

const named = (key: string) => ({ "idempotency-key": key })
const keysOf = async (model: string) => (await lab.sim.entries({ model })).map(({ headers }) => headers["idempotency-key"])
const place = async (model: string, script: Record<string, unknown>) => {
  await lab.sim.rule({ match: { model }, script })
  return `gate/lab/${model}`
}

describe("over an upstream that refuses a key for another body", () => {
  it("a panel is asked whole, and its judge", async () => {
    const panel = [await place("rk-a", { text: "one", latencyMs: 50 }), await place("rk-b", { text: "two", latencyMs: 50 })]
    const reply = await lab.chat({ model: await combos.combo("fusion", panel, { config: { judgeModel: await place("rk-j", { text: "three" }) } }) }, named("panel"))
    expect([reply.status, answerOf(reply)]).toEqual([200, "three"])
    expect((await lab.rows(reply)).map(({ outcome }) => outcome)).toEqual(["completed", "completed", "completed"])
  })

  it("a hedged call answers while the first is silent", async () => {
    const models = [await place("rk-silent", { neverHead: true }), await place("rk-quick", { text: "quick" })]
    const reply = await lab.chat({ model: await combos.combo("priority", models, { config: { hedging: true, hedgeDelayMs: 60, maxRetries: 0 } }) }, named("hedged"))
    expect([reply.status, answerOf(reply)]).toEqual([200, "quick"])
  })
})

it("a request for one model has the client's key, also when it is repeated", async () => {
  await lab.sim.rule({ match: { model: "rk-one", nth: 1 }, script: { status: 503 } })
  for (let i = 0; i < 2; i++) await lab.chat({ model: "rk-one" }, named("one"))
  expect(await keysOf("rk-one")).toEqual(["one", "one"])
})

it("the rest of a broken answer is asked for without the client's key", async () => {
  await lab.gateway.operator.setFlag("STREAM_RECOVERY_MIDSTREAM_ENABLED", "true")
  await lab.sim.rule({ match: { model: "rk-mid" }, times: 1, script: { text: "The quick brown fox jumps over the lazy dog.", endAfter: { frames: 5 } } })
  await lab.sim.rule({ match: { model: "rk-mid" }, script: { text: "and so it went on." } })
  const reply = await lab.chat({ model: "lab/rk-mid", stream: true }, named("mid"))
  await lab.gateway.operator.clearFlags()
  expect(reply.text).toContain("and so it went on.")
  expect(await keysOf("rk-mid")).toEqual(["mid", undefined])
})

it("each model of a combo has a key of its own, the same in a repeat", async () => {
  for (const model of ["rk-first", "rk-second"]) await lab.sim.rule({ match: { model }, script: { status: 503 } })
  const model = await combos.combo("priority", ["lab/rk-first", "lab/rk-second"], { config: { maxRetries: 0 } })
  for (let i = 0; i < 2; i++) await lab.chat({ model }, named("combo"))
  const [first, second] = [await keysOf("rk-first"), await keysOf("rk-second")]
  expect([first.length, second.length]).toEqual([2, 2])
  expect(new Set([...first, ...second]).size).toBe(2)
  expect(first[0]).toBe(first[1])
  for (const key of [...first, ...second]) expect(key).toMatch(/^[0-9a-f]{64}$/)
})
