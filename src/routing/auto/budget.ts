/** The budget of one request removes candidates above it; when all are, the cheapest stays, or none with `strict`. */
import type { ComboConfig } from "#schemas/records/Combo.ts"
import type { Candidate, Moment, Skipped } from "#src/routing/models/candidate.ts"
import { narrow, type Filtered } from "#src/routing/strategies/filter.ts"
import { estimatedCost } from "#src/routing/strategies/price.ts"

/** With `strict` an order may become empty: the client is answered 402. The cap is in USD, and absent means none. */
export const withinBudget = (from: Filtered, config: ComboConfig, { answerTokens = null, promptTokens }: Moment): Filtered => {
  const { budgetCap } = config
  if (budgetCap === undefined || from.available.length === 0) return from
  const costOf = ({ target }: Candidate): number => estimatedCost(target, promptTokens, answerTokens)
  const costs = from.available.map(costOf)
  const cheapest = from.available[costs.indexOf(Math.min(...costs))] as Candidate
  // When any candidate is within the budget, the cheapest is, too.
  const spares = config.budgetFallback !== "strict"
  return narrow(from, (candidate): Skipped["unavailable"] | null => {
    const cost = costOf(candidate)
    if (cost <= budgetCap || (spares && candidate === cheapest)) return null
    return { reason: "over-budget", until: null, detail: `The request is estimated at ${cost.toFixed(6)} USD; the budget is ${budgetCap} USD.` }
  })
}

/** True when a strict budget removed every candidate: 402 rather than 503. */
export const emptiedByBudget = (order: { readonly order: ReadonlyArray<Candidate>; readonly skipped: ReadonlyArray<Skipped> }): boolean =>
  order.order.length === 0 && order.skipped.some(({ unavailable }) => unavailable.reason === "over-budget")
