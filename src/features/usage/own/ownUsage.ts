/** The usage that a key may read of itself: its USD limits, budgets, token limits and provider quotas, as JSON and as text. */
import * as Effect from "effect/Effect"
import type { AmountStatus, Limits } from "#actors/limits/ports/Limits.ts"
import type { AmountRule } from "#actors/limits/rules.ts"
import { unitsPerUsd } from "#actors/limits/rules.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import type { OwnQuota, Personal, SelfUsage } from "./api.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import * as OwnQuotas from "./ownQuotas.ts"

const iso = (ms: number): string => new Date(ms).toISOString()
const usdOf = (units: number): number => units / unitsPerUsd

/** The two windows of 8.5, limited or not: what was spent in them is shown either way. */
const usdRules: ReadonlyArray<AmountRule> = (["daily", "weekly"] as const).map((interval) => ({
  id: `${interval}_usd:${interval}:180`, kind: "usd", quota: interval === "daily" ? "daily_usd" : "weekly_usd", scope: interval, within: null,
  window: { interval, minutes: 180 }, limit: 0
}))

const personalOf = ({ policy }: ApiKey, [daily, weekly]: ReadonlyArray<AmountStatus>): Personal | null => {
  if (!policy.usageLimitEnabled || daily === undefined || weekly === undefined) return null
  const dailyLimitUsd = policy.dailyUsageLimitUsd
  const weeklyLimitUsd = policy.weeklyUsageLimitUsd
  const dailySpentUsd = usdOf(daily.used)
  const weeklySpentUsd = usdOf(weekly.used)
  return {
    enabled: true, dailyLimitUsd, weeklyLimitUsd, dailySpentUsd, weeklySpentUsd,
    dailyWindowStartIso: iso(daily.start), dailyResetAtIso: iso(daily.end),
    weeklyWindowStartIso: iso(weekly.start), weeklyResetAtIso: iso(weekly.end),
    dailyExceeded: dailyLimitUsd !== null && dailyLimitUsd > 0 && dailySpentUsd >= dailyLimitUsd,
    weeklyExceeded: weeklyLimitUsd !== null && weeklyLimitUsd > 0 && weeklySpentUsd >= weeklyLimitUsd
  }
}

/** Where it is read from; configuration and quotas as they stand at the moment of reading. */
export interface ReportSources {
  readonly limits: Limits["Service"]
  readonly quotas: () => OwnQuotas.QuotaSources
}

export const read = ({ limits, quotas }: ReportSources, key: ApiKey, now: number): Effect.Effect<SelfUsage, StoreError> =>
  Effect.gen(function*() {
    const usd = yield* limits.status(key.id, usdRules)
    const others = limits.rulesOf(key).filter(({ quota }) => quota === "budget" || quota === "token_limit")
    const rest = others.length === 0 ? [] : yield* limits.status(key.id, others)
    const personal = personalOf(key, usd)
    const [daily, weekly] = usd
    const rules = limits.of(key)?.rules
    const providers = OwnQuotas.of(quotas(), key, now)
    return {
      allowed: true,
      name: key.name,
      ...(personal === null ? {} : { personal }),
      limits: rest.map(({ end, rule, used }) => ({
        kind: rule.kind, scope: rule.scope, interval: rule.window.interval,
        used: rule.kind === "usd" ? usdOf(used) : used, limit: rule.kind === "usd" ? usdOf(rule.limit) : rule.limit, resetAtIso: iso(end)
      })),
      spent: { dailyUsd: usdOf(daily?.used ?? 0), weeklyUsd: usdOf(weekly?.used ?? 0) },
      rates: (rules?.rates ?? []).map(({ limit, windowMs }) => ({ limit, windowSeconds: windowMs / 1_000 })),
      maxSessions: rules?.maxSessions ?? 0,
      provider: OwnQuotas.selected(providers),
      providers,
      generatedAtIso: iso(now)
    }
  })

/** `9m`, `3h`, `1d`: rounded up, so that it is never too early. */
const untilText = (ms: number): string => {
  const minutes = Math.max(1, Math.ceil(ms / 60_000))
  return minutes < 60 ? `${minutes}m` : minutes < 1_440 ? `${Math.ceil(minutes / 60)}h` : `${Math.ceil(minutes / 1_440)}d`
}

/** `90s`, `1m`, `1d`: the largest unit in which it is whole. */
const windowText = (seconds: number): string => {
  for (const [unit, length] of [["d", 86_400], ["h", 3_600], ["m", 60]] as const) if (seconds % length === 0) return `${seconds / length}${unit}`
  return `${seconds}s`
}

const percent = (used: number, limit: number): string => `${Math.min(999, Math.round(used / limit * 100))}% used`
const money = (usd: number): string => `$${usd.toFixed(usd < 1 ? 4 : 2)}`

const windowLines = (label: string, used: number, limit: number, shown: (amount: number) => string, resetAtIso: string, now: number): ReadonlyArray<string> =>
  [label, percent(used, limit), `Resets in ${untilText(Date.parse(resetAtIso) - now)}`, "Limit", `${shown(used)} of ${shown(limit)}`]

/** Connections of one provider are distinguished by their number: holders of keys must not see names. */
const quotaBlocks = (providers: ReadonlyArray<OwnQuota>, now: number): ReadonlyArray<ReadonlyArray<string>> =>
  providers.flatMap(({ connectionId, provider, quotas }) => {
    const same = providers.filter((other) => other.provider === provider)
    const name = same.length === 1 ? provider : `${provider} #${same.findIndex((other) => other.connectionId === connectionId) + 1}`
    return Object.entries(quotas).map(([window, { remainingPercentage, resetAt }]) => [
      `Quota (${name}, ${window})`, percent(100 - remainingPercentage, 100), ...(resetAt === null ? [] : [`Resets in ${untilText(Date.parse(resetAt) - now)}`])
    ])
  })

/** A plan block, a usage block, then each window. */
export const text = (usage: SelfUsage): string => {
  const now = Date.parse(usage.generatedAtIso)
  const { maxSessions, personal, spent } = usage
  const plans = usage.providers.flatMap(({ plan, provider }) => plan === null ? [] : [`${provider}: ${plan}`])
  const isLimited = personal !== undefined || usage.limits.length > 0 || usage.rates.length > 0 || maxSessions > 0
  const blocks: Array<ReadonlyArray<string>> = [
    ["Plan", `API key ${usage.name}`, ...new Set(plans)],
    ["Usage", `Today ${money(spent.dailyUsd)}, this week ${money(spent.weeklyUsd)}`, ...(isLimited ? [] : ["No limits are set for this key."])]
  ]
  if (personal !== undefined) {
    if (personal.dailyLimitUsd !== null && personal.dailyLimitUsd > 0) {
      blocks.push(windowLines("Daily limit", personal.dailySpentUsd, personal.dailyLimitUsd, money, personal.dailyResetAtIso, now))
    }
    if (personal.weeklyLimitUsd !== null && personal.weeklyLimitUsd > 0 && personal.weeklyResetAtIso !== null) {
      blocks.push(windowLines("Weekly limit", personal.weeklySpentUsd, personal.weeklyLimitUsd, money, personal.weeklyResetAtIso, now))
    }
  }
  for (const limit of usage.limits) {
    const shown = limit.kind === "usd" ? money : (amount: number) => `${amount} tokens`
    const label = limit.kind === "usd" ? `Budget (${limit.interval})` : `Tokens (${limit.scope}, ${limit.interval})`
    blocks.push(windowLines(label, limit.used, limit.limit, shown, limit.resetAtIso, now))
  }
  for (const { limit, windowSeconds } of usage.rates) blocks.push(["Requests", `${limit} in ${windowText(windowSeconds)}`])
  if (maxSessions > 0) blocks.push(["Sessions", `${maxSessions} at once`])
  blocks.push(...quotaBlocks(usage.providers, now))
  return `${blocks.map((lines) => lines.join("\n")).join("\n\n")}\n`
}
