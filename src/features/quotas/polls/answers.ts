/** What the answer of a vendor's quota endpoint says, by the provider's row. Pure. */
import type { ProviderQuota } from "#schemas/Provider.ts"
import * as JsonPath from "#schemas/jsonPath.ts"
import type { QuotaReading } from "#src/routing/ports/Quotas.ts"

const dayMs = 86_400_000

const valueAt = (document: unknown, path: string | undefined): unknown => {
  const at = path === undefined ? null : JsonPath.parse(path)
  return at === null ? undefined : JsonPath.read(document, at)
}

/** A number, or its digits as a string. */
const numberAt = (document: unknown, path: string | undefined): number | null => {
  const value = valueAt(document, path)
  if (typeof value === "number") return value
  return typeof value === "string" && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : null
}

/** The next midnight, Monday or first of a month, UTC, ms since the epoch; null for any other word. */
export const resetOf = (word: unknown, now: number): number | null => {
  const date = new Date(now)
  const midnight = Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate())
  switch (word) {
    case "daily":
      return midnight + dayMs
    case "weekly":
      return midnight + (8 - (date.getUTCDay() || 7)) * dayMs
    case "monthly":
      return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1)
    default:
      return null
  }
}

const percent = (remaining: number, limit: number | null, isUsable: boolean): number => {
  if (!isUsable || remaining <= 0) return 0
  return limit === null || limit <= 0 ? 100 : Math.round(Math.min(100, remaining / limit * 100) * 100) / 100
}

/**
 * The balance of a key at an aggregator (New API, One API), USD: what it may spend in all, less what it has spent, which is told in
 * hundredths. Null when the answers do not tell both.
 */
export const balanceOf = (subscription: unknown, usage: unknown, now: number, believedMs: number): QuotaReading | null => {
  const limit = numberAt(subscription, "$.hard_limit_usd")
  const spent = numberAt(usage, "$.total_usage")
  if (limit === null || spent === null) return null
  const remaining = Math.max(0, limit - spent / 100)
  return { name: "balance", remainingPercent: percent(remaining, limit, true), resetsAt: null, scope: "connection", limit, remaining, lengthMs: null, seenAt: now, believedMs }
}

/** `believedMs`: how long a reading without a reset counts. A window that the answer does not name is left out. */
export const readingsOf = (quota: ProviderQuota, document: unknown, now: number, believedMs: number): ReadonlyArray<QuotaReading> =>
  quota.windows.flatMap((window): ReadonlyArray<QuotaReading> => {
    const remaining = numberAt(document, window.remaining)
    if (remaining === null) return []
    const limit = numberAt(document, window.limit)
    return [{
      name: window.name,
      remainingPercent: percent(remaining, limit, valueAt(document, window.usable) !== false),
      resetsAt: resetOf(valueAt(document, window.resets), now),
      scope: "connection",
      limit,
      remaining: Math.max(0, remaining),
      lengthMs: null,
      seenAt: now,
      believedMs
    }]
  })
