/** Strategies that keep the listed order: priority, fill-first, context-relay, and the panels of fusion, pipeline and debate. */
import type { Candidate, Handoff, Memory, Moment, QuotaWindow } from "#src/routing/candidate.ts"
import { placeOf, remainingNow, type Rank, sortedBy, type Strategic, strategy, textIn, tightest } from "#src/routing/strategies/ranking.ts"

/** As listed. */
export const priority: Strategic = strategy((available, _config, memory) => ({ order: available, memory }))

/** Fusion, pipeline and debate take their panel and stages in the listed order; what they do with it is the caller's. */
export const panel: Strategic = priority

/** Percent of a quota window at which a plan counts as used up (supplement 5.5, quotaPreflight). */
export const spentPercent = 2

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

/** The hand-off that an answer of this candidate would need; null when it goes on where the session was, or begins. */
export const handoffTo = (memory: Memory, candidate: Candidate): Handoff | null => {
  const from = textIn(memory, "place")
  const to = placeOf(candidate.target)
  return from === null || from === to ? null : { from, to }
}

/** True when so much of a plan is used (share, `handoffThreshold`) that the summary should be made before the account changes. */
export const handoffNear = (windows: ReadonlyArray<QuotaWindow>, threshold: number, now: number): boolean =>
  windows.some((window) => 1 - remainingNow(window, now) / 100 >= threshold)

/** As listed; `handoff` when the first target is not where the session's last answer came from. The memory is one session's. */
export const contextRelay: Strategic = strategy((available, _config, memory) => {
  const handoff = handoffTo(memory, available[0] as Candidate)
  return handoff === null ? { order: available, memory } : { order: available, memory, handoff }
}, {
  scope: "session",
  succeeded: (candidate, _config, memory, moment) => {
    const place = placeOf(candidate.target)
    // Without a session nobody could be handed over to.
    return moment.session === null || textIn(memory, "place") === place ? memory : { ...memory, place }
  }
})

/** Steps nobody of which can be asked: a pipeline without one of its stages is not the same pipeline. */
export const missingSteps = (candidates: ReadonlyArray<Candidate>, order: ReadonlyArray<Candidate>): ReadonlyArray<string> => {
  const present = new Set(order.map(({ stepId }) => stepId))
  return [...new Set(candidates.map(({ stepId }) => stepId))].filter((stepId) => !present.has(stepId))
}
