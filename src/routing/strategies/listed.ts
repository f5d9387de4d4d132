/** Strategies that keep the listed order: priority, fill-first, context-relay, and the panels of fusion, pipeline and debate. */
import type { Candidate, Moment } from "#src/routing/models/candidate.ts"
import { type Rank, sortedBy, type Strategic, strategy, tightest } from "#src/routing/strategies/ranking.ts"

/** As listed. */
export const priority: Strategic = strategy((available, _config, memory) => ({ order: available, memory }))

/** Fusion, pipeline and debate take their panel and stages in the listed order; what they do with it is the caller's. */
export const panel: Strategic = priority

/** Percent of a quota window at which a plan counts as used up: the default cut-off of `quotaPreflight`. */
const spentPercent = 2

const spent = (candidate: Candidate, moment: Moment): boolean => {
  const left = tightest(moment.quota(candidate.target), moment.now)
  return left !== null && left <= spentPercent
}

/** One target until its cooldown (which the filter sees) or its quota stops it: used-up plans go behind the others. */
const filling: Rank = (available, _config, memory, moment) => ({
  order: available.some((candidate) => spent(candidate, moment))
    ? sortedBy(available, (candidate) => [spent(candidate, moment) ? 1 : 0])
    : available,
  memory
})
export const fillFirst: Strategic = strategy(filling)

/** As listed; the hand-off summary is made on the way, when it is known which target continues a session. */
export const contextRelay: Strategic = priority
