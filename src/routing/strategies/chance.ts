/** Strategies that draw: weighted (by step), random, and p2c (the better of two). */
import type { Candidate } from "#src/routing/models/candidate.ts"
import { countIn, healthScore, shuffled, sortedBy, type StepGroup, stepsOf, type Strategic, strategy, textIn } from "#src/routing/strategies/ranking.ts"

/** One step in proportion to the weights; uniform when all are 0, and weight 0 is never drawn otherwise. */
const draw = (groups: ReadonlyArray<StepGroup>, random: () => number): StepGroup => {
  let total = 0
  for (const { weight } of groups) total += weight
  if (total <= 0) return groups[Math.floor(random() * groups.length)] as StepGroup
  let left = random() * total
  let last: StepGroup | null = null
  for (const group of groups) {
    if (group.weight <= 0) continue
    last = group
    left -= group.weight
    if (left < 0) return group
  }
  // Sums of fractions may leave a rest: it belongs to the last one that can be drawn.
  return last as StepGroup
}

/**
 * One proportional draw by weight, then the other steps by descending weight. With `stickyWeightedLimit` above 1 the drawn step
 * is kept for that many successes, and forgotten as soon as another one had to answer.
 */
export const weighted: Strategic = strategy((available, config, memory, moment) => {
  const groups = stepsOf(available)
  const limit = config.stickyWeightedLimit ?? 1
  const kept = limit > 1 ? groups.find(({ stepId }) => stepId === textIn(memory, "step")) : undefined
  const drawn = kept ?? draw(groups, moment.random)
  const rest = groups.filter((group) => group !== drawn).sort((a, b) => b.weight - a.weight)
  const order = groups.length === 1 ? available : [drawn, ...rest].flatMap(({ candidates }) => candidates)
  return { order, memory: limit > 1 && kept === undefined ? { step: drawn.stepId, successes: 0 } : limit > 1 ? memory : null }
}, {
  succeeded: (candidate, config, memory) => {
    const limit = config.stickyWeightedLimit ?? 1
    if (limit <= 1 || textIn(memory, "step") !== candidate.stepId) return null
    const successes = countIn(memory, "successes") + 1
    return successes >= limit ? null : { step: candidate.stepId, successes }
  }
})

/** A uniform shuffle. */
export const random: Strategic = strategy((available, _config, memory, moment) => ({
  order: available.length < 2 ? available : shuffled(available, moment.random),
  memory
}))

/** Two random candidates, the less loaded (then the healthier) first; the others follow by the same measure. */
export const p2c: Strategic = strategy((available, _config, memory, moment) => {
  const keysOf = (candidate: Candidate) => {
    const health = moment.health(candidate.target)
    return [health.inFlight, -healthScore(health)]
  }
  if (available.length < 2) return { order: available, memory }
  const i = Math.floor(moment.random() * available.length)
  const j = (i + 1 + Math.floor(moment.random() * (available.length - 1))) % available.length
  const pair = [available[i] as Candidate, available[j] as Candidate]
  const others = available.filter((_, at) => at !== i && at !== j)
  return { order: [...sortedBy(pair, keysOf), ...sortedBy(others, keysOf)], memory }
})
