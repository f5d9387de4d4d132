/** One row per rule that holds for every kind of request without a conversation: keys, budgets, repeats, headers, explanations, events, leases. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { managedKey, Session } from "#test/features/leases/support.ts"
import * as Http from "#test/support/http.ts"
import { errorIn, type Lab, startLab } from "#test/support/lab.ts"
import { callOf, dialects, type Headers, oneShots, type Place, placeOf, rowsOf } from "#test/support/oneShots.ts"
import { eventually } from "#test/support/operator.ts"
import { publicNames } from "#test/support/pages.ts"
import { type Sink, startSink } from "#test/support/sink.ts"

let lab: Lab
let sink: Sink
const rows = [...oneShots, ...dialects].map((row) => ({ ...row, name: [row.provider, row.kind].join("-") }))
type Row = typeof rows[number]
const places = new Map<Row, Place>()
beforeAll(async () => {
  // The receiver of webhooks listens on loopback.
  lab = await startLab({ network: publicNames, environment: { OUTBOUND_SSRF_GUARD_ENABLED: "false", GATEWAY_MAX_ATTEMPTS: "1" } })
  // Kinds of one provider share its connection.
  const shared = new Map<string, Place>()
  for (const kind of rows) {
    const place = (kind.provider === undefined ? undefined : shared.get(kind.provider)) ?? await placeOf(kind, lab)
    if (kind.provider !== undefined) shared.set(kind.provider, place)
    places.set(kind, place)
  }
  sink = await startSink()
})
afterAll(async () => {
  await lab.close()
  await sink.close()
})

const placed = (kind: Row): Place => places.get(kind) as Place
const nameOf = (row: Row, name: string): string => `or-${row.name}-${name}`
const idOf = (kind: Row, name: string): string => `${placed(kind).prefix}/${nameOf(kind, name)}`
const ask = (kind: Row, name: string, headers?: Headers) => Http.send(lab.gateway.url, callOf(kind, idOf(kind, name), headers))
const seen = (kind: Row, name: string) => lab.sim.entries({ model: nameOf(kind, name) })
const bearer = (key: string): Headers => ({ authorization: `Bearer ${key}` })
const priced = (kind: Row, name: string) => placed(kind).price(nameOf(kind, name), kind.price)

describe.each(rows)("$name", (kind) => {
  const costs = kind.costs ?? 1

  it("of a model or a kind that a key may not use is refused before anything is sent", async () => {
    const other = kind.category === "images" ? "chat" : "images"
    for (const policy of [{ allowedEndpoints: [other] }, { allowedModels: ["lab/other"] }, { blockedModels: [idOf(kind, "denied")] }]) {
      const { key } = await lab.gateway.operator.createKey("denied", policy)
      expect([policy, (await ask(kind, "denied", bearer(key))).status]).toEqual([policy, 403])
    }
    expect((await ask(kind, "denied", bearer("sk-none"))).status).toBe(401)
    expect(await seen(kind, "denied")).toEqual([])
    const { key } = await lab.gateway.operator.createKey("granted", { allowedEndpoints: [kind.category], allowedModels: [idOf(kind, "granted")] })
    expect((await ask(kind, "granted", bearer(key))).status).toBe(200)
  })

  it("shares the budget of its key with an image that is being made", async () => {
    const { operator } = lab.gateway
    const images = rows.find((one) => one.kind === "images") as Row
    const slow = `slow-${kind.name}`
    await priced(images, slow)
    await lab.sim.rule({ match: { model: nameOf(images, slow) }, script: { neverHead: true } })
    await priced(kind, "beside")
    const { id, key } = await operator.createKey("mixed")
    await operator.call("POST", "/api/usage/budget", { apiKeyId: id, dailyLimitUsd: 1.5 })
    const { request } = Http.open(lab.gateway.url, callOf(images, idOf(images, slow), bearer(key)))
    await eventually(() => seen(images, slow), ([one]) => one?.outcome === "open", "the call for images")
    const reply = await ask(kind, "beside", bearer(key))
    expect([reply.status, kind.reserves ? errorIn(reply)["code"] : null]).toEqual(kind.reserves ? [429, "budget_exceeded"] : [200, null])
    expect((await seen(kind, "beside")).length).toBe(kind.reserves ? 0 : 1)
    request.destroy()
    await eventually(() => rowsOf(lab, nameOf(images, slow)), ({ length }) => length === 1, "the row of the images")
  })

  it("spends the budget of its key, and is refused when that is spent", async () => {
    const { operator } = lab.gateway
    await priced(kind, "spends")
    const { id, key } = await operator.createKey("spends")
    await operator.call("POST", "/api/usage/budget", { apiKeyId: id, dailyLimitUsd: 1 })
    const first = await ask(kind, "spends", bearer(key))
    const second = await ask(kind, "spends", bearer(key))
    expect([first.status, second.status]).toEqual([200, costs === 0 ? 200 : 429])
    expect((await seen(kind, "spends")).length).toBe(costs === 0 ? 2 : 1)
    const [row] = await lab.rows(first)
    expect(row).toMatchObject({ outcome: "completed", endpoint: kind.path, units: costs === 0 ? null : expect.objectContaining(kind.units), unpriced: false })
    expect(row?.costUsd).toBeCloseTo(costs, 6)
  })

  it("is made once under one Idempotency-Key, also where it passes as it comes", async () => {
    const headers = { "idempotency-key": `or-${kind.name}` }
    const [first, again] = [await ask(kind, "once", headers), await ask(kind, "once", headers)]
    expect([first.status, again.status, again.headers["x-gateway-idempotent"]]).toEqual([200, 200, "true"])
    expect(again.bytes.equals(first.bytes)).toBe(true)
    expect((await seen(kind, "once")).length).toBe(1)
    const other = await ask(kind, "other", headers)
    expect([other.status, errorIn(other)["code"]]).toEqual([409, "idempotency_key_reused"])
  })

  it("tells its cost, its model and the decision in headers", async () => {
    await priced(kind, "told")
    const { headers, status } = await ask(kind, "told", { "x-gateway-session-id": "or-tag", "x-gateway-explain": "true" })
    expect(status).toBe(200)
    expect(headers).toMatchObject({
      "x-gateway-response-cost": `${costs}.0000000000`, "x-gateway-model": idOf(kind, "told"), "x-gateway-provider": expect.any(String), "x-gateway-session-id": "or-tag",
      "x-gateway-decision": expect.stringMatching(/^strategy=single; provider=[\w-]+; latency_ms=\d+$/), "x-gateway-latency-ms": expect.stringMatching(/^\d+$/),
      "x-gateway-cache-hit": "false", "x-gateway-request-id": expect.any(String), "x-gateway-version": expect.any(String), "x-gateway-trace": expect.any(String)
    })
    expect(headers).not.toHaveProperty("x-gateway-fallback-attempts")
    expect([headers["x-gateway-tokens-in"], headers["x-gateway-tokens-out"]]).toEqual([expect.stringMatching(/^\d+$/), expect.stringMatching(/^\d+$/)])
  })

  it("is explained without being sent", async () => {
    const explained = (name: string, more: Record<string, unknown> = {}) => lab.gateway.operator.call<{ targets: ReadonlyArray<unknown>; error: unknown }>(
      "POST", "/api/routing/explain", { model: idOf(kind, name), format: kind.kind, ...more }
    )
    expect(await explained("explained")).toMatchObject({ strategy: "single", error: null, targets: [{ model: idOf(kind, "explained"), connectionId: placed(kind).connection, position: 1, skipped: null }] })
    const { id, key } = await lab.gateway.operator.createKey("explained", { blockedModels: [idOf(kind, "explained")] })
    const refused = await ask(kind, "explained", bearer(key))
    expect(await explained("explained", { keyId: id })).toMatchObject({ targets: [{ position: null, skipped: { reason: "not-allowed" } }], error: { status: refused.status, code: errorIn(refused)["code"] } })
    expect(await seen(kind, "explained")).toEqual([])
  })

  it("is told to webhooks, completed or failed", async () => {
    const { operator } = lab.gateway
    const { webhook } = await operator.call<{ webhook: { id: string } }>("POST", "/api/webhooks", { url: `${sink.url}/${kind.name}`, events: ["request.completed", "request.failed"] })
    const told = () => sink.received.filter(({ path }) => path === `/${kind.name}`).map(({ json }) => json)
    await priced(kind, "hooked")
    const good = await ask(kind, "hooked")
    await eventually(async () => told(), ({ length }) => length === 1, "the event of the answer")
    await lab.sim.rule({ match: { model: nameOf(kind, "broken") }, script: { status: 500 } })
    const bad = await ask(kind, "broken")
    await eventually(async () => told(), ({ length }) => length === 2, "the event of the failure")
    const id = "x-gateway-request-id"
    expect(told()).toMatchObject([
      { event: "request.completed", data: { trace_id: good.headers[id], model: nameOf(kind, "hooked"), status: 200, cost_usd: expect.closeTo(costs, 6) } },
      { event: "request.failed", data: { trace_id: bad.headers[id], model: nameOf(kind, "broken"), status: 500, attempts: 1 } }
    ])
    await operator.call("DELETE", `/api/webhooks/${webhook.id}`)
  })

  it("with a managed key is served under its lease alone", async () => {
    const key = await managedKey(lab.gateway, `or-${kind.name}`, [placed(kind).connection])
    const session = new Session(lab.gateway, key.key)
    expect((await ask(kind, "leased", bearer(key.key))).status).not.toBe(200)
    const { generation } = await session.acquire(idOf(kind, "leased"))
    expect((await ask(kind, "leased", session.headers(generation))).status).toBe(200)
    expect((await ask(kind, "leased", session.headers(generation + 1))).status).toBe(409)
    await session.ask({ action: "release", generation })
    expect((await ask(kind, "leased", session.headers(generation))).status).toBe(409)
    expect((await seen(kind, "leased")).length).toBe(1)
  })
})

it("all calls of this file have their rows", async () => {
  expect(await lab.gateway.operator.settled()).toMatchObject({ gap: 0 })
})
