/** The limits of a key as one list of rules: from its policy, its budget and its token limits. Pure. */
import { type FixedWindow, minutesOf } from "#actors/limits/window.ts"
import type { QuotaExceeded } from "#schemas/events.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import type { Budget, TokenLimit } from "#schemas/records/Limits.ts"

/** Units per USD: money is counted in whole units of 1e-10 USD, as the ledger keeps it. */
export const unitsPerUsd = 1e10

/** Where a call goes, or went. */
export interface CallPlace {
  readonly provider: string
  readonly model: string
}

export interface AmountRule {
  /** Unique in its key; another period or scope is another rule. */
  readonly id: string
  readonly kind: "tokens" | "usd"
  readonly quota: QuotaExceeded["data"]["quota"]
  /** What the limit is about, for people and events: `global`, `model:<id>`, `provider:<id>`, or a period. */
  readonly scope: string
  /** Null = every place. */
  readonly within: ((place: CallPlace) => boolean) | null
  readonly window: FixedWindow
  /** Tokens, or units of 1e-10 USD. */
  readonly limit: number
  /** Use from which on it is told that the limit is near; absent: never. */
  readonly warnAt?: number
}

export interface RateRule {
  readonly id: string
  /** Requests in any stretch of the window's length. */
  readonly limit: number
  readonly windowMs: number
}

export interface LimitRules {
  readonly amounts: ReadonlyArray<AmountRule>
  readonly rates: ReadonlyArray<RateRule>
  /** 0 = no cap. */
  readonly maxSessions: number
}

export interface LimitSources {
  readonly budgets: ReadonlyMap<string, Budget>
  /** By key id. */
  readonly tokenLimits: ReadonlyMap<string, ReadonlyArray<TokenLimit>>
  /** DEFAULT_RATE_LIMIT_PER_DAY; 0 = none. */
  readonly defaultPerDay: number
  /** The canonical id of a provider's id, alias or prefix; null when there is none. */
  readonly providerOf: (name: string) => string | null
  /** The name by which people know a provider's id. */
  readonly nameOf: (provider: string) => string
}

/** USD windows of a key begin at 03:00 UTC, its week on Monday. */
const usdWindowMinutes = 3 * 60
const daySeconds = 86_400

/** What of a key its limits are made of. */
type LimitedKey = Pick<ApiKey, "id" | "policy" | "isPermanent">

/** Null when nothing limits the key: its calls cost one look at this. */
export const of = (key: LimitedKey, sources: LimitSources): LimitRules | null => {
  const { policy } = key
  const amounts: Array<AmountRule> = []
  const usd = (quota: AmountRule["quota"], scope: string, interval: FixedWindow["interval"], minutes: number, limitUsd: number | null, warns = 0) => {
    if (limitUsd === null || limitUsd <= 0) return
    const limit = Math.round(limitUsd * unitsPerUsd)
    const near = warns > 0 && warns < 1 ? { warnAt: Math.round(limit * warns) } : {}
    amounts.push({ id: `${quota}:${interval}:${minutes}`, kind: "usd", quota, scope, within: null, window: { interval, minutes }, limit, ...near })
  }
  if (policy.usageLimitEnabled) {
    usd("daily_usd", "daily", "daily", usdWindowMinutes, policy.dailyUsageLimitUsd)
    usd("weekly_usd", "weekly", "weekly", usdWindowMinutes, policy.weeklyUsageLimitUsd)
  }
  const budget = sources.budgets.get(key.id)
  if (budget !== undefined) {
    const minutes = minutesOf(budget.resetTime)
    usd("budget", "daily", "daily", minutes, budget.dailyLimitUsd, budget.warningThreshold)
    usd("budget", "weekly", "weekly", minutes, budget.weeklyLimitUsd, budget.warningThreshold)
    usd("budget", "monthly", "monthly", minutes, budget.monthlyLimitUsd, budget.warningThreshold)
  }
  for (const limit of sources.tokenLimits.get(key.id) ?? []) if (limit.enabled) amounts.push(ofTokenLimit(limit, sources))
  const rates = ratesOf(key, key.isPermanent === true ? 0 : sources.defaultPerDay)
  return amounts.length === 0 && rates.length === 0 && policy.maxSessions <= 0 ? null : { amounts, rates, maxSessions: policy.maxSessions }
}

/** The rule of a token limit. */
export const ofTokenLimit = (limit: TokenLimit, { nameOf, providerOf }: Pick<LimitSources, "nameOf" | "providerOf">): AmountRule => {
  const window: FixedWindow = { interval: limit.resetInterval, minutes: minutesOf(limit.resetTime) }
  const scope = limit.scopeType === "global" ? "global" : `${limit.scopeType}:${limit.scopeValue}`
  return {
    id: `token_limit:${limit.id}:${window.interval}:${window.minutes}:${scope}`,
    kind: "tokens", quota: "token_limit", scope: scopeOf(limit, nameOf), within: withinOf(limit, providerOf), window, limit: limit.tokenLimit
  }
}

/** Unlike the rule's id, which is a key of stores, it changes with a node's prefix. */
const scopeOf = ({ scopeType, scopeValue }: TokenLimit, nameOf: LimitSources["nameOf"]): string => {
  if (scopeType === "global") return "global"
  const slash = scopeType === "model" ? scopeValue.indexOf("/") : scopeValue.length
  return `${scopeType}:${slash > 0 ? nameOf(scopeValue.slice(0, slash)) + scopeValue.slice(slash) : scopeValue}`
}

/** A model is named by its bare id, or by `<provider>/<id>` with any name of the provider. */
const withinOf = ({ scopeType, scopeValue }: TokenLimit, providerOf: LimitSources["providerOf"]): AmountRule["within"] => {
  if (scopeType === "global") return null
  if (scopeType === "provider") {
    const provider = providerOf(scopeValue) ?? scopeValue
    return (place) => place.provider === provider
  }
  const slash = scopeValue.indexOf("/")
  const provider = slash > 0 ? providerOf(scopeValue.slice(0, slash)) : null
  const model = scopeValue.slice(slash + 1)
  return provider === null
    ? (place) => place.model === scopeValue
    : (place) => place.model === scopeValue || (place.provider === provider && place.model === model)
}

const ratesOf = ({ policy }: LimitedKey, defaultPerDay: number): ReadonlyArray<RateRule> => {
  const pairs: Array<readonly [limit: number, seconds: number]> = []
  for (const { limit, window } of policy.rateLimits ?? []) pairs.push([limit, window])
  if (policy.maxRequestsPerMinute !== null && policy.maxRequestsPerMinute > 0) pairs.push([policy.maxRequestsPerMinute, 60])
  if (policy.maxRequestsPerDay !== null && policy.maxRequestsPerDay > 0) pairs.push([policy.maxRequestsPerDay, daySeconds])
  // N per day, 5N per week, 20N per month, for keys without rate limits of their own.
  if (pairs.length === 0 && defaultPerDay > 0) {
    pairs.push([defaultPerDay, daySeconds], [5 * defaultPerDay, 7 * daySeconds], [20 * defaultPerDay, 30 * daySeconds])
  }
  // Of several limits over one window the lowest is the one.
  const least = new Map<number, number>()
  for (const [limit, seconds] of pairs) least.set(seconds, Math.min(limit, least.get(seconds) ?? limit))
  return Array.from(least, ([seconds, limit]) => ({ id: `rate:${seconds}`, limit, windowMs: seconds * 1_000 }))
}
