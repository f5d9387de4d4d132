/** What a key may read of models, combos and its own sessions, over HTTP. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { ModelHealth } from "#src/inference/models/modelHealth.ts"
import { type Combos, combosOf, type Place } from "#test/support/combos.ts"
import * as Http from "#test/support/http.ts"
import { errorIn, type Lab, startLab } from "#test/support/lab.ts"

let lab: Lab
let combos: Combos
let well: Place
let drained: Place
let half: Place
let combo: string
const bearer = (key: string) => ({ authorization: `Bearer ${key}` })

beforeAll(async () => {
  lab = await startLab({ resilience: "awake" })
  combos = combosOf(lab, "kr")
  well = await combos.place()
  drained = await combos.place({ status: 429, retryAfter: 900, error: { message: "slow down" } })
  half = { name: "krhalf", model: "krhalf/m-half", upstream: "m-half", connections: await lab.pool("krhalf", ["krhalf-credential-number-0", "krhalf-credential-number-1"]) }
  for (const place of [well, drained, half]) await lab.gateway.operator.call("POST", "/api/provider-models", { provider: place.name, modelId: place.upstream })
  await lab.gateway.operator.call("POST", "/api/provider-models", { provider: "lab", modelId: "embedder", modelType: "embedding" })
  combo = (await combos.combo("priority", [well.model, drained.model])).slice("combo/".length)
  const drain = await lab.chat({ model: drained.model })
  const whole = await lab.chat({ model: well.model })
  expect([drain.status, whole.status]).toEqual([429, 200])
  // One of two connections is over its own quota.
  await lab.sim.rule({ id: "half-once", match: { model: half.upstream }, times: 1, script: { status: 429, retryAfter: 900, error: { message: "slow down" } } })
  await lab.sim.rule({ id: "half-then", match: { model: half.upstream }, script: { text: "well" } })
  const second = await lab.chat({ model: half.model })
  expect(second.status).toBe(200)
  for (const reply of [drain, whole, second]) await lab.rows(reply)
})
afterAll(() => lab.close())

const read = async <A>(path: string, headers: Readonly<Record<string, string>> = {}): Promise<A> => {
  const reply = await Http.send(lab.gateway.url, { path, headers })
  expect([path, reply.status, reply.text]).toEqual([path, 200, expect.any(String)])
  for (const id of [lab.node, lab.connection, ...drained.connections]) expect(reply.text).not.toContain(id)
  return JSON.parse(reply.text) as A
}

interface Healths { readonly object: string; readonly outcomes_known: boolean; readonly summary: Record<string, number>; readonly data: ReadonlyArray<ModelHealth> }

describe.each(["/v1/models/health", "/api/v1/models/health"])("%s", (path) => {
  it("says of each model whether it can be called now, why not and until when, and how calls of the last hour ended", async () => {
    const { data, object, outcomes_known: known, summary } = await read<Healths>(path)
    expect([object, known]).toEqual(["list", true])
    const of = (id: string) => data.filter((one) => one.id === id)
    const lastHour = (successes: number, failures: number) => ({
      attempts: successes + failures, successes, failures, success_rate: successes / (successes + failures), avg_latency_ms: expect.any(Number), p95_latency_ms: expect.any(Number), last_used_at: expect.any(String)
    })
    const shown = (place: Place) => ({ id: place.model, object: "model.health", owned_by: place.name })
    expect(of(well.model)).toEqual([{ ...shown(well), status: "healthy", available: true, targets: { total: 1, available: 1 }, reason: null, until: null, last_hour: lastHour(1, 0) }])
    expect(of(drained.model)).toEqual([{
      ...shown(drained), status: "unavailable", available: false, targets: { total: 1, available: 0 }, reason: "model-cooldown", until: expect.any(String), last_hour: lastHour(0, 1)
    }])
    expect(Date.parse(of(drained.model)[0]?.until ?? "")).toBeGreaterThan(Date.now() + 800_000)
    expect(of(half.model)).toEqual([{
      ...shown(half), status: "degraded", available: true, targets: { total: 2, available: 1 }, reason: "model-cooldown", until: expect.any(String), last_hour: lastHour(1, 1)
    }])
    expect(of("lab/embedder")).toMatchObject([{ status: "unknown", available: true, targets: { total: 1, available: 1 }, last_hour: null }])
    expect(summary).toMatchObject({ healthy: 1, degraded: 1, unavailable: 1 })
    expect(Object.values(summary).reduce((sum, count) => sum + count, 0)).toBe(data.length)
    expect(data.map(({ id }) => id)).not.toContain(combo)
  })

  it("shows a key what it may use only, and needs a key that may list models", async () => {
    const { operator } = lab.gateway
    const { key } = await operator.createKey("one model", { modelAccessMode: "restricted", allowedModels: [well.model] })
    expect((await read<Healths>(path, bearer(key))).data.map(({ id }) => id)).toEqual([well.model])
    const bound = await operator.createKey("one connection", { allowedConnections: half.connections.slice(1) })
    expect((await read<Healths>(path, bearer(bound.key))).data.find(({ id }) => id === half.model)?.targets.total).toBe(1)
    const other = await operator.createKey("no lists", { allowedEndpoints: ["chat"] })
    expect((await Http.send(lab.gateway.url, { path, headers: bearer(other.key) })).status).toBe(403)
    const unknown = await Http.send(lab.gateway.url, { path, headers: bearer("sk-none") })
    expect([unknown.status, errorIn(unknown)["code"]]).toEqual([401, "invalid_api_key"])
  })
})

describe("GET /v1/combos", () => {
  interface Listed { readonly object: string; readonly data: ReadonlyArray<{ readonly id: string }> }

  it("lists the combos that the key may use, with what can be called now", async () => {
    const { data, object } = await read<Listed>("/v1/combos")
    expect(object).toBe("list")
    expect(data).toEqual([{
      id: combo, object: "combo", created: expect.any(Number), strategy: "priority", context_length: null, available: true, targets: { total: 2, available: 1 },
      reason: "model-cooldown", until: expect.any(String)
    }])
  })

  it("leaves out those that are hidden, switched off or not the key's", async () => {
    await combos.combo("priority", [well.model], { isHidden: true })
    await combos.combo("priority", [well.model], { isActive: false })
    expect((await read<Listed>("/v1/combos")).data.map(({ id }) => id)).toEqual([combo])
    const hidden = (await combos.combo("priority", [well.model], { isHidden: true })).slice("combo/".length)
    const { key } = await lab.gateway.operator.createKey("another combo", { allowedCombos: [hidden] })
    expect((await read<Listed>("/v1/combos", bearer(key))).data).toEqual([])
  })
})

describe("GET /v1/me/sessions", () => {
  interface Sessions { readonly count: number; readonly sessions: ReadonlyArray<Record<string, unknown>> }
  const path = "/v1/me/sessions"

  it("shows the sessions of the key that asks, and of no other", async () => {
    const { operator } = lab.gateway
    const [mine, other] = [await operator.createKey("mine"), await operator.createKey("other")]
    for (const [key, session] of [[mine.key, "me-1"], [mine.key, "me-1"], [other.key, "other-1"]] as const) {
      expect((await lab.chat({ model: well.model }, { ...bearer(key), "x-session-id": session })).status).toBe(200)
    }
    expect((await lab.chat({ model: well.model }, { ...bearer(mine.key), "x-gateway-session-id": "tagged-1" })).status).toBe(200)
    await expect.poll(async () => (await read<Sessions>(path, bearer(mine.key))).count).toBe(2)
    const { sessions } = await read<Sessions>(path, bearer(mine.key))
    const shown = (sessionId: string, requestCount: number) => ({ sessionId, requestCount, createdAt: expect.any(String), lastActive: expect.any(String), ageMs: expect.any(Number) })
    expect([...sessions].sort((a, b) => String(a["sessionId"]) < String(b["sessionId"]) ? -1 : 1)).toEqual([shown("me-1", 2), shown("tagged-1", 1)])
    expect((await read<Sessions>(path, bearer(other.key))).sessions.map(({ sessionId }) => sessionId)).toEqual(["other-1"])
  })

  it("without a key is 401", async () => {
    const reply = await Http.send(lab.gateway.url, { path })
    expect([reply.status, errorIn(reply)["code"]]).toEqual([401, "invalid_api_key"])
  })
})
