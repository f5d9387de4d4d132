/** Everything that blocks and ends by itself, on one clock: the first to end first. Pure. */
import type { Answer } from "../../api/contract.ts"
import { money } from "../../format/numbers.ts"

export interface Healing {
  readonly id: string
  /** `Breaker`, `Lockout`, `Rest`, `Budget`, `Quota`, `Lease`. */
  readonly kind: string
  readonly what: string
  readonly why: string
  /** ms since the epoch. */
  readonly until: number
  /** A model whose requests it concerns; null where it is no single one. */
  readonly model: string | null
}

export interface Blocks {
  readonly resilience?: Answer<"GET /api/resilience"> | undefined
  /** When the breakers were read, ms since the epoch by the gateway's clock: they tell what is left. */
  readonly readAt: number
  readonly lockouts?: Answer<"GET /api/resilience/model-cooldowns"> | undefined
  readonly places?: Answer<"GET /api/rate-limits"> | undefined
  readonly budgets?: Answer<"GET /api/usage/budget"> | undefined
  readonly quotas?: Answer<"GET /api/usage/quota"> | undefined
  readonly leases?: Answer<"GET /api/leases"> | undefined
}

const nameOf = (provider: string, model: string): string => model.startsWith(`${provider}/`) ? model : `${provider}/${model}`

export const healingOf = ({ budgets, leases, lockouts, places, quotas, readAt, resilience }: Blocks, now: number): ReadonlyArray<Healing> => [
  ...(resilience?.breakers ?? []).flatMap((breaker): ReadonlyArray<Healing> => breaker.retryAfterMs <= 0 ? [] : [{
    id: `breaker ${breaker.provider} ${breaker.model ?? ""}`, kind: "Breaker", what: breaker.model === null ? breaker.provider : nameOf(breaker.provider, breaker.model),
    why: `${breaker.failures} failures in a row; then one request tries`, until: readAt + breaker.retryAfterMs, model: breaker.model === null ? null : nameOf(breaker.provider, breaker.model)
  }]),
  ...(lockouts?.items ?? []).map((item): Healing => ({
    id: `lockout ${item.provider} ${item.model} ${item.connectionId ?? ""}`, kind: "Lockout", what: nameOf(item.provider, item.model), why: item.reason, until: Date.parse(item.until), model: nameOf(item.provider, item.model)
  })),
  ...(places?.connections ?? []).flatMap((place): ReadonlyArray<Healing> => place.rateLimitedUntil === null ? [] : [{
    id: `rest ${place.connectionId}`, kind: "Rest", what: `Connection ${place.name} of ${place.provider}`, why: place.reason ?? "The provider refused a call.", until: Date.parse(place.rateLimitedUntil), model: null
  }]),
  ...(budgets === undefined ? [] : "budgets" in budgets ? budgets.budgets : [budgets]).flatMap((budget): ReadonlyArray<Healing> => budget.budgetCheck.allowed ? [] : [{
    id: `budget ${budget.apiKeyId}`, kind: "Budget", what: `Key ${budget.apiKeyName ?? budget.apiKeyId}`, why: `${money(budget.totalCostPeriod)} of ${money(budget.activeLimitUsd)} are spent`, until: Date.parse(budget.nextResetAt), model: null
  }]),
  ...(quotas?.providers ?? []).flatMap((quota): ReadonlyArray<Healing> => quota.status !== "exhausted" || quota.resetAt === null ? [] : [{
    id: `quota ${quota.connectionId} ${quota.window ?? ""}`, kind: "Quota", what: `Connection ${quota.name} of ${quota.provider}`, why: `The vendor's quota${quota.window === null ? "" : ` (${quota.window})`} is used up`, until: Date.parse(quota.resetAt), model: null
  }]),
  ...(leases?.leases ?? []).map((lease): Healing => ({
    id: `lease ${lease.connectionId}`, kind: "Lease", what: `Connection ${lease.connection ?? lease.connectionId}`, why: `${lease.keyName ?? lease.keyId} holds it, and may renew`, until: Date.parse(lease.expiresAt), model: null
  }))
].filter(({ until }) => until > now).sort((a, b) => a.until - b.until || (a.id < b.id ? -1 : 1))

/** Place on the clock between now and the last end, 0 to 1: seconds and days stand on one line. */
export const placeOf = (until: number, now: number, last: number): number => last <= now ? 1 : Math.min(1, Math.max(0, Math.log1p((until - now) / 1_000) / Math.log1p((last - now) / 1_000)))
