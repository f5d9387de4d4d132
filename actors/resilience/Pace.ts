/**
 * When the next call of one connection may begin (setting `requestQueue`): a maximum per minute and a minimum gap. Pure.
 *
 * Starts are counted in whole seconds, so that a limit of a million costs no more memory than one of ten; a start leaves the
 * minute up to a second late, never early.
 */

export interface PaceRules {
  /** Starts in any 60 s; 0 = no limit. */
  readonly perMinute: number
  /** ms between two starts; 0 = none. */
  readonly gapMs: number
}

export interface State {
  /** The newest start, ms since the epoch. */
  readonly lastAt: number
  /** Second of the newest start, since the epoch. */
  readonly second: number
  /** Starts per second, the newest first. */
  readonly counts: ReadonlyArray<number>
}

export const idle: State = { lastAt: Number.NEGATIVE_INFINITY, second: 0, counts: [] }

/** Two starts in seconds that are farther apart than this are more than a minute apart. */
const windowSeconds = 60

const secondOf = (ms: number): number => Math.floor(ms / 1000)

/** The counts as they stand in a later second; a clock that was set back moves nothing. */
const countsAt = (state: State, second: number): ReadonlyArray<number> => {
  const passed = Math.max(0, second - state.second)
  if (passed === 0) return state.counts
  if (passed > windowSeconds) return []
  return [...Array.from({ length: passed }, () => 0), ...state.counts.slice(0, windowSeconds + 1 - passed)]
}

/** The earliest moment (ms since the epoch) at which the next call may begin; `now` when it may begin at once. */
export const opensAt = (state: State, rules: PaceRules, now: number): number => {
  // A clock that was set back must not prolong a gap.
  const gap = rules.gapMs === 0 ? now : Math.min(state.lastAt, now) + rules.gapMs
  if (rules.perMinute === 0) return Math.max(now, gap)
  const second = secondOf(now)
  const counts = countsAt(state, second)
  let total = 0
  for (let age = 0; age < counts.length; age++) {
    total += counts[age] as number
    if (total >= rules.perMinute) return Math.max(now, gap, (second - age + windowSeconds + 1) * 1000)
  }
  return Math.max(now, gap)
}

/** The state once a call has begun. */
export const started = (state: State, now: number): State => {
  const second = secondOf(now)
  const counts = countsAt(state, second)
  return { lastAt: now, second, counts: [(counts[0] ?? 0) + 1, ...counts.slice(1)] }
}

/** ms from one start to the next when many wait. */
export const intervalOf = (rules: PaceRules): number => Math.max(rules.gapMs, rules.perMinute === 0 ? 0 : 60_000 / rules.perMinute)
