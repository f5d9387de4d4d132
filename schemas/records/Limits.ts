import * as Schema from "effect/Schema"

/** How often a limit begins anew. Weeks begin on Monday, months on the first, all in UTC. */
export const ResetInterval = Schema.Literals(["daily", "weekly", "monthly"])
export type ResetInterval = typeof ResetInterval.Type

/** Time of day in UTC at which a period begins. */
export const ResetTime = Schema.String.check(Schema.isPattern(/^([01]\d|2[0-3]):[0-5]\d$/, { message: "Expected HH:MM" }))

/** USD that a key may spend per period; 0 = no limit for that period. */
export const Budget = Schema.Struct({
  /** The key; one budget per key. */
  apiKeyId: Schema.String,
  dailyLimitUsd: Schema.Number,
  weeklyLimitUsd: Schema.Number,
  monthlyLimitUsd: Schema.Number,
  /** Part of the limit, 0 to 1, from which on `warningReached` is true and webhooks are told once per window. */
  warningThreshold: Schema.Number,
  /** The period that `activeLimitUsd` is about; every limit above 0 is enforced over its own period. */
  resetInterval: ResetInterval,
  resetTime: Schema.String,
  createdAt: Schema.String,
  updatedAt: Schema.String
})
export interface Budget extends Schema.Schema.Type<typeof Budget> {}

/** Tokens (input and output) that a key may use per period: at one model, at one provider, or in total. */
export const TokenLimit = Schema.Struct({
  id: Schema.String,
  apiKeyId: Schema.String,
  scopeType: Schema.Literals(["model", "provider", "global"]),
  /** Empty for `global`. */
  scopeValue: Schema.String,
  tokenLimit: Schema.Int,
  resetInterval: ResetInterval,
  resetTime: Schema.String,
  enabled: Schema.Boolean,
  createdAt: Schema.String,
  updatedAt: Schema.String
})
export interface TokenLimit extends Schema.Schema.Type<typeof TokenLimit> {}

/** A key that was issued over the inference surface; the key itself is an `ApiKey` of the same id. */
export const RegisteredKey = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  /** Empty = any. */
  provider: Schema.String,
  accountId: Schema.String,
  keyPrefix: Schema.String,
  /** The API key that issued it; null for an operator. */
  issuerId: Schema.NullOr(Schema.String),
  /** `<issuer>:<key>` so that issuers do not meet; null without one. */
  idempotencyKey: Schema.NullOr(Schema.String),
  dailyBudget: Schema.NullOr(Schema.Int),
  hourlyBudget: Schema.NullOr(Schema.Int),
  expiresAt: Schema.NullOr(Schema.String),
  createdAt: Schema.String,
  revokedAt: Schema.NullOr(Schema.String)
})
export interface RegisteredKey extends Schema.Schema.Type<typeof RegisteredKey> {}

/** How many keys may be issued for a provider or an account; 0 = no limit. */
export const IssueLimits = Schema.Struct({
  /** `provider:<id>` or `account:<id>`. */
  subject: Schema.String,
  maxActiveKeys: Schema.Int,
  dailyIssueLimit: Schema.Int,
  hourlyIssueLimit: Schema.Int
})
export interface IssueLimits extends Schema.Schema.Type<typeof IssueLimits> {}
