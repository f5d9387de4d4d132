import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, reads, writes } from "#schemas/api/Access.ts"
import { SentBack, sentBack } from "#schemas/api/SentBack.ts"
import { amount, Success, text } from "#schemas/api/fields.ts"
import { ResetInterval, ResetTime, TokenLimit } from "#schemas/records/Limits.ts"

const opt = Schema.optionalKey
const usd = Schema.Number
const keyId = text(1, 200)

/** A body of POST /api/usage/budget; absent fields keep their value. */
export const BudgetInput = Schema.Struct({
  apiKeyId: keyId,
  dailyLimitUsd: opt(amount),
  weeklyLimitUsd: opt(amount),
  monthlyLimitUsd: opt(amount),
  warningThreshold: opt(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))),
  resetInterval: opt(ResetInterval),
  resetTime: opt(ResetTime)
})
export interface BudgetInput extends Schema.Schema.Type<typeof BudgetInput> {}

const terms = {
  dailyLimitUsd: usd, weeklyLimitUsd: usd, monthlyLimitUsd: usd, warningThreshold: usd, resetInterval: ResetInterval, resetTime: Schema.String
}

/** A budget with its live use; 0 = no limit. `activeLimitUsd` is the limit of `resetInterval`'s period. */
export const BudgetStatus = Schema.Struct({
  apiKeyId: Schema.String,
  apiKeyName: Schema.NullOr(Schema.String),
  ...terms,
  totalCostToday: usd,
  totalCostMonth: usd,
  totalCostPeriod: usd,
  activeLimitUsd: usd,
  nextResetAt: Schema.String,
  periodStartAt: Schema.String,
  budgetCheck: Schema.Struct({
    allowed: Schema.Boolean,
    reason: opt(Schema.String),
    dailyUsed: usd,
    dailyLimit: usd,
    warningReached: Schema.Boolean,
    remaining: Schema.NullOr(usd),
    periodUsed: usd,
    activeLimitUsd: usd,
    resetInterval: ResetInterval,
    resetTime: Schema.String,
    budgetResetAt: Schema.String,
    lastBudgetResetAt: Schema.String,
    periodStartAt: Schema.String,
    /** Held by requests in flight on this node. */
    reservedUsd: usd,
    /** Blocks of nodes that were killed or paused, which count as used until the truth is known; as far as this node has asked. */
    unsettledUsd: usd
  })
}).annotate({ identifier: "BudgetStatus" })
export interface BudgetStatus extends Schema.Schema.Type<typeof BudgetStatus> {}

/** USD budgets of keys. */
export const BudgetsGroup = HttpApiGroup.make("budgets").add(
  HttpApiEndpoint.get("read", "/api/usage/budget", {
    query: { apiKeyId: opt(keyId) },
    success: Schema.Union([BudgetStatus, Schema.Struct({ budgets: Schema.Array(BudgetStatus) })])
  }).annotate(Access, reads).annotate(OpenApi.Summary, "Budget and use of one key, or of all keys"),
  HttpApiEndpoint.post("put", "/api/usage/budget", {
    payload: BudgetInput,
    success: Schema.Struct({ success: Schema.Literal(true), apiKeyId: Schema.String, budget: Schema.Struct(terms) })
  }).annotate(SentBack, sentBack({ by: ["apiKeyId"], asked: ["apiKeyId"], moves: ["totalCostToday", "totalCostMonth", "totalCostPeriod", "activeLimitUsd", "nextResetAt", "periodStartAt", "budgetCheck"] })).annotate(Access, writes).annotate(OpenApi.Summary, "Set or change a key's budget; at least one limit above 0"),
  HttpApiEndpoint.delete("remove", "/api/usage/budget", { query: { apiKeyId: keyId }, success: Success })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Take a key's budget away")
).annotateMerge(OpenApi.annotations({ title: "Budgets", description: "What keys may cost. Every limit above 0 is enforced over its own period." }))

const positive = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }))

/** A body of POST /api/usage/token-limits; with `id` an update. */
export const TokenLimitInput = Schema.Struct({
  id: opt(text(1, 200)),
  apiKeyId: keyId,
  scopeType: Schema.Literals(["model", "provider", "global"]),
  scopeValue: opt(text(0, 240)),
  /** A whole number above 0, as a number or as text. */
  tokenLimit: Schema.Union([positive, Schema.NumberFromString.check(Schema.isInt(), Schema.isBetween({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }))]),
  resetInterval: opt(ResetInterval),
  resetTime: opt(ResetTime),
  enabled: opt(Schema.Boolean)
})
export interface TokenLimitInput extends Schema.Schema.Type<typeof TokenLimitInput> {}

export const TokenLimitStatus = Schema.Struct({
  ...TokenLimit.fields,
  tokensUsed: Schema.Number,
  remaining: Schema.Number,
  percentUsed: Schema.Number,
  /** Held by requests in flight on this node. */
  reserved: Schema.Number,
  /** Blocks of nodes that were killed or paused, which count as used until the truth is known; as far as this node has asked. */
  unsettled: Schema.Number,
  windowStart: Schema.String,
  periodStartAt: Schema.String,
  nextResetAt: Schema.String
}).annotate({ identifier: "TokenLimitStatus" })
export interface TokenLimitStatus extends Schema.Schema.Type<typeof TokenLimitStatus> {}

const path = "/api/usage/token-limits"

/** Token limits of keys. */
export const TokenLimitsGroup = HttpApiGroup.make("tokenLimits").add(
  HttpApiEndpoint.get("list", path, {
    query: { apiKeyId: opt(keyId) },
    success: Schema.Struct({ limits: Schema.Array(TokenLimitStatus) })
  }).annotate(Access, reads).annotate(OpenApi.Summary, "Token limits with their live use"),
  HttpApiEndpoint.post("put", path, {
    payload: TokenLimitInput,
    success: Schema.Struct({
      success: Schema.Literal(true),
      limit: TokenLimit,
      /** Nothing is known by the limit's name: it counts nothing until there is. */
      warning: opt(Schema.String)
    })
  }).annotate(SentBack, sentBack({ by: ["id"], asked: ["apiKeyId"], moves: ["tokensUsed", "remaining", "percentUsed", "reserved", "unsettled", "windowStart", "periodStartAt", "nextResetAt"] })).annotate(Access, writes).annotate(OpenApi.Summary, "Create a token limit, or change the one of this id"),
  HttpApiEndpoint.delete("remove", path, { query: { id: text(1, 200) }, success: Success })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Delete a token limit")
).annotateMerge(OpenApi.annotations({ title: "Token limits", description: "Tokens that keys may use at a model, a provider or anywhere; the most restrictive limit wins." }))
