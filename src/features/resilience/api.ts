import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, administers, governs, reads, writes } from "#schemas/api/Access.ts"
import { SentBack, sentBack } from "#schemas/api/SentBack.ts"
import { integer, listOf, text } from "#schemas/api/fields.ts"
import { Breaker } from "./ports/breakerRows.ts"
import { ConcurrencyLimits, ResilienceChange } from "#schemas/records/ResilienceSettings.ts"

const opt = Schema.optionalKey
const ok = Schema.Literal(true)

const sections = {
  ...ResilienceChange.fields,
  /** The stream recovery flags; change them as feature flags. */
  streamRecovery: Schema.Struct({ enabled: Schema.Boolean, midStream: Schema.Boolean, toolCallSafe: Schema.Boolean, earlyEofSibling: Schema.Boolean }),
  /** The waits of `waitForCooldown` under their older names, read only. */
  legacy: Schema.Struct({ requestRetry: Schema.Json, maxRetryIntervalSec: Schema.Json }),
  /** State of this node's breakers. */
  breakers: Schema.Array(Breaker)
}
const view = Schema.Struct(sections)
export interface ResilienceView extends Schema.Schema.Type<typeof view> {}

const Lockout = Schema.Struct({
  provider: Schema.String,
  connectionId: Schema.NullOr(Schema.String),
  model: Schema.String,
  reason: Schema.String,
  remainingMs: Schema.Number,
  until: Schema.String,
  failureCount: Schema.Int
}).annotate({ identifier: "ModelLockout" })
export interface LockoutRow extends Schema.Schema.Type<typeof Lockout> {}

const Place = Schema.Struct({
  connectionId: Schema.String,
  provider: Schema.String,
  name: Schema.String,
  rateLimitProtection: Schema.Boolean,
  queued: Schema.Int,
  running: Schema.Int,
  executing: Schema.Int,
  /** Calls at once; null = no cap. */
  maxConcurrent: Schema.NullOr(Schema.Int),
  rateLimitedUntil: Schema.NullOr(Schema.String),
  backoffLevel: Schema.Int,
  /** Why the connection rests; null when it does not. */
  reason: Schema.NullOr(Schema.String)
})

const queue = ResilienceChange.fields.requestQueue
const limits = {
  global: Schema.NullOr(Schema.Int),
  perProvider: Schema.Record(Schema.String, Schema.Int)
}

const ConcurrencyChange = Schema.Struct({
  ...ConcurrencyLimits.fields,
  limits: opt(listOf(Schema.Struct({
    scope: Schema.Literals(["global", "provider", "connection"]),
    id: opt(text(1, 200)),
    max: integer(0, 1_000_000)
  }), 500))
})
export interface ConcurrencyChange extends Schema.Schema.Type<typeof ConcurrencyChange> {}

const concurrency = Schema.Struct({
  timestamp: Schema.String,
  ...limits,
  rateLimits: Schema.Struct({ requestQueue: queue }),
  semaphores: Schema.Record(Schema.String, Schema.Struct({ running: Schema.Int, queued: Schema.Int, max: Schema.NullOr(Schema.Int) })),
  inFlight: Schema.Struct({ total: Schema.Int, perProvider: Schema.Record(Schema.String, Schema.Int) })
})
export interface ConcurrencyView extends Schema.Schema.Type<typeof concurrency> {}

/** `all` alone, or the provider and the model of one lockout. */
const ClearedLockouts = Schema.Struct({ all: opt(ok), provider: opt(text(1, 200)), model: opt(text(1, 400)), connection: opt(text(1, 200)) })
export interface ClearedLockouts extends Schema.Schema.Type<typeof ClearedLockouts> {}
const cooldowns = "/api/resilience/model-cooldowns"
const atOnce = "/api/admin/concurrency"

/** Breakers, cooldowns, lockouts and concurrency. */
export const ResilienceGroup = HttpApiGroup.make("resilience").add(
  HttpApiEndpoint.get("get", "/api/resilience", { success: view })
    .annotate(Access, reads).annotate(OpenApi.Summary, "Every section with its effective values; the state of the breakers"),
  HttpApiEndpoint.patch("patch", "/api/resilience", { payload: ResilienceChange, success: Schema.Struct({ ok, ...sections }) })
    .annotate(SentBack, sentBack({ moves: ["breakers"] })).annotate(Access, writes).annotate(OpenApi.Summary, "Merge at least one section"),
  HttpApiEndpoint.post("reset", "/api/resilience/reset", {
    /** Without a provider every breaker is closed. */
    payload: [Schema.Struct({ provider: opt(text(1, 200)) }), Schema.Null],
    success: Schema.Struct({ ok, resetCount: Schema.Int, message: Schema.String })
  }).annotate(Access, writes).annotate(OpenApi.Summary, "Close provider breakers"),
  HttpApiEndpoint.get("lockouts", cooldowns, { success: Schema.Struct({ count: Schema.Int, items: Schema.Array(Lockout) }) })
    .annotate(Access, reads).annotate(OpenApi.Summary, "Active model lockouts, shortest remaining time first"),
  HttpApiEndpoint.delete("clearLockouts", cooldowns, {
    payload: ClearedLockouts,
    success: Schema.Struct({ ok, cleared: Schema.Int })
  }).annotate(Access, writes).annotate(OpenApi.Summary, "End the lockouts of one model, or all"),
  HttpApiEndpoint.get("rateLimits", "/api/rate-limits", {
    success: Schema.Struct({
      connections: Schema.Array(Place),
      overview: Schema.Struct({ total: Schema.Int, protected: Schema.Int, coolingDown: Schema.Int, running: Schema.Int, queued: Schema.Int }),
      lockouts: Schema.Array(Lockout),
      cacheStats: Schema.Struct({ lockouts: Schema.Int, breakers: Schema.Int })
    })
  }).annotate(Access, reads).annotate(OpenApi.Summary, "Calls, caps and cooldowns per connection"),
  HttpApiEndpoint.post("protect", "/api/rate-limits", {
    payload: Schema.Struct({ connectionId: text(1, 200), enabled: Schema.Boolean }),
    success: Schema.Struct({ ok, connectionId: Schema.String, enabled: Schema.Boolean })
  }).annotate(Access, administers).annotate(OpenApi.Summary, "Switch the request queue of one connection on or off"),
  HttpApiEndpoint.get("rateLimit", "/api/rate-limit", { success: Schema.Struct({ requestQueue: queue, ...limits }) })
    .annotate(Access, reads).annotate(OpenApi.Summary, "The limits that hold for all connections"),
  HttpApiEndpoint.get("concurrency", atOnce, { success: concurrency })
    .annotate(Access, governs).annotate(OpenApi.Summary, "Caps and calls in flight on this node"),
  HttpApiEndpoint.post("setConcurrency", atOnce, {
    query: { action: opt(text(1, 60)) },
    payload: [ConcurrencyChange, Schema.Null],
    success: Schema.Union([Schema.Struct({ ok, action: Schema.String }), Schema.Struct({ ok, ...limits })])
  }).annotate(SentBack, sentBack({ moves: ["timestamp", "rateLimits", "semaphores", "inFlight"] })).annotate(Access, governs).annotate(OpenApi.Summary, "Set caps (0 = none), or ?action=reset-semaphores"),
  HttpApiEndpoint.get("sessions", "/api/sessions", {
    success: Schema.Struct({
      count: Schema.Int,
      sessions: Schema.Array(Schema.Struct({
        sessionId: Schema.String,
        createdAt: Schema.String,
        lastActive: Schema.String,
        requestCount: Schema.Int,
        connectionId: Schema.NullOr(Schema.String),
        ageMs: Schema.Number
      })),
      byApiKey: Schema.Record(Schema.String, Schema.Int)
    })
  }).annotate(Access, reads).annotate(OpenApi.Summary, "Client sessions of the last hour: by X-Session-Id on this node, by X-Gateway-Session-Id from the ledger")
).annotateMerge(OpenApi.annotations({ title: "Resilience", description: "Breakers, cooldowns, lockouts and concurrency." }))
