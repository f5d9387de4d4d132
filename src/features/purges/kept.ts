/** From when on the ledger's rows of a key still count towards its limits. Pure. */
import { spanAt } from "#actors/limits/window.ts"
import type { LimitRules } from "#actors/limits/rules.ts"

/** ms since the epoch; null when no limit counts what the key used. */
export const countedSince = (rules: LimitRules | null, now: number): number | null => {
  if (rules === null) return null
  const since = [...rules.amounts.map(({ window }) => spanAt(window, now).start), ...rules.rates.map(({ windowMs }) => now - windowMs)]
  return since.length === 0 ? null : Math.min(...since)
}
