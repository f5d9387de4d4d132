import { assert, describe, it } from "@effect/vitest"
import { brotliDecompressSync, gunzipSync } from "node:zlib"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"
import { AuditStore } from "#actors/ports/Stores.ts"
import { UsageStore } from "#actors/ports/UsageStore.ts"
import type { LedgerRow } from "#schemas/records/LedgerRow.ts"
import * as Management from "#test/support/management.ts"
import { at } from "#test/support/management.ts"
import { ledgerRow } from "#test/suites/records.ts"

const HOUR = 3_600_000

const signedIn = (rows: ReadonlyArray<Partial<LedgerRow>> = []) => Effect.gen(function*() {
  // Nothing runs yet that would wake ten days long.
  yield* TestClock.adjust("10 days")
  const surface = yield* Management.make()
  const cookie = yield* surface.login()
  const now = 10 * 24 * HOUR
  yield* Context.get(surface.context, UsageStore).insert(rows.map((row, index) => ledgerRow({
    attemptId: `a-${index}`, requestId: `r-${index}`, nodeId: "node-a", startedAt: now - 1000 - index, provider: "openai", model: "gpt-x",
    connectionId: null, tokensIn: 10, tokensOut: 5, costUsd: 0.5, latencyMs: 100, ...row
  })))
  const get = (path: string) => surface.ask(path, { cookie })
  return { ...surface, get, now }
})

describe("usage reads", () => {
  it.effect("history adds up by provider, model, account and key", () => Effect.gen(function*() {
    const { get } = yield* signedIn([{}, { model: "gpt-y", apiKeyId: "k1", apiKeyName: "App" }, { provider: "groq", startedAt: 0 }])
    const reply = yield* get("/api/usage/history")
    assert.strictEqual(reply.status, 200)
    assert.deepInclude(reply.json as object, { totalRequests: 3, totalPromptTokens: 30, totalCompletionTokens: 15, totalCost: 1.5 })
    assert.deepStrictEqual(at(reply.json, "byProvider", "openai"), { requests: 2, promptTokens: 20, completionTokens: 10, units: null, cost: 1 })
    assert.deepInclude(at(reply.json, "byModel", "gpt-y (openai)"), { requests: 1, rawModel: "gpt-y", provider: "openai" })
    assert.deepInclude(at(reply.json, "byApiKey", "App"), { apiKeyId: "k1", requests: 1 })
    const minutes = at(reply.json, "last10Minutes") as ReadonlyArray<{ requests: number }>
    assert.deepStrictEqual([minutes.length, minutes.at(-1)?.requests], [10, 2])
    assert.deepStrictEqual(at(reply.json, "pending"), { byModel: {}, byAccount: {} })
    assert.deepStrictEqual(at(reply.json, "activeRequests"), [])
  }))

  it.effect("logs are lines of time, model, provider, account, tokens and status", () => Effect.gen(function*() {
    const { get } = yield* signedIn([{ model: "a|b\nc" }, { outcome: "client-abort", status: 499 }])
    for (const path of ["/api/usage/logs", "/api/usage/request-logs"]) {
      assert.deepStrictEqual((yield* get(path)).json, [
        "1970-01-10T23:59:59.000Z | a b c | OPENAI | - | 10 | 5 | 200", "1970-01-10T23:59:58.999Z | gpt-x | OPENAI | - | 10 | 5 | 499 client-abort"
      ])
    }
  }))

  it.effect("call logs are filtered; one is found by its request or attempt with all attempts", () => Effect.gen(function*() {
    const { get } = yield* signedIn([
      { requestId: "r", attemptId: "r-1", attempt: 1, final: false, status: 502, outcome: "upstream-status" },
      { requestId: "r", attemptId: "r-2", attempt: 2, final: true }, { provider: "groq", apiKeyName: "App" }
    ])
    const count = (query: string) => Effect.map(get(`/api/usage/call-logs${query}`), (reply) => (reply.json as ReadonlyArray<unknown>).length)
    assert.deepStrictEqual(yield* Effect.all([count(""), count("?limit=2"), count("?provider=groq"), count("?status=5xx"), count("?status=502"), count("?apiKey=app"), count("?search=r-1"), count("?combo=x")]), [3, 2, 1, 1, 1, 1, 1, 0])
    const one = yield* get("/api/usage/call-logs/r")
    assert.deepInclude(one.json as object, { id: "r-2", requestId: "r", status: 200, detailState: "none", requestBody: null })
    assert.deepStrictEqual((at(one.json, "attempts") as ReadonlyArray<{ id: string }>).map((row) => row.id), ["r-1", "r-2"])
    assert.strictEqual(at((yield* get("/api/usage/call-logs/r-1")).json, "id"), "r-1")
    assert.strictEqual((yield* get("/api/usage/call-logs/nobody")).status, 404)
    assert.strictEqual((yield* get("/api/usage/call-logs?limit=501")).status, 400)
  }))

  it.effect("pages follow each other by the header's cursor, and an old call is found by its id however many are newer", () => Effect.gen(function*() {
    const { get } = yield* signedIn(Array.from({ length: 25 }, (_, index): Partial<LedgerRow> => ({ attemptId: `p-${index}`, requestId: `pr-${index}`, phases: index === 0 ? { before: 0, queue: 1, limits: 2, sent: 3, head: 4, end: 5 } : null })))
    const ids: Array<string> = []
    let cursor: string | null = null
    do {
      const page: Management.Reply = yield* get(`/api/usage/call-logs?limit=10${cursor === null ? "" : `&before=${encodeURIComponent(cursor)}`}`)
      ids.push(...(page.json as ReadonlyArray<{ id: string }>).map(({ id }) => id))
      cursor = page.headers.get("x-next-cursor")
    } while (cursor !== null)
    assert.deepStrictEqual(ids, Array.from({ length: 25 }, (_, index) => `p-${index}`))
    assert.deepStrictEqual(at((yield* get("/api/usage/call-logs/p-0")).json, "phases"), { before: 0, queue: 1, limits: 2, sent: 3, head: 4, end: 5 })
    assert.deepStrictEqual(at((yield* get("/api/usage/call-logs/p-24")).json, "phases"), null)
    assert.strictEqual((yield* get("/api/usage/call-logs?before=nowhere")).status, 400)
  }))

  it.effect("facets count what a filter would find, and exact filters find just that", () => Effect.gen(function*() {
    const { get, now } = yield* signedIn([
      { model: "gpt-x" }, { model: "gpt-x-mini", apiKeyId: "k1", apiKeyName: "App", status: 429, outcome: "upstream-status", errorCode: "rate_limited" },
      { model: "gpt-x", provider: "groq", startedAt: now0 - 2 * 24 * HOUR }, { provider: "groq", latencyMs: 9_000 }
    ])
    const whole = yield* get("/api/usage/call-logs/facets")
    assert.deepInclude(whole.json as object, { count: 3, looked: 3, complete: true })
    const facets = at(whole.json, "facets") as Record<string, ReadonlyArray<{ value: string; count: number; label: string | null }>>
    assert.deepStrictEqual(facets["model"], [{ value: "gpt-x", label: null, count: 2 }, { value: "gpt-x-mini", label: null, count: 1 }])
    assert.include((facets["apiKey"] ?? []).map(({ label, value }) => `${value} ${label}`), "k1 App")
    const names: Record<string, string> = { apiKey: "apiKey", connection: "account" }
    for (const [facet, values] of Object.entries(facets)) {
      for (const { count, value } of values) {
        const since = encodeURIComponent(new Date(now - 24 * HOUR).toISOString())
        const found = yield* get(`/api/usage/call-logs?exact=true&from=${since}&${names[facet] ?? facet}=${encodeURIComponent(value)}`)
        assert.lengthOf(found.json as ReadonlyArray<unknown>, count, `${facet} ${value}`)
      }
    }
    const buckets = at(whole.json, "histogram", "buckets") as ReadonlyArray<{ count: number; errors: number }>
    assert.deepStrictEqual([buckets.reduce((sum, { count }) => sum + count, 0), buckets.reduce((sum, { errors }) => sum + errors, 0)], [3, 1])
    const count = (query: string) => Effect.map(get(`/api/usage/call-logs?${query}`), (reply) => (reply.json as ReadonlyArray<unknown>).length)
    assert.deepStrictEqual(yield* Effect.all([count("minDurationMs=5000"), count("error=rate_limited"), count("outcome=upstream-status"), count("requestId=r-1"), count(`to=${encodeURIComponent(new Date(now - 24 * HOUR).toISOString())}`)]), [1, 1, 1, 1, 1])
    assert.strictEqual((yield* get("/api/usage/call-logs/facets?outcome=great")).status, 400)
    // A typing error is no status that never happened.
    for (const status of ["faild", "6xx", "50x", "5000"]) {
      const refused = yield* get(`/api/usage/call-logs?status=${status}`)
      assert.deepStrictEqual([refused.status, at(refused.json, "error", "details", 0)], [400, { field: "status", message: "Expected a status such as 429, a class such as 5xx, success or error" }], status)
    }
    assert.strictEqual((yield* get("/api/usage/call-logs?exact=perhaps")).status, 400)
  }))

  it.effect("a large answer travels in the coding that its client takes, a small one as it is", () => Effect.gen(function*() {
    const { ask, login } = yield* signedIn(Array.from({ length: 100 }, (_, index): Partial<LedgerRow> => ({ attemptId: `z-${index}` })))
    const cookie = yield* login()
    const read = (path: string, accepted: string) => ask(path, { cookie, headers: { "accept-encoding": accepted } })
    const plain = yield* read("/api/usage/call-logs", "identity")
    assert.deepStrictEqual([plain.headers.get("content-encoding"), plain.headers.get("vary")], [null, "accept-encoding"])
    const decoders = { br: brotliDecompressSync, gzip: gunzipSync } as const
    for (const [accepted, coding] of [["gzip, deflate, br", "br"], ["gzip", "gzip"], ["br;q=0, gzip;q=0.5", "gzip"], ["br ;  q=0 , gzip", "gzip"]] as const) {
      const reply = yield* read("/api/usage/call-logs", accepted)
      assert.strictEqual(reply.headers.get("content-encoding"), coding)
      assert.isBelow(reply.bytes.length, plain.bytes.length / 4)
      assert.strictEqual(decoders[coding](reply.bytes).toString("utf8"), plain.text)
    }
    assert.isNull((yield* read("/api/usage/call-logs?limit=2", "gzip, br")).headers.get("content-encoding"))
  }))

  it.effect("latency statistics use successes, fall back to all, and refuse a bad query", () => Effect.gen(function*() {
    const { get } = yield* signedIn([
      ...Array.from({ length: 99 }, (_, index): Partial<LedgerRow> => ({ latencyMs: index + 1 })), { latencyMs: 9000, outcome: "upstream-reset" },
      { model: "rare", outcome: "upstream-reset", latencyMs: 70 }
    ])
    const reply = yield* get("/api/usage/model-latency-stats")
    assert.deepInclude(reply.json as object, { windowHours: 24, minSamples: 1, maxRows: 10_000, count: 2 })
    assert.deepInclude(at(reply.json, "entries", 0), {
      key: "openai/gpt-x", totalRequests: 100, successfulRequests: 99, successRate: 0.99, avgLatencyMs: 50, p50LatencyMs: 50
    })
    assert.approximately(at(reply.json, "entries", 0, "p95LatencyMs") as number, 94.1, 1e-6)
    assert.approximately(at(reply.json, "entries", 0, "p99LatencyMs") as number, 98.02, 1e-6)
    assert.deepInclude(at(reply.json, "entries", 1), { key: "openai/rare", successRate: 0, p50LatencyMs: 70 })
    assert.strictEqual(at((yield* get("/api/usage/model-latency-stats?minSamples=50")).json, "count"), 1)
    for (const query of ["windowHours=0", "windowHours=721", "minSamples=10001", "maxRows=100001", "windowHours=x"]) {
      assert.strictEqual((yield* get(`/api/usage/model-latency-stats?${query}`)).status, 400, query)
    }
  }))

  it.effect("analytics covers its range only", () => Effect.gen(function*() {
    const { get, now } = yield* signedIn([{}, { startedAt: now0 - 3 * 24 * HOUR }, { startedAt: now0 - 9 * 24 * HOUR }])
    assert.strictEqual(now, now0)
    const week = yield* get("/api/usage/analytics")
    assert.deepInclude(at(week.json, "summary"), { requests: 2, successRate: 1 })
    assert.deepStrictEqual((at(week.json, "dailyTrend") as ReadonlyArray<{ requests: number }>).map((day) => day.requests), [1, 0, 1, 0])
    assert.lengthOf(at(week.json, "weeklyPattern") as ReadonlyArray<unknown>, 7)
    assert.strictEqual(at((yield* get("/api/usage/analytics?range=all")).json, "summary", "requests"), 3)
    assert.strictEqual((yield* get("/api/usage/analytics?range=1y")).status, 400)
  }))

  it.effect("reconciliation shows the ledger beside what the store holds", () => Effect.gen(function*() {
    const { get } = yield* signedIn([{}, { outcome: "crashed" }, { nodeId: "node-b" }])
    assert.deepStrictEqual((yield* get("/api/usage/reconciliation")).json, {
      started: 3, settled: 2, journaled: 1, stored: 1, live: 1, gap: 0, oldestPendingMs: 5, lastError: null, nodeId: "node-a",
      rows: { completed: 1, crashed: 1 }
    })
  }))

  it.effect("a connection without quota data says so; an unknown one is 404", () => Effect.gen(function*() {
    const { ask, get, login } = yield* signedIn()
    const cookie = yield* login()
    const created = yield* ask("/api/providers", { cookie, body: { provider: "openai", name: "Main", apiKey: "sk-x" } })
    const reply = yield* get(`/api/usage/${String(at(created.json, "connection", "id"))}`)
    assert.deepStrictEqual(reply.json, { plan: null, quotas: {}, message: "No quota data for this connection" })
    assert.strictEqual((yield* get("/api/usage/nobody")).status, 404)
  }))
})

const now0 = 10 * 24 * HOUR

describe("health", () => {
  it.effect("ping answers 200 once ready, 503 before and while draining, without a store and without credentials", () => Effect.gen(function*() {
    const { ask, dials } = yield* Management.make()
    assert.deepStrictEqual((yield* ask("/api/health/ping")).json, { status: "ok", version: "9.9.9" })
    dials.ready = false
    assert.strictEqual((yield* ask("/api/health/ping")).status, 503)
    dials.ready = true
    dials.draining = true
    const draining = yield* ask("/api/health/ping")
    assert.deepStrictEqual([draining.status, at(draining.json, "status")], [503, "draining"])
  }))

  it.effect("readiness shows store, migrations and ledger; not migrated is not ready", () => Effect.gen(function*() {
    const { ask, dials } = yield* Management.make()
    const reply = yield* ask("/api/health")
    assert.deepStrictEqual([reply.status, at(reply.json, "status"), at(reply.json, "checks", "recordStore", "status")], [200, "ok", "ok"])
    assert.deepStrictEqual(at(reply.json, "checks", "ledger"), { status: "ok", backlog: 1, oldestPendingMs: 5, gap: 0 })
    dials.reconciliation = { ...dials.reconciliation, gap: 1 }
    assert.strictEqual(at((yield* ask("/api/health")).json, "status"), "degraded")
    dials.migrated = false
    assert.strictEqual((yield* ask("/api/health")).status, 503)
  }))

  it.effect("monitoring is reduced for the public and fuller for management", () => Effect.gen(function*() {
    const { ask, login } = yield* Management.make()
    const cookie = yield* login()
    yield* ask("/api/providers", { cookie, body: { provider: "openai", name: "Main", apiKey: "sk-x" } })
    const open = yield* ask("/api/monitoring/health")
    assert.deepInclude(at(open.json, "providers"), { configuredCount: 1, activeCount: 1, monitoredCount: 0 })
    assert.isUndefined(at(open.json, "credentialHealth"))
    assert.isUndefined(at(open.json, "breakers"))
    const full = yield* ask("/api/monitoring/health", { cookie })
    assert.deepStrictEqual(at(full.json, "credentialHealth"), [{ provider: "openai", total: 1, active: 1, byStatus: { unknown: 1 }, coolingDown: 0 }])
    assert.deepStrictEqual(at(full.json, "breakers"), [])
  }))

  it.effect("init, version, restart", () => Effect.gen(function*() {
    const { ask, dials, login } = yield* Management.make()
    const cookie = yield* login()
    assert.deepStrictEqual((yield* ask("/api/init")).json, { initialized: true })
    assert.strictEqual(at((yield* ask("/api/system/version", { cookie })).json, "current"), "9.9.9")
    assert.deepStrictEqual((yield* ask("/api/restart", { method: "POST", cookie })).json, { status: "restarting" })
    assert.deepStrictEqual(dials.stops, ["restart"])
    const fresh = yield* Management.make({ password: null })
    assert.deepStrictEqual((yield* fresh.ask("/api/init")).json, { initialized: false })
  }))
})

describe("the audit log", () => {
  it.effect("is an array, newest first, with its page in headers, secrets redacted", () => Effect.gen(function*() {
    const { context, get } = yield* signedIn()
    const audit = Context.get(context, AuditStore)
    for (let i = 0; i < 3; i++) {
      yield* audit.append({
        id: `x-${i}`, timestamp: new Date(now0 + i * 1000).toISOString(), action: "settings.updated", actor: "dashboard", target: null,
        details: { apiKey: "canary-audit", count: i }, ipAddress: "203.0.113.7", resourceType: "settings", status: "success", requestId: null
      })
    }
    const reply = yield* get("/api/compliance/audit-log?action=settings.updated&limit=2&offset=1")
    assert.deepStrictEqual(["x-total-count", "x-page-limit", "x-page-offset"].map((name) => reply.headers.get(name)), ["3", "2", "1"])
    assert.deepInclude(at(reply.json, 0), { id: "x-1", ip_address: "203.0.113.7", resource_type: "settings", details: { apiKey: "[redacted]", count: 1 } })
    assert.notInclude(reply.text, "canary-audit")
    const since = yield* get(`/api/compliance/audit-log?action=settings.updated&from=${encodeURIComponent("1970-01-11T00:00:02Z")}`)
    assert.lengthOf(since.json as ReadonlyArray<unknown>, 1)
    assert.strictEqual((yield* get("/api/compliance/audit-log?limit=501")).status, 400)
  }))
})
