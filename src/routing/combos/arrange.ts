/** The order of an expansion with groups: each combo's strategy orders its own entries, from the inside out. Pure. */
import type { Combo } from "#schemas/records/Combo.ts"
import type { Candidate, Order, Skipped } from "#src/routing/candidate.ts"
import { type Expansion, isGroup } from "#src/routing/combos/expand.ts"

/** One combo's strategy over its own entries; the caller keeps the memory that the order brings, by combo. */
export type OrderOf = (combo: Combo, candidates: ReadonlyArray<Candidate>) => Order

/** One place of the final order. */
export interface Placement {
  readonly candidate: Candidate
  /**
   * Each combo whose strategy put it there, outermost first, with the candidate that stood for it: what `succeeded` of that
   * strategy is told when this target answers.
   */
  readonly chain: ReadonlyArray<{ readonly combo: Combo; readonly candidate: Candidate }>
}

export interface Arranged {
  readonly order: ReadonlyArray<Placement>
  readonly skipped: ReadonlyArray<Skipped>
}

/**
 * A group stands in the outer order as the best of its own candidates, under its own key, step and weight, and is replaced by
 * all of them afterwards. A group with nothing available is left out, so that a draw never falls on it.
 */
export const arrange = (expansion: Expansion, orderOf: OrderOf): Arranged => {
  const inner = new Map<string, ReadonlyArray<Placement>>()
  const flat: Array<Candidate> = []
  const skipped: Array<Skipped> = [...expansion.excluded]
  for (const entry of expansion.entries) {
    if (!isGroup(entry)) {
      flat.push(entry)
      continue
    }
    const arranged = arrange(entry.expansion, orderOf)
    skipped.push(...arranged.skipped)
    const best = arranged.order[0]
    if (best === undefined) continue
    inner.set(entry.executionKey, arranged.order)
    const { executionKey, stepId, weight } = entry
    flat.push({ ...best.candidate, executionKey, stepId, weight, label: entry.label ?? best.candidate.label })
  }
  const { combo } = expansion
  const ordered = orderOf(combo, flat)
  for (const one of ordered.skipped) {
    const group = inner.get(one.candidate.executionKey)
    if (group === undefined) skipped.push(one)
    else for (const { candidate } of group) skipped.push({ candidate, unavailable: one.unavailable })
  }
  const order = ordered.order.flatMap((candidate): ReadonlyArray<Placement> => {
    const group = inner.get(candidate.executionKey)
    return group === undefined
      ? [{ candidate, chain: [{ combo, candidate }] }]
      : group.map((placed) => ({ candidate: placed.candidate, chain: [{ combo, candidate }, ...placed.chain] }))
  })
  return { order, skipped }
}
