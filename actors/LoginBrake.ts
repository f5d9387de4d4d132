/**
 * The brute-force brake of the password (supplement 17): 5 failures in 15 minutes per address lock it for 15 minutes. Pure transition;
 * its twin over all nodes is `src/redis/RedisLoginAttempts.ts`. An attempt counts when it begins, so that parallel guesses cannot pass.
 */
export const ATTEMPTS_MAX = 5
export const WINDOW_MS = 15 * 60_000
export const LOCK_MS = 15 * 60_000

export interface State {
  /** Begin of the window, ms. */
  readonly since: number
  readonly count: number
  /** 0 = not locked. */
  readonly lockedUntil: number
  /** An attempt was refused in this lock already: the audit log needs one line, not one per guess. */
  readonly told: boolean
}

export interface Verdict {
  /** 0 = go ahead. */
  readonly waitMs: number
  /** The first refusal of this lock. */
  readonly first: boolean
}

/** The state after one more attempt, and how long the address has to wait. */
export const attempt = (state: State | undefined, now: number): Verdict & { readonly state: State } => {
  if (state !== undefined && state.lockedUntil > now) {
    return { waitMs: state.lockedUntil - now, first: !state.told, state: { ...state, told: true } }
  }
  const fresh = state === undefined || state.lockedUntil !== 0 || now - state.since >= WINDOW_MS
  const count = fresh ? 1 : state.count + 1
  return {
    waitMs: 0,
    first: false,
    state: { since: fresh ? now : state.since, count, lockedUntil: count >= ATTEMPTS_MAX ? now + LOCK_MS : 0, told: false }
  }
}
