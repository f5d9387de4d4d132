/** Self-healing: a candidate with a bad score is left out for a while, longer each time, and then returns by itself. */
import type { Memory } from "#src/routing/models/candidate.ts"

/** A score below this is bad. */
export const badScore = 0.2
/** First exclusion and the longest one, ms. */
export const firstExclusionMs = 5 * 60_000
export const longestExclusionMs = 30 * 60_000

export interface Exclusion {
  /** ms since the epoch. */
  readonly until: number
  /** Length of this exclusion, ms; the next one is twice as long. */
  readonly ms: number
}

/** By execution key. */
export type Exclusions = Readonly<Record<string, Exclusion>>

const none: Exclusions = {}

const isExclusion = (value: unknown): value is Exclusion =>
  typeof value === "object" && value !== null && typeof (value as Exclusion).until === "number" && typeof (value as Exclusion).ms === "number"

export const exclusionsIn = (memory: Memory): Exclusions => {
  const held = memory?.["exclusions"]
  if (typeof held !== "object" || held === null) return none
  const entries = Object.entries(held)
  return entries.every(([, value]) => isExclusion(value)) ? held as Exclusions : Object.fromEntries(entries.filter(([, value]) => isExclusion(value)))
}

/**
 * The exclusions after new scores: a running one stays as it is; a bad score begins one, twice as long as the one before it; a
 * good score after the end of one forgets it. Candidates that are no longer scored are forgotten when theirs is over.
 */
export const next = (held: Exclusions, scores: ReadonlyArray<{ readonly key: string; readonly score: number }>, now: number): Exclusions => {
  let changed: Record<string, Exclusion> | null = null
  const draft = (): Record<string, Exclusion> => changed ??= { ...held }
  for (const { key, score } of scores) {
    const before = Object.hasOwn(held, key) ? held[key] : undefined
    if (before !== undefined && before.until > now) continue
    if (score < badScore) {
      const ms = before === undefined ? firstExclusionMs : Math.min(longestExclusionMs, before.ms * 2)
      draft()[key] = { until: now + ms, ms }
    } else if (before !== undefined) delete draft()[key]
  }
  const scoredKeys = new Set(scores.map(({ key }) => key))
  for (const [key, { until }] of Object.entries(held)) if (until + longestExclusionMs <= now && !scoredKeys.has(key)) delete draft()[key]
  return changed ?? held
}
