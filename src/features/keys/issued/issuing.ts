/** Whether another key may be issued, and how it is served. Pure over the keys that were issued before. */
import type { IssueStanding } from "#actors/limits/ports/LimitRecords.ts"
import type { PolicyInput } from "#src/features/keys/api.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import type { IssueLimits, RegisteredKey } from "#schemas/records/Limits.ts"

export const hourSeconds = 3_600
export const daySeconds = 86_400
const hourMs = 1_000 * hourSeconds
const dayMs = 1_000 * daySeconds

export interface IssueRefusal {
  readonly errorCode: "PROVIDER_QUOTA_EXCEEDED" | "ACCOUNT_QUOTA_EXCEEDED" | "MAX_ACTIVE_KEYS_EXCEEDED"
  readonly reason: string
  /** Seconds; null when no time is known: only a revocation helps. */
  readonly retryAfterSeconds: number | null
}

export const isActive = (key: RegisteredKey, now: number): boolean =>
  key.revokedAt === null && (key.expiresAt === null || Date.parse(key.expiresAt) > now)

/**
 * The record as its key stands now, which `/api/keys` may have changed or removed (null). A key that is only disabled keeps its place:
 * it may be enabled again.
 */
export const following = (record: RegisteredKey, key: ApiKey | null): RegisteredKey => key === null
  // The time of a removal that left no record is not known.
  ? { ...record, revokedAt: record.revokedAt ?? record.createdAt }
  : {
    ...record, name: key.name, keyPrefix: key.keyPrefix, expiresAt: key.policy.expiresAt, revokedAt: record.revokedAt ?? key.revokedAt,
    dailyBudget: budgetOf(key, daySeconds), hourlyBudget: budgetOf(key, hourSeconds)
  }

const budgetOf = ({ policy }: ApiKey, window: number): number | null => {
  const limits = (policy.rateLimits ?? []).filter((rate) => rate.window === window).map(({ limit }) => limit)
  return limits.length === 0 ? null : Math.min(...limits)
}

export const isUnlimited = ({ dailyIssueLimit, hourlyIssueLimit, maxActiveKeys }: IssueLimits): boolean =>
  dailyIssueLimit + hourlyIssueLimit + maxActiveKeys === 0

/** `now`: ms since the epoch. */
export const check = ({ keys, kind, limits }: IssueStanding, now: number): IssueRefusal | null => {
  if (limits.maxActiveKeys > 0) {
    const ends = keys.filter((key) => isActive(key, now)).map(({ expiresAt }) => expiresAt === null ? Infinity : Date.parse(expiresAt)).sort((a, b) => a - b)
    const active = ends.length
    if (active >= limits.maxActiveKeys) {
      const free = ends[active - limits.maxActiveKeys] ?? Infinity
      return {
        errorCode: "MAX_ACTIVE_KEYS_EXCEEDED", reason: `${active} of ${limits.maxActiveKeys} keys of this ${kind} are active`,
        retryAfterSeconds: free === Infinity ? null : Math.max(1, Math.ceil((free - now) / 1_000))
      }
    }
  }
  const errorCode = kind === "provider" ? "PROVIDER_QUOTA_EXCEEDED" : "ACCOUNT_QUOTA_EXCEEDED"
  for (const [name, limit, windowMs] of [["hour", limits.hourlyIssueLimit, hourMs], ["day", limits.dailyIssueLimit, dayMs]] as const) {
    if (limit <= 0) continue
    const recent = keys.map((key) => Date.parse(key.createdAt)).filter((time) => time > now - windowMs).sort((a, b) => b - a)
    const oldest = recent[limit - 1]
    if (oldest !== undefined) {
      return {
        errorCode, reason: `${recent.length} keys of this ${kind} were issued in the last ${name}; the limit is ${limit}`,
        retryAfterSeconds: Math.max(1, Math.ceil((oldest + windowMs - now) / 1_000))
      }
    }
  }
  return null
}

/** How an issued key is served, as its issuer is now. What it may use at most is asked of the issuer at each call, so it is not copied. */
export const inherited = (issuer: ApiKey | null): PolicyInput => {
  if (issuer === null) return {}
  const { policy } = issuer
  return {
    preferredConnections: policy.preferredConnections, allowedQuotas: policy.allowedQuotas, disableNonPublicModels: policy.disableNonPublicModels,
    allowedMcpTools: policy.allowedMcpTools, noLog: policy.noLog, disabledGuardrails: policy.disabledGuardrails, allowGuardrailOptOut: policy.allowGuardrailOptOut,
    throttleDelayMs: policy.throttleDelayMs, cacheDefaultMode: policy.cacheDefaultMode, expiresAt: policy.expiresAt
  }
}
