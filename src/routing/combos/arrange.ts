/** The order of an expansion with groups: each combo's strategy orders its own entries, from the inside out. Pure. */
import type { Combo } from "#schemas/records/Combo.ts"
import type { Candidate, Order, Relaxed, Skipped } from "#src/routing/models/candidate.ts"
import { type ExpandedEntry, type Expansion, isGroup } from "#src/routing/combos/expand.ts"

/** One combo's strategy over its own entries; the caller keeps the memory that the order brings, by combo. */
export type OrderOf = (combo: Combo, candidates: ReadonlyArray<Candidate>) => Order

/** One place of the final order. */
export interface ComboPlacement {
  readonly candidate: Candidate
  /**
   * Each combo whose strategy put it there, outermost first, with its candidate there: the argument of that strategy's
   * `succeeded` when this target answers.
   */
  readonly chain: ReadonlyArray<{ readonly combo: Combo; readonly candidate: Candidate }>
}

export interface Arranged {
  readonly order: ReadonlyArray<ComboPlacement>
  /** The candidates at those places. */
  readonly candidates: ReadonlyArray<Candidate>
  readonly skipped: ReadonlyArray<Skipped>
  /** Filters of any of its combos that would have left no target. */
  readonly relaxed: ReadonlyArray<Relaxed>
}

const none: ReadonlyArray<Relaxed> = []

/** Places of expansions whose every candidate is asked as listed, which is what most requests get: made once. */
const listed = new WeakMap<ReadonlyArray<Candidate>, ReadonlyArray<ComboPlacement>>()

const placed = (combo: Combo, candidates: ReadonlyArray<Candidate>): ReadonlyArray<ComboPlacement> =>
  candidates.map((candidate) => ({ candidate, chain: [{ combo, candidate }] }))

const hasNoGroup = (entries: Expansion["entries"]): entries is ReadonlyArray<Candidate> => {
  for (let i = 0; i < entries.length; i++) if (isGroup(entries[i] as ExpandedEntry)) return false
  return true
}

/** An expansion of single targets, as its strategy orders it. */
const arrangeFlat = ({ combo, excluded }: Expansion, entries: ReadonlyArray<Candidate>, orderOf: OrderOf): Arranged => {
  const { order: candidates, relaxed = none, skipped } = orderOf(combo, entries)
  let order = candidates === entries ? listed.get(entries) : placed(combo, candidates)
  if (order === undefined) listed.set(entries, order = placed(combo, candidates))
  return { order, candidates, skipped: excluded.length === 0 ? skipped : skipped.length === 0 ? excluded : [...excluded, ...skipped], relaxed }
}

/**
 * A group stands in the outer order as the best of its own candidates, under its own key, step and weight, and is replaced by
 * all of them afterwards. A group with nothing available is left out, so that a draw never falls on it.
 */
export const arrange = (expansion: Expansion, orderOf: OrderOf): Arranged => {
  if (hasNoGroup(expansion.entries)) return arrangeFlat(expansion, expansion.entries, orderOf)
  const inner = new Map<string, ReadonlyArray<ComboPlacement>>()
  const flat: Array<Candidate> = []
  const skipped: Array<Skipped> = [...expansion.excluded]
  const relaxed = new Set<Relaxed>()
  for (const entry of expansion.entries) {
    if (!isGroup(entry)) {
      flat.push(entry)
      continue
    }
    const arranged = arrange(entry.expansion, orderOf)
    skipped.push(...arranged.skipped)
    for (const one of arranged.relaxed) relaxed.add(one)
    const best = arranged.order[0]
    if (best === undefined) continue
    inner.set(entry.executionKey, arranged.order)
    const { executionKey, stepId, weight } = entry
    flat.push({ ...best.candidate, executionKey, stepId, turn: executionKey, weight, label: entry.label ?? best.candidate.label })
  }
  const { combo } = expansion
  const ordered = orderOf(combo, flat)
  for (const one of ordered.relaxed ?? []) relaxed.add(one)
  for (const one of ordered.skipped) {
    const group = inner.get(one.candidate.executionKey)
    if (group === undefined) skipped.push(one)
    else for (const { candidate } of group) skipped.push({ candidate, unavailable: one.unavailable })
  }
  const order = ordered.order.flatMap((candidate): ReadonlyArray<ComboPlacement> => {
    const group = inner.get(candidate.executionKey)
    return group === undefined
      ? [{ candidate, chain: [{ combo, candidate }] }]
      : group.map((inside) => ({ candidate: inside.candidate, chain: [{ combo, candidate }, ...inside.chain] }))
  })
  return { order, candidates: order.map(({ candidate }) => candidate), skipped, relaxed: relaxed.size === 0 ? none : [...relaxed] }
}
