/**
 * What the calls of one connection used in the last minute and in the last day (`rateLimitOverrides`: rpd, tpm, tpd). Pure.
 *
 * A request and its tokens count once the call is settled. Until then each call in flight counts as one request and as many tokens
 * as a call used lately, so that calls that arrive together do not all pass. A call is admitted while that sum is below the limit.
 */
import * as Rolling from "#actors/limits/Rolling.ts"

/** 0 = no limit. */
export interface VolumeRules {
  readonly requestsPerDay: number
  readonly tokensPerMinute: number
  readonly tokensPerDay: number
}

export interface State {
  readonly dayRequests: Rolling.Rolling
  readonly minuteTokens: Rolling.Rolling
  readonly dayTokens: Rolling.Rolling
  /** Mean tokens of the calls of late. */
  readonly perCall: number
}

export const minuteMs = 60_000
export const dayMs = 86_400_000
/** Length of the stretches in which a day is counted, ms. */
export const daySlotMs = Rolling.slotOf(dayMs)
/** Tokens of a call while none was settled. */
const usualTokens = 1_000
/** How fast the mean forgets: the part of it that a new call is. */
const weight = 0.2

export const idle: State = {
  dayRequests: Rolling.make(dayMs, 0), minuteTokens: Rolling.make(minuteMs, 0), dayTokens: Rolling.make(dayMs, 0), perCall: usualTokens
}

const added = (window: Rolling.Rolling, amount: number, at: number): Rolling.Rolling =>
  amount === 0 ? window : Rolling.add(Rolling.current(window, at), amount, at)

/** A call is settled. */
export const spent = (state: State, tokens: number, now: number): State => ({
  dayRequests: added(state.dayRequests, 1, now),
  minuteTokens: added(state.minuteTokens, tokens, now),
  dayTokens: added(state.dayTokens, tokens, now),
  // A call without tokens, such as one that failed, says nothing of the others.
  perCall: tokens === 0 ? state.perCall : Math.max(1, state.perCall + (tokens - state.perCall) * weight)
})

/** What the ledger says of a stretch of the day: its calls on all nodes, times in ms since the epoch. */
export interface DaySlot {
  readonly begin: number
  /** The newest start of a call in it. */
  readonly last: number
  readonly requests: number
  readonly tokens: number
}

/** One of `nodes` equal parts of each amount; rounded up in sum, so that the parts together are at least the whole. */
const part = (slots: ReadonlyArray<DaySlot>, nodes: number, of: (slot: DaySlot) => number): Rolling.Rolling => {
  let whole = 0
  let taken = 0
  const parts: Array<readonly [begin: number, count: number, last: number]> = []
  for (const slot of slots) {
    whole += of(slot)
    const count = Math.ceil(whole / nodes) - taken
    taken += count
    if (count > 0) parts.push([slot.begin, count, slot.last])
  }
  return { ...Rolling.make(dayMs, 0), slots: parts }
}

/**
 * The day as the ledger has it, instead of what was counted here: at the start of a node, and when the number of nodes is another.
 * Each node takes its part of what all have used, as it has its part of the limit. `slots`: the oldest first.
 */
export const read = (state: State, slots: ReadonlyArray<DaySlot>, nodes: number): State => ({
  ...state, dayRequests: part(slots, nodes, ({ requests }) => requests), dayTokens: part(slots, nodes, ({ tokens }) => tokens)
})

/** Why no call may begin now. */
export interface Full {
  /** When enough of the window is over, ms since the epoch; null = when a call in flight is settled. */
  readonly until: number | null
  readonly limit: number
  readonly unit: "requests a day" | "tokens a minute" | "tokens a day"
}

const windowFull = (window: Rolling.Rolling, limit: number, reserved: number, unit: Full["unit"], now: number): Full | null => {
  if (limit === 0) return null
  const current = Rolling.current(window, now)
  const used = Rolling.count(current)
  if (used + reserved < limit) return null
  return { until: used < limit ? null : Rolling.freeAt({ ...current, limit }, used, now), limit, unit }
}

/** The one that lasts longest; an end that is unknown is before any that is known. */
const later = (one: Full | null, other: Full | null): Full | null => {
  if (one === null || other === null) return one ?? other
  return (other.until ?? 0) > (one.until ?? 0) ? other : one
}

/** Null = a call may begin. `inFlight`: calls of the connection that are not settled. */
export const fullOf = (state: State, rules: VolumeRules, inFlight: number, now: number): Full | null => {
  const tokens = Math.ceil(inFlight * state.perCall)
  return later(
    windowFull(state.dayRequests, rules.requestsPerDay, inFlight, "requests a day", now),
    later(
      windowFull(state.dayTokens, rules.tokensPerDay, tokens, "tokens a day", now),
      windowFull(state.minuteTokens, rules.tokensPerMinute, tokens, "tokens a minute", now)
    )
  )
}
