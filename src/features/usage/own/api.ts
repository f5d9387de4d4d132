import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, anyone } from "#schemas/api/Access.ts"

const usd = Schema.Number

/** USD limits of a key and what it spent. Days begin at 03:00 UTC, weeks on Monday at 03:00 UTC. */
export const Personal = Schema.Struct({
  enabled: Schema.Boolean,
  dailyLimitUsd: Schema.NullOr(usd),
  weeklyLimitUsd: Schema.NullOr(usd),
  dailySpentUsd: usd,
  weeklySpentUsd: usd,
  dailyWindowStartIso: Schema.String,
  dailyResetAtIso: Schema.String,
  weeklyWindowStartIso: Schema.String,
  weeklyResetAtIso: Schema.NullOr(Schema.String),
  dailyExceeded: Schema.Boolean,
  weeklyExceeded: Schema.Boolean
})
export interface Personal extends Schema.Schema.Type<typeof Personal> {}

/** Remainder of one quota window: requests or tokens, or percent where the vendor states only a share. */
const OwnWindow = Schema.Struct({
  used: Schema.NullOr(Schema.Number),
  total: Schema.NullOr(Schema.Number),
  remaining: Schema.NullOr(Schema.Number),
  remainingPercentage: Schema.Number,
  resetAt: Schema.NullOr(Schema.String),
  unlimited: Schema.Boolean
})

/**
 * Provider quota behind a key; `provider` is an id or a node's prefix, `quotas` is by window and empty while no upstream reported
 * any.
 */
export const OwnQuota = Schema.Struct({
  connectionId: Schema.String,
  provider: Schema.String,
  plan: Schema.NullOr(Schema.String),
  quotas: Schema.Record(Schema.String, OwnWindow)
}).annotate({ identifier: "OwnQuota" })
export interface OwnQuota extends Schema.Schema.Type<typeof OwnQuota> {}

/** What a key may know of itself. */
export const SelfUsage = Schema.Struct({
  allowed: Schema.Boolean,
  name: Schema.String,
  /** Only when the key has USD limits. */
  personal: Schema.optionalKey(Personal),
  /** Budgets and token limits of the key. */
  limits: Schema.Array(Schema.Struct({
    kind: Schema.Literals(["usd", "tokens"]),
    scope: Schema.String,
    interval: Schema.String,
    used: Schema.Number,
    limit: Schema.Number,
    resetAtIso: Schema.String
  })),
  /** What the key spent since the day and the week began (03:00 UTC, Monday 03:00 UTC), whether that is limited or not. */
  spent: Schema.Struct({ dailyUsd: usd, weeklyUsd: usd }),
  /** Requests that the key may make in any stretch of so many seconds. */
  rates: Schema.Array(Schema.Struct({ limit: Schema.Int, windowSeconds: Schema.Int })),
  /** Sessions at once; 0 = no cap. */
  maxSessions: Schema.Int,
  /** The first of `providers` whose upstream reported a window. */
  provider: Schema.NullOr(OwnQuota),
  /** Active connections that the key may use, the preferred ones first; empty without scope `self:account-quota`. */
  providers: Schema.Array(OwnQuota),
  generatedAtIso: Schema.String
})
export interface SelfUsage extends Schema.Schema.Type<typeof SelfUsage> {}

/** A caller's own usage: authenticated by the key it asks about. */
export const SelfUsageGroup = HttpApiGroup.make("selfUsage").add(
  HttpApiEndpoint.get("read", "/api/usage/self-usage", {
    query: {
      format: Schema.optionalKey(Schema.Literals(["text", "json"])),
      token: Schema.optionalKey(Schema.String),
      apiKey: Schema.optionalKey(Schema.String),
      api_key: Schema.optionalKey(Schema.String),
      key: Schema.optionalKey(Schema.String)
    },
    success: SelfUsage
  }).annotate(Access, anyone).annotate(OpenApi.Summary, "Usage and limits of the presented API key; plain text unless format=json")
).annotateMerge(OpenApi.annotations({ title: "Self-usage", description: "What a key may know of itself; needs allowUsageCommand on the key." }))
