/** May another key be issued? Pure over the keys that were issued before (supplement 3.5). */
import type { IssueStanding } from "#actors/ports/LimitRecords.ts"
import type { IssueLimits, RegisteredKey } from "#schemas/records/Limits.ts"

const hourMs = 3_600_000
const dayMs = 24 * hourMs

export interface IssueRefusal {
  readonly errorCode: "PROVIDER_QUOTA_EXCEEDED" | "ACCOUNT_QUOTA_EXCEEDED" | "MAX_ACTIVE_KEYS_EXCEEDED"
  readonly reason: string
  /** Seconds; null when only a revocation helps. */
  readonly retryAfterSeconds: number | null
}

export const isActive = (key: RegisteredKey, now: number): boolean =>
  key.revokedAt === null && (key.expiresAt === null || Date.parse(key.expiresAt) > now)

export const isUnlimited = ({ dailyIssueLimit, hourlyIssueLimit, maxActiveKeys }: IssueLimits): boolean =>
  dailyIssueLimit + hourlyIssueLimit + maxActiveKeys === 0

/** `now`: ms since the epoch. */
export const check = ({ keys, kind, limits }: IssueStanding, now: number): IssueRefusal | null => {
  if (limits.maxActiveKeys > 0) {
    const active = keys.filter((key) => isActive(key, now)).length
    if (active >= limits.maxActiveKeys) {
      return { errorCode: "MAX_ACTIVE_KEYS_EXCEEDED", reason: `${active} of ${limits.maxActiveKeys} keys of this ${kind} are active`, retryAfterSeconds: null }
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
