/** POST /api/settings/purge-*: what is recorded of requests goes, and what was spent stays spent. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { UsageStore } from "#actors/ports/UsageStore.ts"
import { QuotaStore } from "#src/features/quotas/ports/QuotaStore.ts"
import * as Http from "#test/support/http.ts"
import { errorIn, type Lab, startLab } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab()
})
afterAll(() => lab.close())

const purge = (what: string) => lab.gateway.operator.call<{ deleted: number }>("POST", `/api/settings/purge-${what}`)
const models = async () => (await lab.gateway.rows()).map(({ model }) => model).sort()

describe("a purge of logs", () => {
  it("takes what is older than it is kept, also while nothing goes by itself, and nothing younger", async () => {
    const { operator } = lab.gateway
    const store = Context.get(lab.gateway.services(), UsageStore)
    await lab.chat({ model: "young" })
    await operator.settled()
    const [row] = await lab.gateway.rows()
    if (row === undefined) throw new Error("no row")
    const dayMs = 86_400_000
    const old = (days: number) => ({ ...row, attemptId: `${row.attemptId}-${days}`, startedAt: row.startedAt - days * dayMs })
    await Effect.runPromise(store.insert([old(39), old(41), old(366)]))
    await Effect.runPromise(Context.get(lab.gateway.services(), QuotaStore).insert([{
      provider: "p", connectionId: "gone", model: null, windowKey: "5h", remainingPercentage: 50, isExhausted: false, nextResetAt: null, windowDurationMs: null,
      rawData: { limit: null, remaining: null, refills: false }, createdAt: Date.now() - 91 * dayMs
    }]))
    await operator.call("PATCH", "/api/settings/database", { retention: { usageHistory: 40, autoCleanup: false } })
    expect(await purge("logs")).toEqual({ deleted: 3 })
    expect((await lab.gateway.rows()).map(({ startedAt }) => Math.round((row.startedAt - startedAt) / dayMs)).sort()).toEqual([0, 39])
    const [entry] = await operator.call<ReadonlyArray<unknown>>("GET", "/api/compliance/audit-log?action=compliance.cleanup&limit=1")
    expect(entry).toMatchObject({ target: "logs", details: { deleted: 3 } })
    await operator.call("PATCH", "/api/settings/database", { retention: { usageHistory: 0 } })
    expect(await purge("logs")).toEqual({ deleted: 0 })
    await purge("request-history")
    await operator.call("PATCH", "/api/settings/database", { retention: { autoCleanup: true } })
  })
})

describe("a purge", () => {
  it("of the request history takes calls and their bodies, and a running request has its row when it ends", async () => {
    const { operator } = lab.gateway
    await operator.call("PATCH", "/api/settings", { callLogBodies: true })
    const reply = await lab.chat({ model: "past" })
    const id = reply.headers["x-gateway-request-id"] ?? ""
    await eventually(() => operator.raw("GET", `/api/usage/call-logs/${id}/bodies`), ({ status }) => status === 200, "the bodies")
    await lab.sim.rule({ match: { model: "runs" }, script: { tokens: 400, paceMs: 10 } })
    const running = await lab.stream({ model: "runs" })
    await lab.sim.ended({ model: "runs", outcome: "open" })
    expect(await purge("request-history")).toEqual({ deleted: 1 })
    expect(await models()).toEqual([])
    expect((await operator.raw("GET", `/api/usage/call-logs/${id}/bodies`)).status).toBe(404)
    running.leave()
    await operator.settled()
    expect(await models()).toEqual(["runs"])
    expect(await operator.reconciliation()).toMatchObject({ gap: 0, live: 0 })
    const [entry] = await operator.call<ReadonlyArray<unknown>>("GET", "/api/compliance/audit-log?action=logs.purged&limit=1")
    expect(entry).toMatchObject({ target: "request-history", details: { deleted: 1 } })
    await operator.call("PATCH", "/api/settings", { callLogBodies: false })
  })

  it("keeps what a budget counts: it stays used up, here and after a start", async () => {
    const { operator } = lab.gateway
    await purge("call-logs")
    await lab.sim.rule({ match: { model: "dear" }, script: { tokens: 2, usage: { promptTokens: 1_000, completionTokens: 1_000, totalTokens: 2_000 } } })
    await operator.price(lab.node, "dear", { input: 0, output: 2_000 })
    const bounded = await operator.createKey("bounded")
    const free = await operator.createKey("free")
    await operator.call("POST", "/api/usage/budget", { apiKeyId: bounded.id, monthlyLimitUsd: 1 })
    const ask = (key: string) => lab.chat({ model: "dear", max_tokens: 1_000 }, { authorization: `Bearer ${key}` })
    expect([(await ask(bounded.key)).status, (await ask(free.key)).status, (await ask(bounded.key)).status]).toEqual([200, 200, 429])
    const kept = (await lab.gateway.rows()).filter(({ apiKeyId }) => apiKeyId === bounded.id).length
    expect(kept).toBeGreaterThan(0)
    const all = (await lab.gateway.rows()).length
    expect(await purge("request-history")).toEqual({ deleted: all - kept })
    expect((await lab.gateway.rows()).map(({ apiKeyId }) => apiKeyId)).toEqual(Array.from({ length: kept }, () => bounded.id))
    expect((await ask(bounded.key)).status).toBe(429)
    await lab.gateway.restart()
    const refused = await ask(bounded.key)
    expect([refused.status, errorIn(refused)["code"]]).toEqual([429, "budget_exceeded"])

    // Without the budget nothing counts them.
    await operator.call("DELETE", `/api/usage/budget?apiKeyId=${bounded.id}`)
    await purge("call-logs")
    expect(await lab.gateway.rows()).toEqual([])
  })

  it("of quota snapshots keeps the newest of each window, and of bodies says how many went", async () => {
    const store = Context.get(lab.gateway.services(), QuotaStore)
    const one = (createdAt: number) => ({
      provider: "p", connectionId: "c", model: null, windowKey: "5h", remainingPercentage: 50, isExhausted: false, nextResetAt: null, windowDurationMs: null, rawData: { limit: null, remaining: null, refills: false }, createdAt
    })
    await Effect.runPromise(store.insert([one(1), one(2), one(3)]))
    expect(await purge("quota-snapshots")).toEqual({ deleted: 2 })
    expect((await Effect.runPromise(store.history({ connectionId: "c", since: 0 }))).map(({ createdAt }) => createdAt)).toEqual([3])
    expect(await purge("detailed-logs")).toEqual({ deleted: 0 })
  })

  it("needs management rights of an administrator", async () => {
    const { key } = await lab.gateway.operator.createKey("client")
    const statuses = new Array<number>()
    for (const what of ["request-history", "call-logs", "detailed-logs", "quota-snapshots"]) {
      statuses.push((await Http.send(lab.gateway.url, { method: "POST", path: `/api/settings/purge-${what}`, headers: { authorization: `Bearer ${key}` } })).status)
    }
    expect(statuses).toEqual([403, 403, 403, 403])
  })
})
