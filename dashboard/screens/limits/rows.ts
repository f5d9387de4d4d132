/** Everything that limits, as rows of one list: money, tokens, rates, sessions of keys, and what vendors leave of a connection. Pure. */
import type { Answer } from "../../api/contract.ts"
import { count, money, percent, tokens } from "../../format/numbers.ts"
import type { Key } from "../keys/sentence.ts"

export type Budget = Extract<Answer<"GET /api/usage/budget">, { readonly budgets: unknown }>["budgets"][number]
export type TokenLimit = Answer<"GET /api/usage/token-limits">["limits"][number]

export const kinds = { budget: "Budget", tokens: "Tokens", rate: "Rate", sessions: "Sessions", quota: "Quota of a vendor" } as const
export type Kind = keyof typeof kinds

export interface Row {
  readonly id: string
  readonly kind: Kind
  /** The key or connection that it binds. */
  readonly whose: string
  readonly what: string
  readonly unit: "usd" | "tokens" | "requests" | "sessions" | "percent"
  /** Null: not known to this page. */
  readonly used: number | null
  readonly limit: number
  /** Held by requests in flight; counts as used. */
  readonly reserved: number
  /** Held by nodes that were killed, until the truth is known; counts as used. */
  readonly unsettled: number
  readonly resetAt: string | null
  readonly isOff: boolean
  /** What it came from, when this screen can change it. */
  readonly budget: Budget | null
  readonly tokenLimit: TokenLimit | null
  readonly keyId: string | null
}

export interface Seen {
  readonly keys: ReadonlyArray<Key>
  readonly budgets: ReadonlyArray<Budget>
  readonly tokenLimits: ReadonlyArray<TokenLimit>
  readonly sessions: Readonly<Record<string, number>>
  readonly quotas: Answer<"GET /api/usage/quota">["providers"]
}

const bare = { reserved: 0, unsettled: 0, resetAt: null, isOff: false, budget: null, tokenLimit: null, keyId: null }
const periods = { daily: "day", weekly: "week", monthly: "month" } as const

const ofBudget = (budget: Budget, name: string): ReadonlyArray<Row> => {
  const { budgetCheck } = budget
  const row = (interval: keyof typeof periods, limit: number, used: number | null, isActive: boolean): ReadonlyArray<Row> => limit <= 0 ? [] : [{
    ...bare, id: `budget ${budget.apiKeyId} ${interval}`, kind: "budget", whose: name, what: `Money a ${periods[interval]}`, unit: "usd", used, limit, budget, keyId: budget.apiKeyId,
    // The gateway tells what is held and when it begins anew for the budget's own period.
    ...(isActive ? { reserved: budgetCheck.reservedUsd, unsettled: budgetCheck.unsettledUsd, resetAt: budget.nextResetAt } : {})
  }]
  const own = budget.resetInterval
  return [
    ...row("daily", budget.dailyLimitUsd, own === "daily" ? budget.totalCostPeriod : budget.totalCostToday, own === "daily"),
    ...row("weekly", budget.weeklyLimitUsd, own === "weekly" ? budget.totalCostPeriod : null, own === "weekly"),
    ...row("monthly", budget.monthlyLimitUsd, own === "monthly" ? budget.totalCostPeriod : budget.totalCostMonth, own === "monthly")
  ]
}

const scopeOf = ({ scopeType, scopeValue }: TokenLimit): string => scopeType === "global" ? "anywhere" : `at ${scopeValue}`

const windowOf = (seconds: number): string => seconds === 60 ? "minute" : seconds === 3_600 ? "hour" : seconds === 86_400 ? "day" : `${count(seconds)} s`

const ofKey = (key: Key, sessions: Seen["sessions"]): ReadonlyArray<Row> => {
  const rate = (limit: number, seconds: number): Row => ({ ...bare, id: `rate ${key.id} ${limit} ${seconds}`, kind: "rate", whose: key.name, what: `Requests a ${windowOf(seconds)}`, unit: "requests", used: null, limit, keyId: key.id })
  return [
    ...(key.usageLimitEnabled && key.dailyUsageLimitUsd !== null ? [{ ...bare, id: `own day ${key.id}`, kind: "budget" as const, whose: key.name, what: "Money a day, of the key itself", unit: "usd" as const, used: null, limit: key.dailyUsageLimitUsd, keyId: key.id }] : []),
    ...(key.usageLimitEnabled && key.weeklyUsageLimitUsd !== null ? [{ ...bare, id: `own week ${key.id}`, kind: "budget" as const, whose: key.name, what: "Money a week, of the key itself", unit: "usd" as const, used: null, limit: key.weeklyUsageLimitUsd, keyId: key.id }] : []),
    ...(key.rateLimits ?? []).map(({ limit, window }) => rate(limit, window)),
    ...(key.maxRequestsPerMinute === null || key.maxRequestsPerMinute <= 0 ? [] : [rate(key.maxRequestsPerMinute, 60)]),
    ...(key.maxRequestsPerDay === null || key.maxRequestsPerDay <= 0 ? [] : [rate(key.maxRequestsPerDay, 86_400)]),
    ...(key.maxSessions <= 0 ? [] : [{
      ...bare, id: `sessions ${key.id}`, kind: "sessions" as const, whose: key.name, what: "Sessions at once", unit: "sessions" as const, used: sessions[key.id] ?? 0, limit: key.maxSessions, keyId: key.id
    }])
  ]
}

export const rowsOf = ({ budgets, keys, quotas, sessions, tokenLimits }: Seen): ReadonlyArray<Row> => {
  const names = new Map(keys.map(({ id, name }) => [id, name]))
  const nameOf = (id: string): string => names.get(id) ?? id
  return [
    ...budgets.flatMap((budget) => ofBudget(budget, budget.apiKeyName ?? nameOf(budget.apiKeyId))),
    ...tokenLimits.map((limit): Row => ({
      ...bare, id: `tokens ${limit.id}`, kind: "tokens", whose: nameOf(limit.apiKeyId), what: `Tokens a ${periods[limit.resetInterval]}, ${scopeOf(limit)}`, unit: "tokens",
      used: limit.tokensUsed, limit: limit.tokenLimit, reserved: limit.reserved, unsettled: limit.unsettled, resetAt: limit.nextResetAt, isOff: !limit.enabled, tokenLimit: limit, keyId: limit.apiKeyId
    })),
    ...keys.flatMap((key) => ofKey(key, sessions)),
    ...quotas.flatMap((quota): ReadonlyArray<Row> => quota.window === null ? [] : [{
      ...bare, id: `quota ${quota.connectionId} ${quota.window}`, kind: "quota", whose: quota.name, what: `${quota.provider}, window ${quota.window}`,
      ...(quota.quotaTotal === null ? { unit: "percent" as const, used: quota.percentRemaining === null ? null : 100 - quota.percentRemaining, limit: 100 } : { unit: "requests" as const, used: quota.quotaUsed, limit: quota.quotaTotal }),
      resetAt: quota.resetAt
    }])
  ]
}

export const shown = (value: number | null, unit: Row["unit"]): string =>
  value === null ? "–" : unit === "usd" ? money(value) : unit === "tokens" ? tokens(value) : unit === "percent" ? percent(value / 100) : count(value)

/** Part of the limit that is gone: used, held and unsettled; null where the use is not known. */
export const shareOf = ({ limit, reserved, unsettled, used }: Row): number | null => used === null || limit === 0 ? null : (used + reserved + unsettled) / limit

export interface Question {
  readonly keyId: string
  /** Of the model that is asked: its provider, its bare id and its name in full. */
  readonly provider: string
  readonly model: string
  readonly tokens: number
  /** Null: the model has no price. */
  readonly costUsd: number | null
}

export interface Verdict {
  readonly row: Row
  /** Null: the page does not know how much is used. */
  readonly passes: boolean | null
  /** In the row's unit; negative: so much is missing. */
  readonly left: number | null
}

const counts = (row: Row, { model, provider }: Question): boolean => {
  const limit = row.tokenLimit
  if (limit === null || limit.scopeType === "global") return true
  return limit.scopeType === "provider" ? limit.scopeValue === provider : limit.scopeValue === model || limit.scopeValue === `${provider}/${model}`
}

/** What each limit that binds the key would say to one request of so many tokens. Vendors' quotas bind connections, not keys. */
export const verdicts = (rows: ReadonlyArray<Row>, question: Question): ReadonlyArray<Verdict> =>
  rows.filter((row) => row.keyId === question.keyId && !row.isOff && counts(row, question)).map((row): Verdict => {
    const needs = row.unit === "usd" ? question.costUsd ?? 0 : row.unit === "tokens" ? question.tokens : row.unit === "sessions" ? 0 : 1
    if (row.used === null) return { row, passes: needs <= row.limit ? null : false, left: null }
    const left = row.limit - row.used - row.reserved - row.unsettled - needs
    return { row, passes: left >= 0, left }
  })
