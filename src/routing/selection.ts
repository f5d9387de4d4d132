/**
 * Which connection of one provider serves a single model: available (quota preflight included), strategy, preferred
 * ones first, the session's own before all. Pure; on the hot path, so the usual case answers an order that was made with the plan.
 */
import type { Target } from "#actors/request/ports/Target.ts"
import type { ComboConfig } from "#schemas/records/Combo.ts"
import type { Candidate, Memory, Moment, Order } from "#src/routing/models/candidate.ts"
import { strategies } from "#src/routing/strategies/index.ts"
import { all, narrow } from "#src/routing/strategies/filter.ts"

export const selectionStrategies = [
  "priority", "weighted", "fill-first", "round-robin", "p2c", "random", "least-used", "cost-optimized", "strict-random"
] as const
export type SelectionStrategy = typeof selectionStrategies[number]

/** Read once per configuration snapshot. */
export interface SelectionSettings {
  readonly strategy: SelectionStrategy
  /** ms; 0 = off. */
  readonly sessionAffinityTtlMs: number
  /** The same settings as the strategies read them. */
  readonly config: ComboConfig
}

const longestAffinityMs = 86_400_000

const numberIn = (value: unknown, fallback: number, most: number): number =>
  typeof value === "number" && Number.isFinite(value) ? Math.min(most, Math.max(0, value)) : fallback

/** From the stored settings: fallbackStrategy, stickyRoundRobinLimit, sessionAffinityTtlMs; unknown values are the defaults. */
export const settingsOf = (stored: ReadonlyMap<string, unknown>): SelectionSettings => ({
  strategy: selectionStrategies.find((name) => name === stored.get("fallbackStrategy")) ?? "fill-first",
  sessionAffinityTtlMs: numberIn(stored.get("sessionAffinityTtlMs"), 0, longestAffinityMs),
  config: { stickyRoundRobinLimit: numberIn(stored.get("stickyRoundRobinLimit"), 3, 1_000) }
})

/** What is particular to one request. */
export interface SelectionWishes {
  /** Connection of the session (`SessionPins.of`); null without one. */
  readonly pinned: string | null
  /** The key's preferredConnections. */
  readonly preferred: ReadonlyArray<string>
}
const noWishes: SelectionWishes = { pinned: null, preferred: [] }

/** Shared by the requests that wish for nothing, as most do. */
export const wishesOf = (pinned: string | null, preferred: ReadonlyArray<string>): SelectionWishes =>
  pinned === null && preferred.length === 0 ? noWishes : { pinned, preferred }

/** Share of a connection under strategy `weighted`: its own providerSpecificData.weight; all without one are drawn alike. */
const weightOf = ({ connection }: Target): number => {
  const weight = connection?.providerSpecificData?.["weight"]
  return typeof weight === "number" && weight > 0 ? Math.min(100, weight) : 0
}

/** A connection is a step of its own: it is what takes turns. */
const candidateOf = (target: Target): Candidate => {
  const key = target.connection?.id ?? target.provider
  return {
    executionKey: key, stepId: key, weight: weightOf(target), label: null, tags: [], prompt: null, target, contextWindow: null, capabilities: null
  }
}

/** By the plan's list of targets: plans live as long as their snapshot. */
const wholes = new WeakMap<ReadonlyArray<Target>, Order>()

/** The order in which all are available, as they are listed; the same for the same list. */
export const wholeOf = (targets: ReadonlyArray<Target>): Order => {
  const known = wholes.get(targets)
  if (known !== undefined) return known
  const made: Order = { order: targets.map(candidateOf), skipped: [], memory: null }
  wholes.set(targets, made)
  return made
}

/** The targets of one provider as candidates, made once per list. */
export const candidatesOf = (targets: ReadonlyArray<Target>): ReadonlyArray<Candidate> => wholeOf(targets).order

const allFree = (targets: ReadonlyArray<Target>, moment: Moment): boolean => {
  for (let i = 0; i < targets.length; i++) {
    const target = targets[i] as Target
    if (moment.unavailable(target) !== null) return false
  }
  return true
}

/** The order of one provider's targets. `memory` is that of `memoryKey(settings.strategy, provider, moment)`. */
export const select = (
  targets: ReadonlyArray<Target>,
  settings: SelectionSettings,
  memory: Memory,
  moment: Moment,
  wishes: SelectionWishes = noWishes
): Order => {
  const whole = wholeOf(targets)
  const asListed = settings.strategy === "fill-first" || settings.strategy === "priority"
  const usual = targets.length === 1 || (asListed && wishes.pinned === null && wishes.preferred.length === 0)
  if (usual && allFree(targets, moment)) return memory === null ? whole : { order: whole.order, skipped: whole.skipped, memory }
  return selected(whole.order, settings, memory, moment, wishes)
}

const selected = (
  candidates: ReadonlyArray<Candidate>,
  settings: SelectionSettings,
  memory: Memory,
  moment: Moment,
  { pinned, preferred }: SelectionWishes
): Order => {
  const { available, skipped } = narrow(all(candidates), ({ target }) => moment.unavailable(target))
  if (available.length === 0) return { order: available, skipped, memory }
  const own = pinned === null ? undefined : available.find(({ target }) => target.connection?.id === pinned)
  // A session that has its connection takes no other request's turn.
  const ranking = own === undefined
    ? strategies[settings.strategy].rank(available, settings.config, memory, moment, candidates)
    : { order: available, memory }
  let { order } = ranking
  if (preferred.length > 0) {
    const isPreferred = ({ target }: Candidate) => target.connection !== null && preferred.includes(target.connection.id)
    order = [...order.filter(isPreferred), ...order.filter((candidate) => !isPreferred(candidate))]
  }
  if (own !== undefined && order[0] !== own) order = [own, ...order.filter((candidate) => candidate !== own)]
  return { order, skipped, memory: ranking.memory }
}
