/**
 * The scoring factors of automatic routing, each 0 (bad) to 1 (good), for every candidate of a pool. Pure.
 *
 * What is relative to the pool (price, latency) gives the best one 1 and the worst one best/worst, so that being better never
 * costs a candidate its place. Without data: 1 where silence is good news (quota, stability), else one half.
 */
import type { Candidate, Moment, ModelTier } from "#src/routing/models/candidate.ts"
import type { Factor, Weights } from "#src/routing/auto/packs.ts"
import { factorNames } from "#src/routing/auto/packs.ts"
import { fitsCategory } from "#src/routing/auto/channel.ts"
import { cacheWeight, neededWindow, prefixHashOf } from "#src/routing/strategies/fit.ts"
import { blendedPrice } from "#src/routing/strategies/price.ts"
import { resetUrgency } from "#src/routing/strategies/quota.ts"
import { breakerScore, tightest } from "#src/routing/strategies/ranking.ts"

const weekMs = 7 * 86_400_000
const unknown = 0.5
const clamp = (value: number): number => value <= 0 ? 0 : value >= 1 ? 1 : value

/** What one candidate is compared with. */
interface Pool {
  readonly moment: Moment
  readonly price: Range
  readonly latency: Range
  /** Connections per provider, and the most of any. */
  readonly connections: ReadonlyMap<string, number>
  readonly densest: number
  readonly prefixHash: number | null
}

interface Range {
  readonly least: number
  readonly most: number
}

const rangeOf = (values: ReadonlyArray<number | null>): Range => {
  let least = Infinity
  let most = 0
  for (const value of values) {
    if (value === null) continue
    if (value < least) least = value
    if (value > most) most = value
  }
  return { least, most }
}

const inverse = (value: number | null, { least, most }: Range): number =>
  value === null ? unknown : most <= 0 ? 1 : clamp(1 - (value - least) / most)

/** What the account is worth to its owner. */
const tierWorth: Readonly<Record<string, number>> = { ultra: 1, pro: 0.67, standard: 0.33, free: 0 }

/** The tier by the step's tags, else by the plan the connection says it has, else by its price. */
const tierPriority = ({ tags, target }: Candidate): number => {
  for (const tag of tags) if (Object.hasOwn(tierWorth, tag)) return tierWorth[tag] as number
  const plan = target.connection?.providerSpecificData["plan"] ?? target.connection?.providerSpecificData["tier"]
  if (typeof plan === "string" && Object.hasOwn(tierWorth, plan.toLowerCase())) return tierWorth[plan.toLowerCase()] as number
  return blendedPrice(target, 0) === 0 ? 0 : 0.33
}

const tierAffinity = ({ tags, target }: Candidate, tier: ModelTier | null): number => {
  if (tier === null) return unknown
  if (tags.includes(tier)) return 1
  return tier === "free" && blendedPrice(target, 0) === 0 ? 1 : 0
}

/** Share of what the request needs that the model is known to have. */
const taskFit = (candidate: Candidate, { needs, wanted }: Moment): number => {
  const { capabilities } = candidate
  const category = wanted?.category ?? null
  const categoryFit = category === null ? null : fitsCategory(candidate, category)
  let asked = categoryFit === null ? 0 : 1
  let met = categoryFit === null ? 0 : categoryFit === "yes" ? 1 : categoryFit === "unknown" ? unknown : 0
  for (const [needed, name] of [[needs.tools, "tools"], [needs.vision, "vision"], [needs.structuredOutput, "structuredOutput"]] as const) {
    if (!needed) continue
    asked++
    met += capabilities === null ? unknown : capabilities.includes(name) ? 1 : 0
  }
  return asked === 0 ? unknown : met / asked
}

const readers: Readonly<Record<Factor, (candidate: Candidate, pool: Pool) => number>> = {
  quota: ({ target }, { moment }) => (tightest(moment.quota(target), moment.now) ?? 100) / 100,
  health: ({ target }, { moment }) => breakerScore(moment.health(target)),
  costInv: ({ target }, { moment, price }) => inverse(blendedPrice(target, moment.promptTokens), price),
  latencyInv: ({ target }, { latency, moment }) => inverse(moment.health(target).latencyP95Ms, latency),
  taskFit: (candidate, { moment }) => taskFit(candidate, moment),
  stability: ({ target }, { moment }) => 1 - clamp(moment.health(target).errorRate ?? 0),
  tierPriority,
  tierAffinity: (candidate, { moment }) => tierAffinity(candidate, moment.wanted?.tier ?? null),
  specificityMatch: ({ tags }, { moment }) => {
    const category = moment.wanted?.category ?? null
    return category === null || tags.length === 0 ? unknown : tags.includes(category) ? 1 : 0
  },
  contextAffinity: ({ contextWindow }, { moment }) => {
    if (contextWindow === null) return unknown
    const needed = neededWindow(moment.promptTokens)
    return contextWindow >= needed ? 1 : contextWindow / needed / 2
  },
  sessionAvailability: ({ target }, { moment }) => {
    const most = target.connection?.maxConcurrent ?? 0
    return most <= 0 ? 1 : clamp(1 - moment.health(target).inFlight / most)
  },
  connectionDensity: ({ target }, { connections, densest }) => (connections.get(target.provider) ?? 0) / Math.max(1, densest),
  cacheAffinity: (candidate, { prefixHash }) => prefixHash === null ? unknown : cacheWeight(prefixHash, candidate) / 0xffff_ffff,
  resetWindowAffinity: ({ target }, { moment }) => {
    let most = 0
    for (const { resetsAt } of moment.quota(target)) most = Math.max(most, resetUrgency(resetsAt, weekMs, moment.now))
    return most
  },
  // No measure of quality reaches this place: all are alike.
  quality: () => unknown
}

const poolOf = (candidates: ReadonlyArray<Candidate>, moment: Moment): Pool => {
  const connections = new Map<string, number>()
  let densest = 0
  for (const { target: { provider } } of candidates) {
    const count = (connections.get(provider) ?? 0) + 1
    connections.set(provider, count)
    if (count > densest) densest = count
  }
  return {
    moment,
    price: rangeOf(candidates.map(({ target }) => blendedPrice(target, moment.promptTokens))),
    latency: rangeOf(candidates.map(({ target }) => moment.health(target).latencyP95Ms)),
    connections,
    densest,
    prefixHash: moment.promptPrefix === "" ? null : prefixHashOf(moment.promptPrefix)
  }
}

export interface Scored {
  readonly candidate: Candidate
  /** 0 to 1. */
  readonly score: number
  /** Only factors with a weight. */
  readonly factors: Readonly<Partial<Record<Factor, number>>>
}

/** Every candidate with its score, in the order given. */
export const scored = (candidates: ReadonlyArray<Candidate>, weights: Weights, moment: Moment): ReadonlyArray<Scored> => {
  const pool = poolOf(candidates, moment)
  return candidates.map((candidate) => {
    const factors: Partial<Record<Factor, number>> = {}
    let score = 0
    for (const name of factorNames) {
      const weight = weights[name]
      if (weight <= 0) continue
      const value = readers[name](candidate, pool)
      factors[name] = value
      score += weight * value
    }
    return { candidate, score, factors }
  })
}
