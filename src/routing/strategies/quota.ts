/** Strategies by the quota windows of a plan: reset-aware, reset-window and headroom. */
import type { Candidate, Moment, QuotaWindow } from "#src/routing/models/candidate.ts"
import { remainingNow, sortedBy, type Strategic, strategy, textIn, tightest, withFirst } from "#src/routing/strategies/ranking.ts"

const hourMs = 3_600_000
const dayMs = 24 * hourMs
/** Length of the two windows that account plans have, ms. */
const sessionMs = 5 * hourMs
const weekMs = 7 * dayMs

/** Weekly by its name, else by a reset that is more than a day away; everything shorter is the session window. */
const isWeekly = ({ name, resetsAt }: QuotaWindow, now: number): boolean => {
  if (/week|7_?d|seven/i.test(name)) return true
  if (/session|hour|\b\d+h\b|daily/i.test(name)) return false
  return resetsAt !== null && resetsAt - now > dayMs
}

/** 0 to 1, 1 = resets at once; 0 when the reset is unknown or has passed. */
export const resetUrgency = (resetsAt: number | null, lengthMs: number, now: number): number =>
  resetsAt === null || resetsAt <= now ? 0 : 1 - Math.min(1, (resetsAt - now) / lengthMs)

/** What remains of a window, worth up to twice as much when it is about to be lost: 0 to 1. */
const worth = (window: QuotaWindow, lengthMs: number, now: number): number =>
  remainingNow(window, now) / 100 * (0.5 + 0.5 * resetUrgency(window.resetsAt, lengthMs, now))

/** Of the tightest window of a kind; null without one. */
const worthOf = (windows: ReadonlyArray<QuotaWindow>, weekly: boolean, now: number): number | null => {
  let least: number | null = null
  for (const window of windows) {
    if (isWeekly(window, now) !== weekly) continue
    const value = worth(window, weekly ? weekMs : sessionMs, now)
    if (least === null || value < least) least = value
  }
  return least
}

/** Score of an unknown plan, 0 to 1: behind a plan with much to lose, before one that is nearly empty. */
const unknownScore = 0.5

/** 0 to 1, the weights taken over the kinds of window that the plan has. */
export const resetScore = (windows: ReadonlyArray<QuotaWindow>, weights: { readonly session: number; readonly weekly: number }, now: number): number => {
  const session = worthOf(windows, false, now)
  const weekly = worthOf(windows, true, now)
  const sessionWeight = session === null ? 0 : weights.session
  const weeklyWeight = weekly === null ? 0 : weights.weekly
  const total = sessionWeight + weeklyWeight
  return total <= 0 ? unknownScore : ((session ?? 0) * sessionWeight + (weekly ?? 0) * weeklyWeight) / total
}

/**
 * Plans with most to lose at their next reset first. Those below the exhaustion guard come last; those within the tie band of the
 * best take turns, so that a hair's breadth does not send everything to one account.
 */
export const resetAware: Strategic = strategy((available, config, memory, moment, candidates) => {
  const { now } = moment
  const weights = { session: config.resetAwareSessionWeight ?? 0.35, weekly: config.resetAwareWeeklyWeight ?? 0.65 }
  const guard = config.resetAwareExhaustionGuardPercent ?? 10
  const band = (config.resetAwareTieBandPercent ?? 5) / 100
  const known = new Map(available.map((candidate) => {
    const windows = moment.quota(candidate.target)
    return [candidate, { guarded: (tightest(windows, now) ?? 100) < guard, score: resetScore(windows, weights, now) }]
  }))
  const factsOf = (candidate: Candidate) => known.get(candidate) as { readonly guarded: boolean; readonly score: number }
  const order = sortedBy(available, (candidate) => [factsOf(candidate).guarded ? 1 : 0, -factsOf(candidate).score])
  const best = factsOf(order[0] as Candidate)
  const tied = available.filter((candidate) =>
    factsOf(candidate).guarded === best.guarded && factsOf(candidate).score >= best.score * (1 - band))
  // Listed order is the ring: the turn goes to the first tied one behind the last.
  const places = candidates.map(({ executionKey }) => executionKey)
  const lastAt = places.indexOf(textIn(memory, "last") ?? "")
  const next = tied.find((candidate) => places.indexOf(candidate.executionKey) > lastAt) ?? tied[0] as Candidate
  return { order: withFirst(order, next), memory: { last: next.executionKey } }
})

/** 0 = known and not empty, 1 = unknown, 2 = used up. */
const standing = (remaining: number | null): number => remaining === null ? 1 : remaining > 0 ? 0 : 2

const nextReset = (windows: ReadonlyArray<QuotaWindow>, now: number): number => {
  let next = Infinity
  for (const { resetsAt } of windows) if (resetsAt !== null && resetsAt > now && resetsAt < next) next = resetsAt
  return next
}

const byQuota = (keysOf: (windows: ReadonlyArray<QuotaWindow>, remaining: number, moment: Moment) => ReadonlyArray<number>): Strategic =>
  strategy((available, _config, memory, moment) => ({
    order: sortedBy(available, ({ target }) => {
      const windows = moment.quota(target)
      const remaining = tightest(windows, moment.now)
      return [standing(remaining), ...keysOf(windows, remaining ?? 0, moment)]
    }),
    memory
  }))

/** The plan whose window resets soonest first; then unread plans, then used-up ones. */
export const resetWindow: Strategic = byQuota((windows, remaining, { now }) => [nextReset(windows, now), -remaining])

/** Most remaining quota (of the tightest window) first; then unread plans, then used-up ones. */
export const headroom: Strategic = byQuota((windows, remaining, { now }) => [-remaining, nextReset(windows, now)])
