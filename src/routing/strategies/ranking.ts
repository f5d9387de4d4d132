/** What strategies are made of: a ranking of the available candidates, wrapped with the shared filter; and small pure helpers. */
import { remainingAt } from "#src/routing/ports/Quotas.ts"
import type { TargetHealth } from "#actors/request/ports/Resilience.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import type { ComboConfig } from "#schemas/records/Combo.ts"
import type { Candidate, Memory, Moment, Order, QuotaWindow, Relaxed, Skipped, StrategyLogic } from "#src/routing/models/candidate.ts"
import { filter } from "#src/routing/strategies/filter.ts"
import { preferred } from "#src/routing/strategies/preference.ts"

export interface Ranking {
  readonly order: ReadonlyArray<Candidate>
  readonly memory: Memory
  readonly skipped?: ReadonlyArray<Skipped>
  readonly relaxed?: ReadonlyArray<Relaxed>
}

/** Orders the callable candidates (never empty); `candidates` are all, because places in a rotation do not move when one is away. */
export type Rank = (
  available: ReadonlyArray<Candidate>,
  config: ComboConfig,
  memory: Memory,
  moment: Moment,
  candidates: ReadonlyArray<Candidate>
) => Ranking

/** Whose memory it is: of the whole combo, or of each API key in it. */
export type MemoryScope = "combo" | "key"

export interface Strategic extends StrategyLogic {
  readonly rank: Rank
  readonly scope: MemoryScope
}

export interface StrategyOptions {
  readonly succeeded?: StrategyLogic["succeeded"]
  readonly scope?: MemoryScope
}

const unchanged: StrategyLogic["succeeded"] = (_candidate, _config, memory) => memory

/** A strategy from its ranking: preferences of the listed order, the filter, the ranking, and all others in `skipped`. */
export const strategy = (rank: Rank, options: StrategyOptions = {}): Strategic => ({
  rank,
  scope: options.scope ?? "combo",
  succeeded: options.succeeded ?? unchanged,
  order: (given, config, memory, moment): Order => {
    const candidates = preferred(given, config)
    const filtered = filter(candidates, config, moment)
    if (filtered.available.length === 0) return { order: filtered.available, skipped: filtered.skipped, memory }
    const ranking = rank(filtered.available, config, memory, moment, candidates)
    const relaxed = ranking.relaxed === undefined ? filtered.relaxed : [...filtered.relaxed, ...ranking.relaxed]
    return {
      order: ranking.order,
      skipped: ranking.skipped === undefined ? filtered.skipped : [...filtered.skipped, ...ranking.skipped],
      memory: ranking.memory,
      ...(relaxed.length > 0 ? { relaxed } : {})
    }
  }
})

/** A text or a count of a memory, which may be of an older version: anything else is as if it were not there. */
export const textIn = (memory: Memory, name: string): string | null => {
  const value = memory?.[name]
  return typeof value === "string" ? value : null
}
export const countIn = (memory: Memory, name: string): number => {
  const value = memory?.[name]
  return typeof value === "number" && Number.isFinite(value) ? value : 0
}

/** Stable: by each key in turn, lowest first. Every key list has the same length; Infinity is last, ties keep their order. */
export const sortedBy = (
  candidates: ReadonlyArray<Candidate>,
  keysOf: (candidate: Candidate) => ReadonlyArray<number>
): ReadonlyArray<Candidate> => {
  if (candidates.length < 2) return candidates
  const keyed = candidates.map((candidate) => ({ candidate, keys: keysOf(candidate) }))
  keyed.sort((a, b) => {
    for (let i = 0; i < a.keys.length; i++) {
      const x = a.keys[i] as number
      const y = b.keys[i] as number
      if (x !== y) return x < y ? -1 : 1
    }
    return 0
  })
  return keyed.map(({ candidate }) => candidate)
}

/** Uniform order (Fisher and Yates). */
export const shuffled = <A>(items: ReadonlyArray<A>, random: () => number): Array<A> => {
  const shuffling = items.slice()
  for (let i = shuffling.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1))
    const held = shuffling[i] as A
    shuffling[i] = shuffling[j] as A
    shuffling[j] = held
  }
  return shuffling
}

/** The candidates with one of them first, the others as they were. */
export const withFirst = (candidates: ReadonlyArray<Candidate>, first: Candidate): ReadonlyArray<Candidate> =>
  candidates[0] === first ? candidates : [first, ...candidates.filter((candidate) => candidate !== first)]

/** The candidates of one step of the outermost combo. */
export interface StepGroup {
  readonly stepId: string
  readonly weight: number
  readonly candidates: ReadonlyArray<Candidate>
}

/** By step, or by what `idOf` says, in the order of their first appearance. */
export const stepsOf = (candidates: ReadonlyArray<Candidate>, idOf = ({ stepId }: Candidate): string => stepId): ReadonlyArray<StepGroup> => {
  const groups = new Map<string, { stepId: string; weight: number; candidates: Array<Candidate> }>()
  for (const candidate of candidates) {
    const id = idOf(candidate)
    const group = groups.get(id)
    if (group === undefined) groups.set(id, { stepId: id, weight: candidate.weight, candidates: [candidate] })
    else group.candidates.push(candidate)
  }
  return [...groups.values()]
}

/** Where a target's conversation lives: account and model. Holds a connection id: for memories and logs, never for a client. */
export const placeOf = (target: Target): string => `${target.connection?.id ?? target.provider}/${target.model}`

/** Health of a breaker as a number; a degraded one still serves, with a lower score. */
export const breakerScore = ({ breaker }: TargetHealth): number =>
  breaker === "closed" ? 1 : breaker === "degraded" ? 0.75 : breaker === "half-open" ? 0.5 : 0

/** 0 to 1: the breaker, less the share of calls that failed. */
export const healthScore = (health: TargetHealth): number => breakerScore(health) * (1 - (health.errorRate ?? 0))

/** Percent that remains of a window now: a window whose reset has passed is full again. */
export const remainingNow = remainingAt

/** Percent of the tightest window; null without any. */
export const tightest = (windows: ReadonlyArray<QuotaWindow>, now: number): number | null => {
  let least: number | null = null
  for (const window of windows) {
    const remaining = remainingNow(window, now)
    if (least === null || remaining < least) least = remaining
  }
  return least
}

/** FNV-1a over UTF-16 units, finished with an avalanche: 32 bits, the same on every node. */
export const hashOf = (text: string): number => {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return avalanche(hash)
}

export const avalanche = (value: number): number => {
  let hash = Math.imul(value ^ (value >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
