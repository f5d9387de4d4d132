/**
 * The brute-force brake of the password: 5 failures in 15 minutes per address lock it for 15 minutes. Pure transition;
 * its twin over all nodes is `src/management/authentication/brake/RedisLoginAttempts.ts`. An attempt counts when it begins, so that parallel guesses cannot pass.
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
}

export interface LoginVerdict {
  /** 0 = go ahead. */
  readonly waitMs: number
  /** This attempt goes ahead, and locks the address unless it succeeds. */
  readonly locks: boolean
}

/** The state after one more attempt, and how long the address has to wait. */
export const attempt = (state: State | undefined, now: number): LoginVerdict & { readonly state: State } => {
  if (state !== undefined && state.lockedUntil > now) {
    return { waitMs: state.lockedUntil - now, locks: false, state }
  }
  const fresh = state === undefined || state.lockedUntil !== 0 || now - state.since >= WINDOW_MS
  const count = fresh ? 1 : state.count + 1
  const locks = count >= ATTEMPTS_MAX
  return { waitMs: 0, locks, state: { since: fresh ? now : state.since, count, lockedUntil: locks ? now + LOCK_MS : 0 } }
}
