/**
 * The setting `resilience`: every section with its range and its default. Only what an
 * operator changed is stored. Pacing and caps are off (0) until someone sets them; times are in ms unless a name says otherwise.
 */
import * as Schema from "effect/Schema"

const opt = Schema.optionalKey
const int = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))
const percent = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 100 }))
const name = Schema.NonEmptyString.check(Schema.isMaxLength(200))
const dayMs = 86_400_000

export const ProfileName = Schema.Literals(["oauth", "apikey", "local"])
export type ProfileName = typeof ProfileName.Type

const perProfile = <S extends Schema.Constraint>(section: S) =>
  Schema.Struct({ oauth: opt(section), apikey: opt(section), local: opt(section) })

const Cooldown = Schema.Struct({
  /** Base after server errors and lack of capacity. */
  baseCooldownMs: opt(int(0, dayMs)),
  /** Base after a rate limit without a hint; 0 = only hints pause. */
  rateLimitCooldownMs: opt(int(0, dayMs)),
  useUpstreamRetryHints: opt(Schema.Boolean),
  /** Whether a 429 that names its end counts for the provider's breaker, which then stays open until that end; null = no. */
  useUpstream429BreakerHints: opt(Schema.NullOr(Schema.Boolean)),
  maxBackoffSteps: opt(int(0, 32))
}).annotate({ identifier: "CooldownSettings" })

const Breaker = Schema.Struct({
  degradationThreshold: opt(int(1, 1000)),
  failureThreshold: opt(int(1, 1000)),
  resetTimeoutMs: opt(int(1000, dayMs))
}).annotate({ identifier: "BreakerSettings" })

const ProviderQuota = Schema.Struct({
  rpm: opt(int(0, 1_000_000)),
  /** Calls at once on one connection. */
  concurrency: opt(int(0, 10_000)),
  /** Calls at once on all connections of the provider. */
  providerConcurrency: opt(int(0, 100_000))
}).annotate({ identifier: "ProviderQuota" })

/** What PATCH /api/resilience takes; each section is merged into what stands. */
export const ResilienceChange = Schema.Struct({
  requestQueue: opt(Schema.Struct({
    autoEnableApiKeyProviders: opt(Schema.Boolean),
    requestsPerMinute: opt(int(0, 1_000_000)),
    minTimeBetweenRequestsMs: opt(int(0, 60_000)),
    concurrentRequests: opt(int(0, 10_000)),
    maxWaitMs: opt(int(0, 600_000)),
    executionMaxWaitMs: opt(int(0, 3_600_000)),
    maxQueueDepth: opt(int(0, 100_000))
  }).annotate({ identifier: "RequestQueue" })),
  connectionCooldown: opt(perProfile(Cooldown).annotate({ identifier: "CooldownProfiles" })),
  providerBreaker: opt(perProfile(Breaker).annotate({ identifier: "BreakerProfiles" })),
  waitForCooldown: opt(Schema.Struct({
    enabled: opt(Schema.Boolean), maxRetries: opt(int(0, 10)), maxRetryWaitSec: opt(int(0, 300))
  }).annotate({ identifier: "CooldownWait" })),
  comboCooldownWait: opt(Schema.Struct({
    enabled: opt(Schema.Boolean), maxWaitMs: opt(int(0, 30_000)), maxAttempts: opt(int(0, 10)), budgetMs: opt(int(0, 300_000))
  }).annotate({ identifier: "ComboCooldownWait" })),
  quotaShareConcurrencyLimit: opt(int(0, 10_000)),
  providerCooldown: opt(Schema.Struct({
    enabled: opt(Schema.Boolean), minMs: opt(int(0, 3_600_000)), maxMs: opt(int(0, dayMs))
  }).annotate({ identifier: "ProviderCooldown" })),
  quotaPreflight: opt(Schema.Struct({
    cutoffPercent: opt(percent), warningPercent: opt(percent),
    providerWindowDefaults: opt(Schema.Record(name, Schema.NullOr(Schema.Record(name, percent))))
  }).annotate({ identifier: "QuotaPreflight" })),
  providerQuotaOverrides: opt(Schema.Record(name, Schema.NullOr(ProviderQuota))),
  credentialHealthCheck: opt(Schema.Struct({ intervalMinutes: opt(int(0, 1440)) })),
  tokenRefreshBreaker: opt(Schema.Struct({
    scope: opt(Schema.Literals(["provider", "connection"])), failureThreshold: opt(int(1, 100)), cooldownMs: opt(int(60_000, dayMs))
  }).annotate({ identifier: "TokenRefreshBreaker" }))
})
export interface ResilienceChange extends Schema.Schema.Type<typeof ResilienceChange> {}

export interface CooldownSettings {
  readonly baseCooldownMs: number
  readonly rateLimitCooldownMs: number
  readonly useUpstreamRetryHints: boolean
  readonly useUpstream429BreakerHints: boolean | null
  readonly maxBackoffSteps: number
}

export interface BreakerSettings {
  readonly degradationThreshold: number
  readonly failureThreshold: number
  readonly resetTimeoutMs: number
}

/** The effective values of every section. */
export interface ResilienceSettings {
  readonly requestQueue: {
    readonly autoEnableApiKeyProviders: boolean
    readonly requestsPerMinute: number
    readonly minTimeBetweenRequestsMs: number
    readonly concurrentRequests: number
    readonly maxWaitMs: number
    readonly executionMaxWaitMs: number
    readonly maxQueueDepth: number
  }
  readonly connectionCooldown: Readonly<Record<ProfileName, CooldownSettings>>
  readonly providerBreaker: Readonly<Record<ProfileName, BreakerSettings>>
  readonly waitForCooldown: { readonly enabled: boolean; readonly maxRetries: number; readonly maxRetryWaitSec: number }
  readonly comboCooldownWait: { readonly enabled: boolean; readonly maxWaitMs: number; readonly maxAttempts: number; readonly budgetMs: number }
  readonly quotaShareConcurrencyLimit: number
  readonly providerCooldown: { readonly enabled: boolean; readonly minMs: number; readonly maxMs: number }
  readonly quotaPreflight: {
    readonly cutoffPercent: number
    readonly warningPercent: number
    readonly providerWindowDefaults: Readonly<Record<string, Readonly<Record<string, number>>>>
  }
  readonly providerQuotaOverrides: Readonly<Record<string, typeof ProviderQuota.Type>>
  readonly credentialHealthCheck: { readonly intervalMinutes: number }
  readonly tokenRefreshBreaker: { readonly scope: "provider" | "connection"; readonly failureThreshold: number; readonly cooldownMs: number }
}

const cooldown = (baseCooldownMs: number, rateLimitCooldownMs: number, maxBackoffSteps: number): CooldownSettings => ({
  baseCooldownMs, rateLimitCooldownMs, useUpstreamRetryHints: true, useUpstream429BreakerHints: null, maxBackoffSteps
})

export const resilienceDefaults: ResilienceSettings = {
  requestQueue: {
    autoEnableApiKeyProviders: true, requestsPerMinute: 0, minTimeBetweenRequestsMs: 0, concurrentRequests: 0, maxWaitMs: 15_000,
    executionMaxWaitMs: 0, maxQueueDepth: 0
  },
  connectionCooldown: { oauth: cooldown(5_000, 60_000, 8), apikey: cooldown(3_000, 0, 5), local: cooldown(2_000, 5_000, 3) },
  providerBreaker: {
    oauth: { degradationThreshold: 5, failureThreshold: 8, resetTimeoutMs: 60_000 },
    apikey: { degradationThreshold: 7, failureThreshold: 12, resetTimeoutMs: 30_000 },
    local: { degradationThreshold: 1, failureThreshold: 2, resetTimeoutMs: 15_000 }
  },
  waitForCooldown: { enabled: true, maxRetries: 3, maxRetryWaitSec: 30 },
  comboCooldownWait: { enabled: false, maxWaitMs: 5_000, maxAttempts: 2, budgetMs: 30_000 },
  quotaShareConcurrencyLimit: 0,
  providerCooldown: { enabled: false, minMs: 5_000, maxMs: 300_000 },
  quotaPreflight: { cutoffPercent: 2, warningPercent: 20, providerWindowDefaults: {} },
  providerQuotaOverrides: {},
  credentialHealthCheck: { intervalMinutes: 0 },
  tokenRefreshBreaker: { scope: "connection", failureThreshold: 5, cooldownMs: 300_000 }
}

/** Setting `modelLockout`. */
export const ModelLockoutChange = Schema.Struct({
  enabled: opt(Schema.Boolean),
  errorCodes: opt(Schema.Array(int(400, 599)).check(Schema.isMaxLength(50))),
  baseCooldownMs: opt(int(100, 600_000)),
  maxCooldownMs: opt(int(5_000, 3_600_000)),
  maxBackoffSteps: opt(int(0, 20)),
  useExponentialBackoff: opt(Schema.Boolean)
})

export const modelLockoutDefaults = {
  enabled: false, errorCodes: [403, 404, 429, 502, 503, 504] as ReadonlyArray<number>, baseCooldownMs: 120_000, maxCooldownMs: 1_800_000,
  maxBackoffSteps: 10, useExponentialBackoff: true
}

/** Setting `concurrencyLimits`: calls at once on this node; absent = no cap. */
export const ConcurrencyLimits = Schema.Struct({
  global: opt(int(0, 1_000_000)),
  perProvider: opt(Schema.Record(name, int(0, 100_000)))
})
export interface ConcurrencyLimits extends Schema.Schema.Type<typeof ConcurrencyLimits> {}
