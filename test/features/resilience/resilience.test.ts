/** GET/PATCH /api/resilience and its neighbours. */
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { Configuration } from "#actors/ports/Configuration.ts"
import { Resilience, type Verdict } from "#actors/request/ports/Resilience.ts"
import { AuditStore, ConnectionStore, DocumentStore } from "#actors/ports/Stores.ts"
import { UsageStore } from "#actors/ports/UsageStore.ts"
import { isPass, target, verdict } from "./support.ts"
import * as Management from "#test/support/management.ts"
import { at } from "#test/support/management.ts"
import { connection, ledgerRow } from "#test/suites/records.ts"

const signedIn = (options: Management.Options = {}) => Effect.gen(function*() {
  const surface = yield* Management.make(options)
  const cookie = yield* surface.login()
  const { context } = surface
  const resilience = Context.get(context, Resilience)
  const configuration = Context.get(context, Configuration)
  const store = Context.get(context, ConnectionStore)
  for (const id of ["c-1", "c-2"]) yield* configuration.commit(store.insert(connection({ id, name: id, rateLimitProtection: false })))
  const send = (method: string) => (path: string, body?: unknown) => surface.ask(path, { method, cookie, ...(body === undefined ? {} : { body }) })
  const to = (id: string, model = "m") => target(connection({ id }), { model })
  /** A call that ends; a block of our own guessing does not stop it. */
  const call = (id: string, status: number, model = "m", more: Partial<Verdict> = {}) => {
    const pass = resilience.enter(to(id, model), 0, true)
    if (isPass(pass)) pass.release(verdict(status, more), 0)
  }
  return { ...surface, resilience, configuration, store, to, call, del: send("DELETE"), get: send("GET"), patch: send("PATCH"), post: send("POST") }
})

const audited = (context: Context.Context<AuditStore>, resourceType: string) =>
  Effect.map(Context.get(context, AuditStore).query({ limit: 20, offset: 0, resourceType }), ({ entries }) => entries.map((entry) => entry.action))

describe("/api/resilience", () => {
  it.effect("shows every section with its defaults, none of which throttles", () => Effect.gen(function*() {
    const { get } = yield* signedIn()
    const { json, status } = yield* get("/api/resilience")
    assert.strictEqual(status, 200)
    assert.deepInclude(at(json, "requestQueue"), { requestsPerMinute: 0, minTimeBetweenRequestsMs: 0, concurrentRequests: 0, maxQueueDepth: 0, maxWaitMs: 15_000 })
    assert.deepStrictEqual(at(json, "providerBreaker", "oauth"), { degradationThreshold: 5, failureThreshold: 8, resetTimeoutMs: 60_000 })
    assert.deepStrictEqual(at(json, "providerBreaker", "apikey"), { degradationThreshold: 7, failureThreshold: 12, resetTimeoutMs: 30_000 })
    assert.deepInclude(at(json, "connectionCooldown", "oauth"), { baseCooldownMs: 5_000, maxBackoffSteps: 8, useUpstreamRetryHints: true, useUpstream429BreakerHints: null })
    assert.deepStrictEqual(at(json, "waitForCooldown"), { enabled: true, maxRetries: 3, maxRetryWaitSec: 30 })
    assert.deepStrictEqual(at(json, "streamRecovery"), { enabled: false, midStream: false, toolCallSafe: false, earlyEofSibling: false })
    assert.deepStrictEqual(at(json, "breakers"), [])
  }))

  it.effect("PATCH merges sections, holds at once and is audited", () => Effect.gen(function*() {
    const { call, context, get, patch, resilience, to } = yield* signedIn()
    const reply = yield* patch("/api/resilience", { providerBreaker: { apikey: { degradationThreshold: 1, failureThreshold: 2 } } })
    assert.strictEqual(reply.status, 200, reply.text)
    assert.strictEqual(at(reply.json, "ok"), true)
    yield* patch("/api/resilience", { providerBreaker: { oauth: { resetTimeoutMs: 2_000 } }, providerQuotaOverrides: { openai: { concurrency: 5 } } })
    const { json } = yield* get("/api/resilience")
    assert.deepStrictEqual(at(json, "providerBreaker", "apikey"), { degradationThreshold: 1, failureThreshold: 2, resetTimeoutMs: 30_000 })
    assert.deepStrictEqual(at(json, "providerBreaker", "oauth"), { degradationThreshold: 5, failureThreshold: 8, resetTimeoutMs: 2_000 })
    assert.deepStrictEqual(at(json, "providerQuotaOverrides"), { openai: { concurrency: 5 } })
    yield* patch("/api/resilience", { providerQuotaOverrides: { openai: null } })
    assert.deepStrictEqual(at((yield* get("/api/resilience")).json, "providerQuotaOverrides"), {})
    call("c-1", 503)
    call("c-2", 503)
    assert.deepInclude(resilience.check(to("c-1"), 0), { reason: "breaker-open", until: 30_000 })
    assert.deepStrictEqual(at((yield* get("/api/resilience")).json, "breakers"), [
      { provider: "openai", state: "open", model: "m", failures: 2, lastFailure: "1970-01-01T00:00:00.000Z", retryAfterMs: 30_000 }
    ])
    assert.deepStrictEqual(at((yield* get("/api/monitoring/health")).json, "breakers"), at((yield* get("/api/resilience")).json, "breakers"))
    assert.deepStrictEqual(yield* audited(context, "resilience"), ["resilience.updated", "resilience.updated", "resilience.updated"])
  }))

  it.effect("PATCH refuses the settings of a provider that does not exist, and takes away what is stored of one that is gone", () => Effect.gen(function*() {
    const { context, get, patch } = yield* signedIn()
    for (const [field, body] of [
      ["providerQuotaOverrides.gone", { providerQuotaOverrides: { openai: { concurrency: 5 }, gone: { concurrency: 5 } } }],
      ["quotaPreflight.providerWindowDefaults.gone", { quotaPreflight: { providerWindowDefaults: { gone: { daily: 5 } } } }]
    ] as const) {
      const refused = yield* patch("/api/resilience", body)
      assert.deepStrictEqual([refused.status, at(refused.json, "error", "details", "0", "field")], [400, field], refused.text)
    }
    assert.deepStrictEqual(at((yield* get("/api/resilience")).json, "providerQuotaOverrides"), {})
    const configuration = Context.get(context, Configuration)
    yield* configuration.commit(Context.get(context, DocumentStore).put("setting", "resilience", { providerQuotaOverrides: { gone: { concurrency: 5 } } }))
    assert.strictEqual((yield* patch("/api/resilience", { providerQuotaOverrides: { gone: null } })).status, 200)
    assert.deepStrictEqual(at((yield* get("/api/resilience")).json, "providerQuotaOverrides"), {})
  }))

  it.effect("PATCH refuses nothing, unknown keys, ranges, and a degradation that is not below failure", () => Effect.gen(function*() {
    const { context, patch } = yield* signedIn()
    for (const body of [
      {}, { nonsense: {} }, { providerBreaker: { apikey: { threshold: 1 } } }, { providerBreaker: { apikey: { failureThreshold: 0 } } },
      { providerBreaker: { apikey: { failureThreshold: 1_001 } } }, { providerBreaker: { oauth: { resetTimeoutMs: 999 } } },
      { providerBreaker: { apikey: { degradationThreshold: 12 } } }, { providerBreaker: { oauth: { failureThreshold: 5 } } },
      { waitForCooldown: { maxRetries: 11 } }, { connectionCooldown: { oauth: { maxBackoffSteps: 33 } } }, { streamRecovery: { enabled: true } },
      { providerCooldown: { minMs: 400_000 } }
    ]) {
      assert.strictEqual((yield* patch("/api/resilience", body)).status, 400, JSON.stringify(body))
    }
    assert.isUndefined(yield* Context.get(context, DocumentStore).get("setting", "resilience"))
    const reply = yield* patch("/api/resilience", { providerBreaker: { apikey: { degradationThreshold: 1, failureThreshold: 1 } } })
    assert.strictEqual(reply.status, 200, "a threshold of 1 leaves no room below it")
  }))

  it.effect("reset closes breakers, one or all, with and without a body", () => Effect.gen(function*() {
    const { call, get, post } = yield* signedIn({ settings: { resilience: { providerBreaker: { apikey: { degradationThreshold: 1, failureThreshold: 2 } } } } })
    const trip = () => [call("c-1", 503), call("c-2", 503)]
    trip()
    assert.strictEqual(at((yield* post("/api/resilience/reset", { provider: "anthropic" })).json, "resetCount"), 0)
    assert.deepStrictEqual((yield* post("/api/resilience/reset", { provider: "openai" })).json, { ok: true, resetCount: 1, message: "1 breaker closed" })
    assert.strictEqual(at((yield* get("/api/resilience")).json, "breakers", 0, "state"), "closed")
    trip()
    assert.strictEqual(at((yield* post("/api/resilience/reset")).json, "resetCount"), 1)
  }))
})

describe("/api/resilience/model-cooldowns", () => {
  it.effect("lists lockouts, shortest remaining time first, and DELETE ends one or all", () => Effect.gen(function*() {
    const { advance, call, del, get } = yield* signedIn({ settings: { modelLockout: { enabled: true, errorCodes: [404, 429] } } })
    call("c-1", 404, "a")
    call("c-2", 404, "b")
    call("c-2", 429, "c")
    yield* advance("20 seconds")
    const { json } = yield* get("/api/resilience/model-cooldowns")
    assert.strictEqual(at(json, "count"), 3)
    assert.deepStrictEqual(at(json, "items", 0), {
      provider: "openai", connectionId: "c-1", model: "a", reason: "HTTP 404", remainingMs: 100_000, until: "1970-01-01T00:02:00.000Z", failureCount: 1
    })
    assert.deepStrictEqual((yield* del("/api/resilience/model-cooldowns", { provider: "openai", model: "b", connection: "c-1" })).json, { ok: true, cleared: 0 })
    assert.deepStrictEqual((yield* del("/api/resilience/model-cooldowns", { provider: "openai", model: "b" })).json, { ok: true, cleared: 1 })
    assert.deepStrictEqual((yield* del("/api/resilience/model-cooldowns", { all: true })).json, { ok: true, cleared: 2 })
    for (const body of [undefined, {}, { all: false }, { provider: "openai" }]) {
      assert.strictEqual((yield* del("/api/resilience/model-cooldowns", body)).status, 400, JSON.stringify(body))
    }
  }))
})

describe("/api/rate-limits", () => {
  it.effect("shows calls, caps and cooldowns per connection; POST switches the protection", () => Effect.gen(function*() {
    const { call, context, get, post, resilience, to } = yield* signedIn()
    resilience.enter(to("c-2"), 0)
    call("c-1", 503, "m", { accountWide: true })
    const { json } = yield* get("/api/rate-limits")
    const rows = at(json, "connections") as ReadonlyArray<unknown>
    assert.deepStrictEqual(rows[0], {
      connectionId: "c-1", provider: "openai", name: "c-1", rateLimitProtection: false, queued: 0, running: 0, executing: 0, maxConcurrent: null,
      rateLimitedUntil: "1970-01-01T00:00:03.000Z", backoffLevel: 1, reason: "server_error"
    })
    assert.deepInclude(rows[1], { connectionId: "c-2", running: 1, executing: 1, rateLimitedUntil: null, reason: null })
    assert.deepStrictEqual(at(json, "overview"), { total: 2, protected: 0, coolingDown: 1, running: 1, queued: 0 })
    assert.deepStrictEqual((yield* post("/api/rate-limits", { connectionId: "c-1", enabled: true })).json, { ok: true, connectionId: "c-1", enabled: true })
    assert.strictEqual((yield* Context.get(context, ConnectionStore).get("c-1"))?.rateLimitProtection, true)
    assert.strictEqual((yield* post("/api/rate-limits", { connectionId: "nobody", enabled: true })).status, 404)
    assert.strictEqual(at((yield* get("/api/rate-limit")).json, "global"), null)
  }))
})

describe("/api/admin/concurrency", () => {
  it.effect("caps the node, a provider and a connection; 0 takes a cap away", () => Effect.gen(function*() {
    const { context, get, post, resilience, to } = yield* signedIn()
    assert.deepStrictEqual((yield* post("/api/admin/concurrency", { global: 9, perProvider: { openai: 1 } })).json, { ok: true, global: 9, perProvider: { openai: 1 } })
    const pass = resilience.enter(to("c-1"), 0)
    assert.deepInclude(resilience.check(to("c-2"), 0), { reason: "connection-busy" })
    const { json } = yield* get("/api/admin/concurrency")
    assert.deepStrictEqual(at(json, "inFlight"), { total: 1, perProvider: { openai: 1 } })
    assert.deepStrictEqual(at(json, "semaphores", "c-1"), { running: 1, queued: 0, max: null })
    if (isPass(pass)) pass.release(null, 0)
    yield* post("/api/admin/concurrency", { limits: [{ scope: "provider", id: "openai", max: 0 }, { scope: "connection", id: "c-2", max: 4 }] })
    assert.strictEqual((yield* Context.get(context, ConnectionStore).get("c-2"))?.maxConcurrent, 4)
    assert.deepStrictEqual(at((yield* get("/api/rate-limit")).json, "perProvider"), {})
    assert.strictEqual(at((yield* get("/api/rate-limit")).json, "global"), 9)
    for (const body of [{}, { global: -1 }, { limits: [{ scope: "provider", max: 1 }] }, { limits: [{ scope: "connection", id: "nobody", max: 1 }] }, { other: 1 }]) {
      assert.strictEqual((yield* post("/api/admin/concurrency", body)).status, 400, JSON.stringify(body))
    }
  }))

  it.effect("takes a provider by its alias or prefix, and no other name; the cap of one that is gone can be taken away", () => Effect.gen(function*() {
    const { configuration, context, get, post } = yield* signedIn()
    yield* post("/api/provider-nodes", { type: "openai-compatible", apiType: "chat", name: "Lab", prefix: "lab", baseUrl: "http://192.0.2.1/v1" })
    assert.strictEqual((yield* post("/api/admin/concurrency", { perProvider: { lab: 3 }, limits: [{ scope: "provider", id: "openai", max: 2 }] })).status, 200)
    const caps = { openai: 2, lab: 3 }
    assert.deepStrictEqual(at((yield* get("/api/rate-limit")).json, "perProvider"), caps)
    for (const [field, body] of [
      ["perProvider.opnai", { global: 7, perProvider: { opnai: 1 } }], ["limits.0.id", { limits: [{ scope: "provider", id: "opnai", max: 1 }] }]
    ] as const) {
      const refused = yield* post("/api/admin/concurrency", body)
      assert.strictEqual(refused.status, 400)
      assert.include(refused.text, field)
      assert.include(refused.text, "'opnai'")
    }
    assert.deepStrictEqual(at((yield* get("/api/rate-limit")).json, "perProvider"), caps)
    assert.strictEqual(at((yield* get("/api/rate-limit")).json, "global"), null)
    const documents = Context.get(context, DocumentStore)
    yield* configuration.commit(documents.put("setting", "concurrencyLimits", { perProvider: { gone: 1 } }))
    assert.deepStrictEqual(at((yield* post("/api/admin/concurrency", { perProvider: { gone: 0 } })).json, "perProvider"), {})
  }))

  it.effect("?action=reset-semaphores forgets calls in flight, another action answers 400", () => Effect.gen(function*() {
    const { get, post, resilience, to } = yield* signedIn()
    resilience.enter(to("c-1"), 0)
    assert.deepStrictEqual((yield* post("/api/admin/concurrency?action=reset-semaphores")).json, { ok: true, action: "reset-semaphores" })
    assert.deepStrictEqual(at((yield* get("/api/admin/concurrency")).json, "inFlight"), { total: 0, perProvider: {} })
    assert.strictEqual((yield* post("/api/admin/concurrency?action=reset-everything")).status, 400)
  }))
})

describe("/api/sessions", () => {
  it.effect("lists the sessions of the last hour from the ledger", () => Effect.gen(function*() {
    const { advance, context, get } = yield* signedIn()
    const row = (attemptId: string, sessionTag: string | null, startedAt: number, apiKeyId: string, final = true) =>
      ledgerRow({ attemptId, sessionTag, startedAt, settledAt: startedAt + 1, apiKeyId, final, connectionId: "c-1" })
    yield* Context.get(context, UsageStore).insert([
      row("a", "s-1", 4_000_000, "k-1"), row("b", "s-1", 4_010_000, "k-1", false), row("c", "s-2", 4_020_000, "k-1"), row("d", null, 4_030_000, "k-2"),
      row("e", "s-old", 1_000, "k-1")
    ])
    yield* advance("4100 seconds")
    const { json } = yield* get("/api/sessions")
    assert.strictEqual(at(json, "count"), 2)
    assert.deepInclude(at(json, "sessions"), {
      sessionId: "s-1", createdAt: new Date(4_000_000).toISOString(), lastActive: new Date(4_010_000).toISOString(), requestCount: 1,
      connectionId: "c-1", ageMs: 100_000
    })
    assert.deepStrictEqual(at(json, "byApiKey"), { "k-1": 2 })
  }))
})
