/**
 * Strategy `auto`: narrow the pool, score it, leave out what is bad for a while, order by the router, sometimes explore; and
 * strategy `lkgp`, the last target that answered before that order.
 */
import type { ComboConfig } from "#schemas/records/Combo.ts"
import type { Candidate, Memory, Moment } from "#src/routing/models/candidate.ts"
import { withinBudget } from "#src/routing/auto/budget.ts"
import { withinChannel } from "#src/routing/auto/channel.ts"
import { badScore, exclusionsIn, next } from "#src/routing/auto/exclusions.ts"
import { scored } from "#src/routing/auto/factors.ts"
import * as LastGood from "#src/routing/auto/lastGood.ts"
import { weightsOf } from "#src/routing/auto/packs.ts"
import { isIncident, routerOf, routers, withinSla } from "#src/routing/auto/routers.ts"
import { all, narrow, type Filtered } from "#src/routing/strategies/filter.ts"
import { healthScore, type Rank, type Ranking, type Strategic, strategy, textIn, withFirst } from "#src/routing/strategies/ranking.ts"

/** Share of requests that try a candidate other than the best. */
const defaultExplorationRate = 0.05

/** Health (breaker less the share of failed calls) from which a candidate is not left out, however low its score is. */
const soundHealth = 0.75

/** An entry of candidatePool names a public model, a provider or its alias, a step, or one target by its execution key. */
const inPool = ({ executionKey, stepId, target }: Candidate, pool: ReadonlyArray<string>): boolean =>
  pool.includes(target.publicModel) || pool.includes(target.provider) || pool.includes(target.providerAlias) ||
  pool.includes(stepId) || pool.includes(executionKey)

const pooled = (available: ReadonlyArray<Candidate>, config: ComboConfig, moment: Moment): Filtered => {
  let pool = all(available)
  const { candidatePool } = config
  if (candidatePool !== undefined && candidatePool.length > 0) {
    pool = narrow(pool, (candidate) =>
      inPool(candidate, candidatePool) ? null : { reason: "excluded", until: null, detail: "Not in candidatePool." }, "pool")
  }
  const { wanted = null } = moment
  if (wanted !== null) pool = withinChannel(pool, wanted)
  return withinSla(withinBudget(pool, config, moment), config, moment)
}

/** The best one gives its place to another, uniformly, in `rate` of the cases. */
const explored = (order: ReadonlyArray<Candidate>, rate: number, random: () => number): ReadonlyArray<Candidate> => {
  if (order.length < 2 || rate <= 0 || random() >= rate) return order
  return withFirst(order, order[1 + Math.floor(random() * (order.length - 1))] as Candidate)
}

const withExclusions = (memory: Memory, exclusions: ReturnType<typeof next>): Memory =>
  exclusions === exclusionsIn(memory) ? memory : { ...memory, exclusions }

const ranked = (available: ReadonlyArray<Candidate>, config: ComboConfig, memory: Memory, moment: Moment, candidates: ReadonlyArray<Candidate>): Ranking => {
  const pool = pooled(available, config, moment)
  const scores = scored(pool.available, weightsOf(config), moment)
  const held = exclusionsIn(memory)
  const exclusions = next(held, scores.map(({ candidate, score }) => ({
    key: candidate.executionKey,
    // Only an unhealthy one can recover: an expensive or slow one of a custom weighting is merely last.
    score: healthScore(moment.health(candidate.target)) < soundHealth ? score : Math.max(score, badScore)
  })), moment.now)
  const healed = narrow(pool, ({ executionKey }) => {
    const exclusion = Object.hasOwn(exclusions, executionKey) ? exclusions[executionKey] : undefined
    return exclusion === undefined || exclusion.until <= moment.now
      ? null
      : { reason: "excluded", until: exclusion.until, detail: "Left out for a while after a low score." }
  }, "excluded")
  const remaining = new Set(healed.available)
  const incident = isIncident(candidates, moment)
  const router = routerOf(config.routerStrategy)
  const byRouter = routers[router === "lkgp" || incident ? "rules" : router](
    healed.available.length === scores.length ? scores : scores.filter(({ candidate }) => remaining.has(candidate)), config, moment, incident
  )
  const known = router === "lkgp" && !incident ? lastGood(byRouter, memory) : null
  const order = known === null ? byRouter : withFirst(byRouter, known)
  return {
    order: incident || router === "score" ? order : explored(order, config.explorationRate ?? defaultExplorationRate, moment.random),
    // Nothing is remembered of a pool in which all are bad: it would only lengthen the exclusions.
    memory: healed.relaxed.length > pool.relaxed.length ? memory : withExclusions(memory, exclusions),
    skipped: healed.skipped,
    relaxed: healed.relaxed
  }
}

const lastGood = (order: ReadonlyArray<Candidate>, memory: Memory): Candidate | null => {
  const last = textIn(memory, "last")
  return last === null ? null : order.find(({ executionKey }) => executionKey === last) ?? null
}

const remember: Strategic["succeeded"] = (candidate, _config, memory, moment) => LastGood.remembered(candidate, memory, moment)

export const auto: Strategic = strategy(ranked, { scope: "key", succeeded: remember })

/** The last target that answered for this combo and key, then the order of `rules`, without exploration. */
const lastKnownGood: Rank = (available, config, memory, moment, candidates) =>
  ranked(available, { ...config, routerStrategy: "lkgp", explorationRate: 0 }, memory, moment, candidates)
export const lkgp: Strategic = strategy(lastKnownGood, { scope: "key", succeeded: remember })
