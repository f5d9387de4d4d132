/** Quota windows and tokens of connections as the management views show them. Pure. */
import { shownProvider, type Snapshot } from "#actors/ports/Configuration.ts"
import { type HeldReading, type QuotaLimits, remainingAt } from "#src/routing/ports/Quotas.ts"
import type { QuotaRow, TokenHealthView, TokenStatus } from "#src/features/quotas/api.ts"
import type { QuotaStatus, QuotaWindowView } from "./windowView.ts"
import type { Connection } from "#schemas/records/Connection.ts"
import { isExchanged, kindOf } from "#src/providers/credentialKind.ts"
import type { Registry } from "#src/providers/Registry.ts"

/** A token with less life is about to end, ms. */
const expiringMs = 15 * 60_000

const iso = (ms: number): string => new Date(ms).toISOString()
const round = (value: number): number => Math.round(value * 100) / 100

export const statusOf = (remaining: number, { cutoffPercent, warningPercent }: QuotaLimits): QuotaStatus =>
  remaining <= cutoffPercent ? "exhausted" : remaining <= warningPercent ? "warning" : "ok"

export const windowView = ({ model, reading }: HeldReading, limits: QuotaLimits, now: number): QuotaWindowView => {
  const remainingPercentage = round(remainingAt(reading, now))
  const total = reading.limit ?? (reading.remaining === null ? 100 : null)
  const remaining = total === null ? reading.remaining : reading.limit === null ? remainingPercentage : Math.round(total * remainingPercentage / 100)
  return {
    used: total === null || remaining === null ? null : round(total - remaining),
    total,
    remaining,
    remainingPercentage,
    resetAt: reading.resetsAt === null ? null : iso(reading.resetsAt),
    unlimited: false,
    model,
    status: statusOf(remainingPercentage, limits),
    cutoffPercent: limits.cutoffPercent,
    warningPercent: limits.warningPercent,
    seenAt: iso(reading.seenAt)
  }
}

type LimitsOf = (connectionId: string, window: string) => QuotaLimits

/** By window; one that counts a single model is named `<window>:<model>`. */
export const windowsOf = (held: ReadonlyArray<HeldReading>, limitsOf: LimitsOf, now: number): Record<string, QuotaWindowView> =>
  Object.fromEntries(held.map((one) => [
    one.model === null ? one.reading.name : `${one.reading.name}:${one.model}`, windowView(one, limitsOf(one.connectionId, one.reading.name), now)
  ]))

const endOf = ({ expiresAt, tokenExpiresAt }: Connection): number | null => {
  const at = Date.parse(tokenExpiresAt ?? expiresAt ?? "")
  return Number.isNaN(at) ? null : at
}

const tokenStatusOf = (connection: Connection, renewing: boolean, now: number): TokenStatus => {
  if (renewing) return "refreshing"
  if (connection.testStatus === "expired") return "expired"
  const end = endOf(connection)
  return end === null || end - now > expiringMs ? "valid" : end > now ? "expiring" : "expired"
}

/** The connection's own words for its plan. */
export const planOf = ({ providerSpecificData: { plan } }: Connection): string | null => typeof plan === "string" ? plan : null

/** `held`: of this connection, tightest first. */
export const rowOf = (snapshot: Snapshot, connection: Connection, held: ReadonlyArray<HeldReading>, limitsOf: LimitsOf, renewing: boolean, now: number): QuotaRow => {
  const [tightest] = held
  const view = tightest === undefined ? null : windowView(tightest, limitsOf(connection.id, tightest.reading.name), now)
  return {
    name: connection.name,
    provider: shownProvider(snapshot, connection.provider),
    connectionId: connection.id,
    window: tightest?.reading.name ?? null,
    quotaUsed: view?.used ?? null,
    quotaTotal: view?.total ?? null,
    percentRemaining: view?.remainingPercentage ?? null,
    resetAt: view?.resetAt ?? null,
    status: view?.status ?? null,
    tokenStatus: tokenStatusOf(connection, renewing, now)
  }
}

export interface TokenFacts {
  readonly renewing: (connectionId: string) => boolean
  readonly lastCheckAt: number | null
  readonly running: boolean
}

/** Of the active connections whose token is renewed: those with a sign-in. */
export const tokenHealth = (snapshot: Snapshot, registry: Registry, facts: TokenFacts, now: number): TokenHealthView => {
  const counts = { total: 0, healthy: 0, errored: 0, warning: 0 }
  for (const connection of snapshot.connections) {
    if (!connection.isActive || connection.authType !== "oauth") continue
    if (!isExchanged(kindOf(connection, registry.byId.get(connection.provider) ?? null)) && endOf(connection) === null) continue
    counts.total++
    const status = tokenStatusOf(connection, facts.renewing(connection.id), now)
    if (status === "expired") counts.errored++
    else if (status === "expiring" || connection.lastErrorSource === "oauth") counts.warning++
    else counts.healthy++
  }
  return {
    ...counts,
    lastCheckAt: facts.lastCheckAt === null ? null : iso(facts.lastCheckAt),
    status: counts.errored > 0 ? "error" : counts.warning > 0 ? "warning" : facts.running ? "healthy" : "disabled"
  }
}
