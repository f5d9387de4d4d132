import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import type { AmountRule } from "#actors/limits/rules.ts"
import { unitsPerUsd } from "#actors/limits/rules.ts"
import { minutesOf } from "#actors/limits/window.ts"
import { BudgetStore } from "#actors/limits/ports/LimitRecords.ts"
import { type AmountStatus, Limits } from "#actors/limits/ports/Limits.ts"
import { RecordLocks } from "#actors/ports/RecordLocks.ts"
import { KeyStore } from "#actors/ports/Stores.ts"
import { type BudgetInput, type BudgetStatus, BudgetsGroup } from "./api.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import type { Budget } from "#schemas/records/Limits.ts"
import { answer } from "#src/management/answer.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import * as Surface from "#src/management/Surface.ts"

/** Keys without a budget in one answer without `apiKeyId`: the newest. */
const maxKeys = 1_000

/** Permanent keys of the environment have no record. */
const isPermanent = (apiKeyId: string): boolean => apiKeyId.startsWith("env:")

const none = (apiKeyId: string): Budget => ({
  apiKeyId, dailyLimitUsd: 0, weeklyLimitUsd: 0, monthlyLimitUsd: 0, warningThreshold: 0.8, resetInterval: "daily", resetTime: "00:00",
  createdAt: "", updatedAt: ""
})

const termsOf = ({ apiKeyId: _id, createdAt: _created, updatedAt: _updated, ...terms }: Budget) => terms

const limitOf = (budget: Budget, interval: Budget["resetInterval"]): number =>
  interval === "daily" ? budget.dailyLimitUsd : interval === "weekly" ? budget.weeklyLimitUsd : budget.monthlyLimitUsd

const intervals = ["daily", "weekly", "monthly"] as const

/** The three periods of a budget, limited or not: their use is shown either way. */
const rulesOf = (budget: Budget): ReadonlyArray<AmountRule> => {
  const minutes = minutesOf(budget.resetTime)
  return intervals.map((interval) => ({
    id: `budget:${interval}:${minutes}`, kind: "usd", quota: "budget", scope: interval, within: null, window: { interval, minutes },
    limit: Math.round(limitOf(budget, interval) * unitsPerUsd)
  }))
}

const iso = (ms: number): string => new Date(ms).toISOString()
const usdOf = ({ used }: AmountStatus): number => used / unitsPerUsd

export const viewOf = (budget: Budget, name: string | null, [daily, weekly, monthly]: readonly [AmountStatus, AmountStatus, AmountStatus]): BudgetStatus => {
  const { resetInterval, resetTime, warningThreshold } = budget
  const period = resetInterval === "daily" ? daily : resetInterval === "weekly" ? weekly : monthly
  const activeLimitUsd = limitOf(budget, resetInterval)
  const exceeded = [daily, weekly, monthly].find(({ rule, used }) => rule.limit > 0 && used >= rule.limit)
  const periodUsed = usdOf(period)
  const periodStartAt = iso(period.start)
  const nextResetAt = iso(period.end)
  return {
    apiKeyId: budget.apiKeyId, apiKeyName: name, ...termsOf(budget),
    totalCostToday: usdOf(daily), totalCostMonth: usdOf(monthly), totalCostPeriod: periodUsed, activeLimitUsd, nextResetAt, periodStartAt,
    budgetCheck: {
      allowed: exceeded === undefined,
      ...(exceeded === undefined ? {} : {
        reason: `The ${exceeded.rule.window.interval} budget is used up: ${usdOf(exceeded).toFixed(6)} of ${(exceeded.rule.limit / unitsPerUsd).toFixed(6)} USD`
      }),
      dailyUsed: usdOf(daily), dailyLimit: budget.dailyLimitUsd,
      warningReached: [daily, weekly, monthly].some(({ rule, used }) => rule.limit > 0 && used >= warningThreshold * rule.limit),
      remaining: activeLimitUsd > 0 ? Math.max(0, activeLimitUsd - periodUsed) : null,
      periodUsed, activeLimitUsd, resetInterval, resetTime, budgetResetAt: nextResetAt, lastBudgetResetAt: periodStartAt, periodStartAt,
      reservedUsd: Math.max(daily.reserved, weekly.reserved, monthly.reserved) / unitsPerUsd,
      unsettledUsd: Math.max(daily.unsettled, weekly.unsettled, monthly.unsettled) / unitsPerUsd
    }
  }
}

export const layer = HttpApiBuilder.group(Surface.make(BudgetsGroup), "budgets", Effect.fn(function*(handlers) {
  const audit = yield* Audit
  const keys = yield* KeyStore
  const limits = yield* Limits
  const store = yield* BudgetStore
  // A change keeps the fields that others change at the same time.
  const locked = (yield* RecordLocks).of("budgets")

  const statusOf = (apiKeyId: string, name: string | null) => {
    const budget = limits.budgets().get(apiKeyId) ?? none(apiKeyId)
    return Effect.map(limits.status(apiKeyId, rulesOf(budget)), (statuses) =>
      viewOf(budget, name, statuses as unknown as readonly [AmountStatus, AmountStatus, AmountStatus]))
  }

  const one = Effect.fnUntraced(function*(apiKeyId: string) {
    const key = yield* keys.get(apiKeyId)
    if (key === null && !limits.budgets().has(apiKeyId)) return yield* Effect.fail(Refusal.notFound("Key not found"))
    return yield* statusOf(apiKeyId, key?.name ?? null)
  })

  /** The newest keys, and every key that has a budget: an older one, or one of the environment. */
  const all = Effect.gen(function*() {
    const { keys: rows } = yield* keys.list(maxKeys, 0)
    const names = new Map<string, string | null>(rows.map(({ id, name }) => [id, name]))
    const others = Array.from(limits.budgets().keys()).filter((id) => !names.has(id))
    for (const { id, name } of yield* keys.some(others)) names.set(id, name)
    for (const id of others) if (isPermanent(id)) names.set(id, null)
    return { budgets: yield* Effect.forEach(names, ([id, name]) => statusOf(id, name), { concurrency: 4 }) }
  })

  const set = Effect.fnUntraced(function*({ apiKeyId, ...input }: BudgetInput) {
    if (!isPermanent(apiKeyId) && (yield* keys.get(apiKeyId)) === null) return yield* Effect.fail(Refusal.invalidField("apiKeyId", "No such key"))
    const at = iso(yield* Clock.currentTimeMillis)
    const standing = (yield* store.list).find((budget) => budget.apiKeyId === apiKeyId)
    const budget: Budget = { ...none(apiKeyId), createdAt: at, ...standing, ...input, apiKeyId, updatedAt: at }
    if (intervals.every((interval) => limitOf(budget, interval) === 0)) {
      return yield* Effect.fail(Refusal.invalidField("dailyLimitUsd", "At least one of dailyLimitUsd, weeklyLimitUsd and monthlyLimitUsd must be above 0; DELETE takes the budget away"))
    }
    yield* store.put(budget)
    return termsOf(budget)
  })

  const put = Effect.fn("Budgets.put")(function*(input: BudgetInput) {
    const { apiKeyId } = input
    const budget = yield* locked(set(input))
    yield* limits.reload
    yield* audit.note({ action: "budget.set", target: apiKeyId, resourceType: "budget", details: budget })
    return { success: true as const, apiKeyId, budget }
  })

  const remove = Effect.fn("Budgets.remove")(function*(apiKeyId: string) {
    if (!(yield* locked(store.remove(apiKeyId)))) return yield* Effect.fail(Refusal.notFound("This key has no budget"))
    yield* limits.reload
    yield* audit.note({ action: "budget.deleted", target: apiKeyId, resourceType: "budget" })
    return { success: true as const }
  })

  return handlers.handleAll({
    read: ({ query }) => answer<BudgetStatus | { readonly budgets: ReadonlyArray<BudgetStatus> }, never>(query.apiKeyId === undefined ? all : one(query.apiKeyId)),
    put: ({ payload }) => answer(put(payload)),
    remove: ({ query }) => answer(remove(query.apiKeyId))
  })
}))
