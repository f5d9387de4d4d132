/** The quota fields of a combo's health: the tightest window of each target, and its trend. Pure. */
import { type QuotaReading, type Quotas, remainingAt } from "#src/routing/ports/Quotas.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import type { ComboHealth, TargetHealth } from "./api.ts"
import type { QuotaSnapshot } from "#schemas/records/QuotaSnapshot.ts"
import { trendOf } from "#src/features/quotas/ports/snapshots.ts"

export type TargetQuota = Pick<TargetHealth, "quotaRemainingPct" | "quotaIsExhausted" | "quotaTrend" | "quotaScope">

const unknown: TargetQuota = { quotaRemainingPct: null, quotaIsExhausted: false, quotaTrend: null, quotaScope: null }

const keyOf = (connectionId: string, model: string | null, window: string): string => JSON.stringify([connectionId, model, window])

/** `history`: snapshots of the range, newest first. */
export const quotaOf = (
  quotas: Pick<Quotas["Service"], "windows" | "limitsOf">,
  history: ReadonlyArray<QuotaSnapshot>,
  now: number
): (target: Target) => TargetQuota => {
  const rows = Map.groupBy(history, (row) => keyOf(row.connectionId, row.model, row.windowKey))
  return (target) => {
    const { connection } = target
    if (connection === null) return unknown
    let tightest: QuotaReading | null = null
    for (const window of quotas.windows(target, now)) {
      if (tightest === null || remainingAt(window, now) < remainingAt(tightest, now)) tightest = window
    }
    if (tightest === null) return unknown
    const remaining = remainingAt(tightest, now)
    return {
      quotaRemainingPct: Math.round(remaining * 100) / 100,
      quotaIsExhausted: remaining <= quotas.limitsOf(connection.id, tightest.name).cutoffPercent,
      quotaTrend: trendOf(rows.get(keyOf(connection.id, tightest.scope === "model" ? target.model : null, tightest.name)) ?? []),
      quotaScope: tightest.scope
    }
  }
}

/** Over all targets; null while nothing is known of any. */
export const healthOf = (targets: ReadonlyArray<TargetQuota>): ComboHealth["quotaHealth"] => {
  const known = targets.flatMap(({ quotaRemainingPct }) => quotaRemainingPct ?? [])
  return known.length === 0 ? null : {
    known: known.length,
    exhausted: targets.filter(({ quotaIsExhausted }) => quotaIsExhausted).length,
    lowestRemainingPct: Math.min(...known),
    averageRemainingPct: Math.round(known.reduce((sum, one) => sum + one, 0) / known.length * 100) / 100
  }
}
