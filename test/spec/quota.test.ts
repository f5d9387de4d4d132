import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { QuotaStore } from "#src/features/quotas/ports/QuotaStore.ts"
import { eventually } from "#test/support/operator.ts"
import { errorIn, type Lab, startLab } from "#test/support/lab.ts"
import * as Http from "#test/support/http.ts"

let lab: Lab
let pools = 0
beforeAll(async () => {
  lab = await startLab()
})
afterAll(() => lab.close())

const hour = 3_600_000
const epoch = (ms: number): string => String(Math.ceil((Date.now() + ms) / 1_000))
/** An account's 5 h window as its vendor tells it. */
const session = (used: number, resetsInMs = hour): Record<string, string> => ({
  "anthropic-ratelimit-unified-5h-utilization": String(used), "anthropic-ratelimit-unified-5h-reset": epoch(resetsInMs)
})

/** A fresh prefix with one connection per set of answer headers. */
const pool = async (...answers: ReadonlyArray<Record<string, string>>) => {
  const prefix = `quota${++pools}`
  const keys = answers.map((_, index) => `${prefix}-credential-number-${index}`)
  const answer = (index: number, headers: Record<string, string>, more: Record<string, unknown> = {}) =>
    lab.sim.rule({ id: `${prefix}-${index}`, match: { key: keys[index] ?? "" }, script: { headers, ...more } })
  for (const [index, headers] of answers.entries()) await answer(index, headers)
  const ids = await lab.pool(prefix, keys)
  const ask = (model = "tokens-2", headers: Record<string, string> = {}) => lab.chat({ model: `${prefix}/${model}` }, headers)
  const calls = async () => (await Promise.all(keys.map((key) => lab.sim.entries({ key })))).map((entries) => entries.length)
  /** Asks each connection once, so that its quota is known. */
  const meet = async () => {
    for (const [index, id] of ids.entries()) {
      const key = await lab.gateway.operator.createKey(`${prefix}-${index}`, { connectionAccessMode: "restricted", allowedConnections: [id] })
      expect((await ask("tokens-2", { authorization: `Bearer ${key.key}` })).status).toBe(200)
    }
  }
  return { answer, ask, calls, ids, keys, meet, prefix }
}

/** Stored rows of a connection, newest first. */
const snapshots = (connectionId: string) => Effect.runPromise(Context.get(lab.gateway.services(), QuotaStore).history({ connectionId, since: 0 }))

interface Explained {
  readonly targets: ReadonlyArray<{ readonly connectionId: string; readonly position: number | null; readonly skipped: { readonly reason: string; readonly until: string } | null }>
}

describe("quota preflight", () => {
  it("a connection at its cut-off is left out until its reset, and says why", async () => {
    const { ask, calls, ids, prefix } = await pool(session(0.98), {})
    for (let i = 0; i < 3; i++) expect((await ask()).status).toBe(200)
    expect(await calls()).toEqual([1, 2])
    const { targets } = await lab.gateway.operator.call<Explained>("POST", "/api/routing/explain", { model: `${prefix}/tokens-2` })
    const out = targets.find(({ connectionId }) => connectionId === ids[0])?.skipped
    expect(out?.reason).toBe("quota-exhausted")
    expect(Math.abs(Date.parse(out?.until ?? "") - Date.now() - hour)).toBeLessThan(60_000)
  })

  it("when all are cut off the answer is 429 with a truthful Retry-After, for streams, combos and single models alike", async () => {
    const { ask, calls, meet, prefix } = await pool(session(1, 2 * hour), session(0.99))
    await meet()
    const { operator } = lab.gateway
    await operator.call("POST", "/api/combos", { name: `${prefix}-combo`, models: [`${prefix}/tokens-2`], strategy: "round-robin" })
    for (const reply of [await ask(), await Http.send(lab.gateway.url, lab.call({ model: `${prefix}/tokens-2`, stream: true })), await Http.send(lab.gateway.url, {
      path: "/v1/chat/completions", body: { model: `${prefix}-combo`, messages: [{ role: "user", content: "hi" }] }
    })]) {
      expect([reply.status, errorIn(reply)["code"]]).toEqual([429, "model_cooldown"])
      const seconds = Number(reply.headers["retry-after"])
      expect(seconds).toBeGreaterThan(3_500)
      expect(seconds).toBeLessThanOrEqual(3_601)
      expect(errorIn(reply)).toMatchObject({ retry_after: seconds, credentials_cooling: 2 })
    }
    expect(await calls()).toEqual([1, 1])
  })

  it("a key with scope policy:bypass-provider-quota is served all the same", async () => {
    const { ask, calls } = await pool(session(1))
    expect((await ask()).status).toBe(200)
    const { operator } = lab.gateway
    const bypassing = await operator.createKey("bypassing", { scopes: ["policy:bypass-provider-quota"] })
    const plain = await operator.createKey("plain")
    expect((await ask("tokens-2", { authorization: `Bearer ${plain.key}` })).status).toBe(429)
    expect((await ask("tokens-2", { authorization: `Bearer ${bypassing.key}` })).status).toBe(200)
    expect(await calls()).toEqual([2])
  })

  it("the cut-off is the connection's own, else the provider's default, else the setting", async () => {
    const { ask, ids, prefix } = await pool(session(0.6))
    const { operator } = lab.gateway
    const { connection } = await operator.call<{ connection: { provider: string } }>("GET", `/api/providers/${ids[0]}`)
    expect((await ask()).status).toBe(200)
    expect((await ask()).status).toBe(200)
    await operator.call("PATCH", "/api/resilience", { quotaPreflight: { providerWindowDefaults: { [connection.provider]: { "5h": 50 } } } })
    expect((await ask()).status).toBe(429)
    await operator.changeConnection(ids[0] ?? "", { quotaWindowThresholds: { "5h": 30 } })
    expect((await ask()).status).toBe(200)
    await operator.changeConnection(ids[0] ?? "", { quotaWindowThresholds: { "5h": 45 } })
    expect([prefix, (await ask()).status]).toEqual([prefix, 429])
    await operator.changeConnection(ids[0] ?? "", { quotaWindowThresholds: null })
    await operator.call("PATCH", "/api/resilience", { quotaPreflight: { providerWindowDefaults: { [connection.provider]: null } } })
  })

  it("a window that resets is forgotten: the connection is back by itself", async () => {
    const { ask, calls } = await pool({ "ratelimit-limit": "100", "ratelimit-remaining": "0", "ratelimit-reset": "3" })
    expect((await ask()).status).toBe(200)
    expect((await ask()).headers["retry-after"]).toMatch(/^[123]$/)
    await eventually(() => ask(), (reply) => reply.status === 200, "the reset")
    expect(await calls()).toEqual([2])
  })

  it("what is counted per model keeps only that model out; a bucket is back before it is full", async () => {
    const { ask, calls } = await pool({
      "x-ratelimit-limit-tokens": "1000", "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "1h40m"
    })
    expect((await ask("tokens-2")).status).toBe(200)
    const refused = await ask("tokens-2")
    expect(refused.status).toBe(429)
    // 2 % of 100 minutes.
    expect(Number(refused.headers["retry-after"])).toBeGreaterThan(100)
    expect(Number(refused.headers["retry-after"])).toBeLessThanOrEqual(121)
    expect((await ask("tokens-3")).status).toBe(200)
    expect(await calls()).toEqual([2])
  })

  it("the headers of a refusal and of a stream count like those of an answer", async () => {
    const { answer, ask, calls } = await pool({}, {})
    await answer(0, session(1), { status: 429, error: { message: "Usage limit reached" } })
    expect((await ask()).status).toBe(200)
    await answer(1, session(1))
    expect((await lab.stream({ model: `quota${pools}/tokens-2` })).status).toBe(200)
    await eventually(() => ask(), (reply) => reply.status === 429, "the stream's end")
    expect((await calls())[0]).toBe(1)
  })
})

describe("strategies by quota", () => {
  it.each([
    ["headroom", [session(0.5), session(0.2), session(0.8)], [1, 0, 2]],
    ["reset-window", [session(0.5, 3 * hour), session(0.5, 2 * hour), session(0.5, hour)], [2, 1, 0]],
    ["reset-aware", [session(0.5, 5 * hour), session(0.2, hour), session(0.95, hour)], [1, 0, 2]],
    ["auto", [session(0.97), session(0.1), session(0.9)], [1, 2, 0]]
  ] as const)("%s orders the connections by what their answers said", async (strategy, answers, expected) => {
    const { calls, ids, meet, prefix } = await pool(...answers)
    await meet()
    const { operator } = lab.gateway
    // Nothing but the quota decides: no exploration, no measured latency.
    const config = strategy === "auto" ? { explorationRate: 0, weights: { quota: 1 } } : {}
    await operator.call("POST", "/api/combos", { name: `${prefix}-combo`, models: [`${prefix}/tokens-2`], strategy, config })
    const { targets } = await operator.call<Explained>("POST", "/api/routing/explain", { model: `${prefix}-combo` })
    const order = targets.filter(({ position }) => position !== null).sort((a, b) => (a.position ?? 0) - (b.position ?? 0)).map(({ connectionId }) => ids.indexOf(connectionId))
    expect(strategy === "auto" ? order[0] : order).toEqual(strategy === "auto" ? expected[0] : expected)
    const before = await calls()
    const reply = await Http.send(lab.gateway.url, { path: "/v1/chat/completions", body: { model: `${prefix}-combo`, messages: [{ role: "user", content: "hi" }] } })
    expect(reply.status).toBe(200)
    expect((await calls()).map((count, index) => count - (before[index] ?? 0)).indexOf(1)).toBe(expected[0])
  })
})

describe("quota views", () => {
  it("show each connection's tightest window, its warning, and the health of its token", async () => {
    const { ids, meet, prefix } = await pool(session(0.85), {
      ...session(0.1), "x-ratelimit-limit-requests-day": "200", "x-ratelimit-remaining-requests-day": "3", "x-ratelimit-reset-requests-day": "600"
    }, {})
    await meet()
    const { operator } = lab.gateway
    const view = await operator.call<{ providers: ReadonlyArray<Record<string, unknown>>; meta: Record<string, unknown> }>("GET", `/api/usage/quota?provider=${prefix}`)
    expect(view.meta).toMatchObject({ filters: { provider: prefix, connectionId: null }, totalProviders: 3 })
    const rows = ids.map((id) => view.providers.find(({ connectionId }) => connectionId === id))
    expect(rows[0]).toMatchObject({ name: `${prefix}-0`, window: "5h", quotaUsed: 85, quotaTotal: 100, percentRemaining: 15, status: "warning", tokenStatus: "valid" })
    expect(rows[1]).toMatchObject({ window: "requests-day", quotaUsed: 197, quotaTotal: 200, percentRemaining: 1.5, status: "exhausted" })
    expect(rows[2]).toMatchObject({ window: null, quotaUsed: null, quotaTotal: null, percentRemaining: null, resetAt: null, status: null })
    const one = await operator.call<{ providers: ReadonlyArray<unknown> }>("GET", `/api/usage/quota?connectionId=${ids[1]}`)
    expect(one.providers).toHaveLength(1)
    expect(await operator.call("GET", `/api/usage/${ids[1]}`)).toMatchObject({
      plan: null,
      quotas: {
        "5h": { used: 10, total: 100, remaining: 90, remainingPercentage: 90, unlimited: false, model: null, status: "ok", cutoffPercent: 2, warningPercent: 20 },
        "requests-day:tokens-2": { used: 197, total: 200, remaining: 3, remainingPercentage: 1.5, model: "tokens-2", status: "exhausted" }
      }
    })
    await operator.changeConnection(ids[0] ?? "", { quotaVisible: false })
    expect((await operator.call<{ providers: ReadonlyArray<unknown> }>("GET", `/api/usage/quota?provider=${prefix}`)).providers).toHaveLength(2)
    expect((await operator.raw("GET", "/api/usage/quota?provider=")).status).toBe(400)
  })

  it("show every window of a connection with the operator's own bounds, and how much was left over a range", async () => {
    const { answer, ask, ids, meet, prefix } = await pool(session(0.2, 24 * hour), {})
    await meet()
    const { operator } = lab.gateway
    interface Limits { readonly autoRefresh: unknown; readonly connections: ReadonlyArray<Record<string, unknown>> }
    const limits = (query: string) => operator.call<Limits>("GET", `/api/usage/provider-limits?${query}`)
    await operator.changeConnection(ids[1] ?? "", { rateLimitOverrides: { rpm: 40 }, maxConcurrent: 3 })
    const { autoRefresh, connections } = await limits(`provider=${prefix}`)
    expect(autoRefresh).toEqual({ enabled: false, intervalSeconds: null })
    expect(connections).toEqual([
      { connectionId: ids[0], name: `${prefix}-0`, provider: prefix, plan: null, isActive: true, quotas: { "5h": expect.objectContaining({ remainingPercentage: 80, status: "ok" }) }, overrides: {}, maxConcurrent: null },
      { connectionId: ids[1], name: `${prefix}-1`, provider: prefix, plan: null, isActive: true, quotas: {}, overrides: { rpm: 40 }, maxConcurrent: 3 }
    ])
    expect((await limits(`connectionId=${ids[1]}`)).connections.map(({ connectionId }) => connectionId)).toEqual([ids[1]])
    await operator.call("PATCH", "/api/settings", { autoRefreshProviderQuota: true, autoRefreshProviderQuotaInterval: 600 })
    expect((await limits(`provider=${prefix}`)).autoRefresh).toEqual({ enabled: true, intervalSeconds: 600 })
    await operator.call("PATCH", "/api/settings", { autoRefreshProviderQuota: false })

    interface Use { readonly bucketMs: number; readonly complete: boolean; readonly series: ReadonlyArray<{ readonly connectionId: string; readonly points: ReadonlyArray<unknown> }> }
    const use = (query: string) => operator.call<Use>("GET", `/api/usage/utilization?provider=${prefix}&${query}`)
    await eventually(() => snapshots(ids[0] ?? ""), (rows) => rows.length === 1, "the first row")
    await answer(0, session(1, 24 * hour))
    await ask()
    await eventually(() => snapshots(ids[0] ?? ""), (rows) => rows.length === 2, "the second row")
    const week = await use("range=7d")
    expect([week.bucketMs, week.complete]).toEqual([4 * hour, true])
    expect(week.series).toEqual([{ connectionId: ids[0], provider: prefix, window: "5h", model: null, points: [expect.objectContaining({ remainingPercentage: 0, lowestPercentage: 0, isExhausted: true, readings: 2 })] }])
    expect((await use("")).bucketMs).toBe(hour / 2)
    expect((await use(`connectionId=${ids[1]}`)).series).toEqual([])
    await operator.changeConnection(ids[0] ?? "", { quotaVisible: false })
    expect((await use("range=1h")).series).toEqual([])
    expect((await operator.raw("GET", "/api/usage/utilization?range=2h")).status).toBe(400)
  })

  it("combo health shows what is left, and where it is heading", async () => {
    const { answer, ask, ids, meet, prefix } = await pool(session(0.2, 24 * hour), {})
    await meet()
    const { operator } = lab.gateway
    interface Health { readonly combos: ReadonlyArray<{ readonly comboName: string; readonly quotaHealth: unknown; readonly targetHealth: ReadonlyArray<Record<string, unknown>> }> }
    await operator.call("POST", "/api/combos", { name: `${prefix}-combo`, models: [`${prefix}/tokens-2`] })
    const look = async () => {
      const { combos } = await operator.call<Health>("GET", "/api/usage/combo-health")
      const combo = combos.find(({ comboName }) => comboName === `${prefix}-combo`)
      return { combo, target: combo?.targetHealth.find(({ connectionId }) => connectionId === ids[0]) }
    }
    await eventually(look, ({ target }) => target?.["quotaRemainingPct"] === 80, "the first reading")
    // Rows are gathered before they are written: the first is in the store before the second reading comes.
    await eventually(() => snapshots(ids[0] ?? ""), (rows) => rows.length === 1, "the first row")
    await answer(0, session(0.9, 24 * hour))
    await ask()
    await eventually(look, ({ target }) => target?.["quotaTrend"] === "declining", "the trend")
    const { combo, target } = await look()
    expect(target).toMatchObject({ quotaRemainingPct: 10, quotaIsExhausted: false, quotaScope: "connection" })
    expect(combo?.quotaHealth).toEqual({ known: 1, exhausted: 0, lowestRemainingPct: 10, averageRemainingPct: 10 })
    expect(combo?.targetHealth.find(({ connectionId }) => connectionId === ids[1])).toMatchObject({ quotaRemainingPct: null, quotaIsExhausted: false, quotaTrend: null })
  })

  it("a restart keeps what was known: a used-up connection is not asked", async () => {
    const { ask, calls } = await pool(session(1))
    expect((await ask()).status).toBe(200)
    await lab.gateway.restart()
    expect((await ask()).status).toBe(429)
    expect(await calls()).toEqual([1])
  })
})
