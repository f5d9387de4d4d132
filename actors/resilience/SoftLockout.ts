/**
 * Soft lockouts of one connection: a 401 that does not say what is wrong may pass, so the connection rests, at most three times an
 * hour and twice as long each time; the next one means that its credential has expired. Pure.
 */
const hourMs = 3_600_000
/** Rests within an hour. */
export const most = 3
/** The first rest, ms. */
export const firstMs = 300_000

/** The rests of the last hour, as the times when they began, ms since the epoch; oldest first. */
export type State = ReadonlyArray<number>

export const none: State = []

const within = (state: State, now: number): State => state.filter((begun) => now - begun < hourMs)

/** How long the connection rests after the next unclear refusal, ms; null = it has expired. */
export const pauseOf = (state: State, now: number): number | null => {
  const { length } = within(state, now)
  return length >= most ? null : firstMs * 2 ** length
}

/** A rest has begun here or on another node. */
export const begun = (state: State, now: number): State => [...within(state, now), now].slice(-most)
