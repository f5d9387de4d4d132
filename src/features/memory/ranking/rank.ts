/** The order in which entries are chosen: by age, by relevance, or by both lists fused. Pure. */
import type { MemorySettings } from "#schemas/memory/MemorySettings.ts"

export type Strategy = MemorySettings["memoryStrategy"]

/** Constant of reciprocal rank fusion (Cormack, Clarke and Buettcher, 2009): how little the first places of a list stand out. */
export const FUSION_K = 60

/** An entry by its place in the list of entries, newest first; the larger the score, the earlier it is chosen. */
export interface Ranked {
  readonly place: number
  readonly score: number
}

const byScore = (a: Ranked, b: Ranked): number => b.score - a.score || a.place - b.place

/** Each place gets 1 / (k + its rank) from each list that has it; ranks begin at 1. */
export const fused = (...lists: ReadonlyArray<ReadonlyArray<number>>): ReadonlyArray<Ranked> => {
  const scores = new Map<number, number>()
  for (const list of lists) list.forEach((place, i) => scores.set(place, (scores.get(place) ?? 0) + 1 / (FUSION_K + i + 1)))
  return [...scores].map(([place, score]) => ({ place, score })).sort(byScore)
}

const sorted = (scores: ReadonlyMap<number, number>): ReadonlyArray<Ranked> => [...scores].map(([place, score]) => ({ place, score })).sort(byScore)
const placesOf = (ranked: ReadonlyArray<Ranked>): ReadonlyArray<number> => ranked.map(({ place }) => place)

const none: ReadonlyMap<number, number> = new Map()

/**
 * All of so many entries in the order of the strategy. `relevance`: scores by place, by shared words; `near`: by vectors, empty where there are
 * none. What has nothing to do with the question comes last where relevance alone decides, the newest of it first.
 */
export const rank = (strategy: Strategy, entries: number, relevance: ReadonlyMap<number, number>, near = none): ReadonlyArray<Ranked> => {
  const newest = Array.from({ length: entries }, (_, place) => place)
  const lists = [relevance, near].filter(({ size }) => size > 0).map(sorted)
  const [first] = lists
  if (strategy === "recent" || first === undefined) return fused(newest)
  if (strategy === "hybrid") return fused(newest, ...lists.map(placesOf))
  const relevant = lists.length === 1 ? first : fused(...lists.map(placesOf))
  const taken = new Set(placesOf(relevant))
  return [...relevant, ...newest.filter((place) => !taken.has(place)).map((place) => ({ place, score: 0 }))]
}

/** The order with those that a model scored first, by its scores; what it did not see stays as it was. */
export const reranked = (order: ReadonlyArray<Ranked>, scores: ReadonlyMap<number, number>): ReadonlyArray<Ranked> =>
  [...sorted(scores), ...order.filter(({ place }) => !scores.has(place))]
