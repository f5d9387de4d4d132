/** What became of routed requests. */
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"
import { UsageStore } from "#actors/ports/UsageStore.ts"
import type { LedgerRow } from "#schemas/records/LedgerRow.ts"
import * as Management from "#test/support/management.ts"
import { at } from "#test/support/management.ts"
import * as Buckets from "#src/features/usage/trend/buckets.ts"
import { ledgerRow } from "#test/suites/records.ts"

const HOUR = 3_600_000
const now = 40 * 24 * HOUR

const signedIn = Effect.gen(function*() {
  // Nothing runs yet that would wake forty days long.
  yield* TestClock.adjust("40 days")
  const surface = yield* Management.make()
  const cookie = yield* surface.login()
  const store = Context.get(surface.context, UsageStore)
  const get = (path: string) => surface.ask(path, { cookie })
  const post = (path: string, body: unknown) => surface.ask(path, { cookie, body })
  let rows = 0
  const insert = (count: number, fields: Partial<LedgerRow>) => store.insert(Array.from({ length: count }, () => ledgerRow({
    attemptId: `a-${rows++}`, startedAt: now - 1000 + rows, provider: "openai", model: "gpt-x", connectionId: null, combo: null, final: true,
    outcome: "completed", status: 200, latencyMs: 100, ...fields
  })))
  return { ...surface, get, post, insert }
})

describe("latency of providers", () => {
  it.effect("telemetry has percentiles of successes per provider over its window", () => Effect.gen(function*() {
    const { get, insert } = yield* signedIn
    assert.deepStrictEqual((yield* get("/api/telemetry/summary")).json, { windowMs: 24 * HOUR, providers: {} })
    for (const latencyMs of [10, 20, 30]) yield* insert(1, { latencyMs })
    yield* insert(1, { latencyMs: 9_000, outcome: "gateway-timeout", status: 504 })
    yield* insert(1, { provider: "groq", latencyMs: 70, outcome: "upstream-reset", status: 502 })
    yield* insert(1, { provider: "old", startedAt: now - 25 * HOUR })
    const day = yield* get("/api/telemetry/summary")
    assert.strictEqual(day.status, 200, day.text)
    assert.deepInclude(at(day.json, "providers", "openai"), { p50: 20, count: 3 })
    assert.approximately(at(day.json, "providers", "openai", "p95") as number, 29, 1e-6)
    assert.deepStrictEqual(at(day.json, "providers", "groq"), { p50: 70, p95: 70, p99: 70, count: 1 })
    assert.isUndefined(at(day.json, "providers", "old"))
    assert.isDefined(at((yield* get(`/api/telemetry/summary?windowMs=${26 * HOUR}`)).json, "providers", "old"))
    for (const query of ["windowMs=0", "windowMs=2592000001", "windowMs=x"]) assert.strictEqual((yield* get(`/api/telemetry/summary?${query}`)).status, 400, query)
  }))

  it.effect("metrics count what speaks about a provider; a client that left does not", () => Effect.gen(function*() {
    const { get, insert } = yield* signedIn
    yield* insert(3, {})
    yield* insert(1, { outcome: "upstream-status", status: 502, latencyMs: 7 })
    yield* insert(1, { outcome: "client-abort", status: 499, latencyMs: 8 })
    yield* insert(1, { provider: "groq", outcome: "client-abort", status: 499 })
    const reply = yield* get("/api/provider-metrics")
    assert.strictEqual(reply.status, 200, reply.text)
    assert.deepStrictEqual(at(reply.json, "providers", "openai"), {
      requests: 5, successes: 3, failures: 1, successRate: 0.75, avgLatencyMs: 100, p50LatencyMs: 100, p95LatencyMs: 100, p99LatencyMs: 100,
      lastUsedAt: new Date(now - 1000 + 5).toISOString()
    })
    assert.isNull(at(reply.json, "providers", "groq", "successRate"))
    assert.strictEqual((yield* get("/api/provider-metrics?windowHours=721")).status, 400)
  }))

  it.effect("reads need management authentication", () => Effect.gen(function*() {
    const { ask } = yield* signedIn
    for (const path of ["telemetry/summary", "provider-metrics", "analytics/auto-routing", "analytics/diversity", "usage/combo-health", "usage/cache-health"]) {
      assert.strictEqual((yield* ask(`/api/${path}`)).status, 401, path)
    }
  }))
})

describe("combos", () => {
  it.effect("health shows every target of a combo with what its attempts say, used or not", () => Effect.gen(function*() {
    const { get, insert, post } = yield* signedIn
    const ids: Array<string> = []
    for (const name of ["One", "Two"]) {
      const created = yield* post("/api/providers", { provider: "openai", name, apiKey: `sk-${name}` })
      ids.push(String(at(created.json, "connection", "id")))
    }
    const [one = "", two = ""] = ids
    const made = yield* post("/api/combos", { name: "fast", models: [{ kind: "model", id: "s1", model: "openai/gpt-4o-mini" }] })
    assert.isBelow(made.status, 300, made.text)
    yield* post("/api/combos", { name: "idle", models: ["openai/gpt-4o"] })
    const target = { combo: "fast", model: "gpt-4o-mini", connectionId: one }
    yield* insert(3, { ...target, latencyMs: 40 })
    yield* insert(1, { ...target, outcome: "upstream-status", status: 503, latencyMs: 5, startedAt: now - 10 })
    yield* insert(1, { ...target, startedAt: now - 25 * HOUR })
    yield* insert(5, { ...target, combo: null })
    const reply = yield* get("/api/usage/combo-health")
    assert.strictEqual(reply.status, 200, reply.text)
    assert.strictEqual(at(reply.json, "timeRange"), "24h")
    const fast = (at(reply.json, "combos") as ReadonlyArray<{ readonly comboName: string }>).find(({ comboName }) => comboName === "fast")
    assert.deepInclude(fast as object, { strategy: "priority", models: ["openai/gpt-4o-mini"], quotaHealth: null, usageSkew: 1 })
    const health = at(fast, "targetHealth") as ReadonlyArray<{ readonly connectionId: string }>
    assert.lengthOf(health, 2)
    assert.deepStrictEqual({ ...health.find(({ connectionId }) => connectionId === one) }, {
      executionKey: `s1>${one}`, stepId: "s1", model: "openai/gpt-4o-mini", provider: "openai", connectionId: one, label: null, requests: 4,
      successRate: 0.75, avgLatencyMs: 40, lastStatus: 503, lastUsedAt: new Date(now - 10).toISOString(), quotaRemainingPct: null,
      quotaIsExhausted: false, quotaTrend: null, quotaScope: null
    })
    assert.deepInclude(health.find(({ connectionId }) => connectionId === two) as object, { requests: 0, successRate: null, lastStatus: null, lastUsedAt: null })
    const week = yield* get(`/api/usage/combo-health?range=7d&comboId=${String(at(fast, "comboId"))}`)
    assert.lengthOf(at(week.json, "combos") as ReadonlyArray<unknown>, 1)
    assert.include((at(week.json, "combos", 0, "targetHealth") as ReadonlyArray<{ readonly requests: number }>).map(({ requests }) => requests), 5)
    assert.strictEqual((yield* get("/api/usage/combo-health?comboId=nobody")).status, 404)
    assert.strictEqual((yield* get("/api/usage/combo-health?range=2h")).status, 400)
  }))

  it.effect("automatic routing is counted by strategy, tier and provider", () => Effect.gen(function*() {
    const { get, insert, post } = yield* signedIn
    yield* post("/api/combos", { name: "mine", strategy: "auto", config: { routerStrategy: "latency" }, models: ["openai/gpt-4o"] })
    yield* post("/api/combos", { name: "plain", models: ["openai/gpt-4o"] })
    yield* insert(3, { combo: "auto/coding:fast", latencyMs: 10 })
    yield* insert(2, { combo: "auto", provider: "groq", latencyMs: 30 })
    yield* insert(1, { combo: "mine", latencyMs: 50 })
    yield* insert(4, { combo: "plain" })
    yield* insert(4, {})
    yield* insert(1, { combo: "auto", final: false, outcome: "upstream-reset", status: 502 })
    yield* insert(1, { combo: "auto", startedAt: now - 30 * HOUR, provider: "groq" })
    assert.deepStrictEqual((yield* get("/api/analytics/auto-routing")).json, {
      window: "24h", totalCalls: 6, strategyBreakdown: { rules: 3, lkgp: 2, latency: 1 }, tierBreakdown: { fast: 3, default: 3 },
      topProviders: [{ provider: "openai", calls: 4, avgLatencyMs: 20 }, { provider: "groq", calls: 2, avgLatencyMs: 30 }]
    })
    assert.deepInclude((yield* get("/api/analytics/auto-routing?days=2")).json as object, { window: "2d", totalCalls: 7 })
    assert.strictEqual((yield* get("/api/analytics/auto-routing?days=0")).status, 400)
  }))
})

describe("diversity", () => {
  it.effect("is the entropy of the providers that answered, with a warning of a dominant one", () => Effect.gen(function*() {
    const { get, insert } = yield* signedIn
    const nothing = { shannonEntropy: 0, maxEntropy: 0, diversityRatio: 0, providerUsage: {}, warnings: [] }
    assert.deepStrictEqual((yield* get("/api/analytics/diversity")).json, nothing)
    yield* insert(2, {})
    yield* insert(7, { provider: "groq", final: false, outcome: "upstream-reset" })
    assert.deepStrictEqual((yield* get("/api/analytics/diversity")).json, {
      ...nothing, providerUsage: { openai: { count: 2, share: 1 } }, warnings: ["Every request is answered by openai"]
    })
    yield* insert(2, { provider: "groq" })
    assert.deepStrictEqual((yield* get("/api/analytics/diversity")).json, {
      shannonEntropy: 1, maxEntropy: 1, diversityRatio: 1, providerUsage: { openai: { count: 2, share: 0.5 }, groq: { count: 2, share: 0.5 } }, warnings: []
    })
    yield* insert(16, {})
    assert.deepStrictEqual(at((yield* get("/api/analytics/diversity")).json, "warnings"), ["openai answers 90 % of the requests"])
  }))
})

describe("prompt caches", () => {
  const none = { readWriteRatio: null, writeReadRatio: null, writeSize: null, verdict: "no-data" }

  it.effect("the verdict weighs what is read against what is written, for all models and for each", () => Effect.gen(function*() {
    const { get, insert } = yield* signedIn
    const health = (query = "") => Effect.map(get(`/api/usage/cache-health${query}`), ({ json }) => json)
    const nothing = { range: "24h", model: null, ...none, totals: { requests: 0, cacheWriteTokens: 0, cacheReadTokens: 0 }, byModel: [], generatedAt: new Date(now).toISOString() }
    assert.deepStrictEqual(yield* health(), nothing)
    yield* insert(9, { provider: "anthropic", model: "writer", tokensCacheCreation: 100, tokensCacheRead: 50 })
    yield* insert(2, { model: "reader", tokensCacheCreation: 100, tokensCacheRead: 300 })
    yield* insert(1, { model: "plain", tokensCacheCreation: 0, tokensCacheRead: 0 })
    yield* insert(5, { model: "reader", tokensCacheCreation: 900, tokensCacheRead: 0, startedAt: now - 25 * HOUR })
    const sizes = (size: number) => ({ p50: size, p90: size, p95: size, p99: size, max: size })
    const reader = {
      verdict: "healthy", totals: { requests: 2, cacheWriteTokens: 200, cacheReadTokens: 600 }, readWriteRatio: 3, writeReadRatio: 1 / 3, writeSize: sizes(100)
    }
    const writer = {
      verdict: "degraded", totals: { requests: 9, cacheWriteTokens: 900, cacheReadTokens: 450 }, readWriteRatio: 0.5, writeReadRatio: 2, writeSize: sizes(100)
    }
    assert.deepStrictEqual(yield* health(), {
      range: "24h", model: null, verdict: "thrash", totals: { requests: 12, cacheWriteTokens: 1100, cacheReadTokens: 1050 },
      readWriteRatio: 1050 / 1100, writeReadRatio: 1100 / 1050, writeSize: sizes(100),
      byModel: [
        { provider: "anthropic", model: "writer", ...writer }, { provider: "openai", model: "reader", ...reader },
        { provider: "openai", model: "plain", ...none, totals: { requests: 1, cacheWriteTokens: 0, cacheReadTokens: 0 } }
      ],
      generatedAt: new Date(now).toISOString()
    })
    assert.deepStrictEqual(yield* health("?model=reader"), { ...nothing, model: "reader", ...reader, byModel: [{ provider: "openai", model: "reader", ...reader }] })
    assert.strictEqual(at(yield* health("?range=7d&model=reader"), "verdict"), "degraded")
    // The tenth write makes a cache that is hardly read one that is thrashed.
    yield* insert(1, { provider: "anthropic", model: "writer", tokensCacheCreation: 1, tokensCacheRead: 0 })
    assert.strictEqual(at(yield* health("?model=writer"), "verdict"), "thrash")
    // Vendors that cache by themselves tell reads alone.
    yield* insert(1, { model: "own", tokensCacheCreation: 0, tokensCacheRead: 7 })
    assert.deepInclude(yield* health("?model=own"), { ...none, verdict: "healthy", writeReadRatio: 0 })
    assert.strictEqual((yield* get("/api/usage/cache-health?range=2h")).status, 400)
  }))
})

describe("use over time", () => {
  it.effect("days begin in the named zone, stand without a gap, and the period before stands beside them", () => Effect.gen(function*() {
    const { get, insert } = yield* signedIn
    // The clock shows 1970-02-10T00:00Z: in Berlin it is one o'clock.
    yield* insert(2, { startedAt: now - HOUR - 1, costUsd: 0.5 })
    yield* insert(1, { startedAt: now - HOUR, costUsd: 2 })
    yield* insert(3, { startedAt: now - 3 * 24 * HOUR, costUsd: 0.25 })
    const from = new Date(now - 2 * 24 * HOUR).toISOString()
    const reply = yield* get(`/api/usage/trend?from=${from}&bucket=day&zone=Europe/Berlin`)
    assert.strictEqual(reply.status, 200, reply.text)
    const buckets = at(reply.json, "buckets") as ReadonlyArray<{ start: string; requests: number; cost: number }>
    assert.deepStrictEqual(buckets.map(({ cost, requests, start }) => [start, requests, cost]), [
      ["1970-02-07T23:00:00.000Z", 0, 0], ["1970-02-08T23:00:00.000Z", 2, 1], ["1970-02-09T23:00:00.000Z", 1, 2]
    ])
    assert.deepInclude(at(reply.json, "total") as object, { requests: 3, cost: 3 })
    assert.deepInclude(at(reply.json, "previous", "total") as object, { requests: 3, cost: 0.75 })
    const utc = yield* get(`/api/usage/trend?from=${from}`)
    assert.deepStrictEqual((at(utc.json, "buckets") as ReadonlyArray<{ requests: number }>).map(({ requests }) => requests), [0, 3, 0])
    const range = yield* get(`/api/usage/analytics?from=${new Date(now - HOUR).toISOString()}&to=${new Date(now).toISOString()}`)
    assert.deepInclude(at(range.json, "summary") as object, { requests: 1, cost: 2 })
  }))

  it.effect("trend, success and mean duration of a range count every attempt, also beyond ten thousand", () => Effect.gen(function*() {
    const { get, insert } = yield* signedIn
    yield* insert(60, { startedAt: now - 24 * HOUR - 1, outcome: "upstream-reset", status: 502, latencyMs: 1_100 })
    yield* insert(9_990, { latencyMs: 100, startedAt: now - 1 })
    const { json } = yield* get("/api/usage/analytics")
    const days = at(json, "dailyTrend") as ReadonlyArray<{ readonly date: string; readonly requests: number }>
    assert.deepStrictEqual(days.map(({ date, requests }) => [date, requests]), [["1970-02-08", 60], ["1970-02-09", 9_990], ["1970-02-10", 0]])
    assert.approximately(at(json, "summary", "successRate") as number, 9_990 / 10_050, 1e-9)
    assert.approximately(at(json, "summary", "avgLatencyMs") as number, (9_990 * 100 + 60 * 1_100) / 10_050, 1e-9)
    assert.strictEqual((at(json, "weeklyPattern") as ReadonlyArray<{ readonly requests: number }>).reduce((sum, { requests }) => sum + requests, 0), 10_050)
  }))

  it.effect("refuses a zone that is none, a time that runs backwards, and more than 400 buckets", () => Effect.gen(function*() {
    const { get } = yield* signedIn
    for (const query of ["zone=Berlin/Europe", "from=1970-02-09&to=1970-02-08", "from=1970-01-01&bucket=minute", "bucket=year"]) {
      assert.strictEqual((yield* get(`/api/usage/trend?${query}`)).status, 400, query)
    }
  }))
})

describe("buckets", () => {
  const bounds = (from: string, to: string, unit: Buckets.Unit, zone: string) => Buckets.boundsOf(Date.parse(from), Date.parse(to), unit, zone)?.map((time) => new Date(time).toISOString().slice(0, 16))

  it("days of 23 and 25 hours, and one whose midnight does not exist", () => {
    assert.deepStrictEqual(bounds("2026-03-28T12:00:00Z", "2026-03-30T12:00:00Z", "day", "Europe/Berlin"), ["2026-03-27T23:00", "2026-03-28T23:00", "2026-03-29T22:00", "2026-03-30T22:00"])
    assert.deepStrictEqual(bounds("2026-10-25T12:00:00Z", "2026-10-26T12:00:00Z", "day", "Europe/Berlin"), ["2026-10-24T22:00", "2026-10-25T23:00", "2026-10-26T23:00"])
    const beirut = Buckets.boundsOf(Date.parse("2026-03-27T12:00:00Z"), Date.parse("2026-03-31T12:00:00Z"), "day", "Asia/Beirut") ?? []
    assert.isTrue(beirut.every((time, index) => index === 0 || time > (beirut[index - 1] ?? 0)), String(beirut))
  })

  it("weeks begin on Monday, months on their first day, hours where the zone's clock shows them", () => {
    assert.deepStrictEqual(bounds("2026-05-07T00:00:00Z", "2026-05-12T00:00:00Z", "week", "UTC"), ["2026-05-04T00:00", "2026-05-11T00:00", "2026-05-18T00:00"])
    assert.deepStrictEqual(bounds("2026-01-15T00:00:00Z", "2026-03-01T00:00:00Z", "month", "UTC"), ["2026-01-01T00:00", "2026-02-01T00:00", "2026-03-01T00:00"])
    assert.deepStrictEqual(bounds("2026-01-15T00:10:00Z", "2026-01-15T01:10:00Z", "hour", "Asia/Kolkata"), ["2026-01-14T23:30", "2026-01-15T00:30", "2026-01-15T01:30"])
  })
})
