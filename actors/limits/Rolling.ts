/**
 * So many requests in any stretch of so many seconds, counted in slots. Pure.
 *
 * A slot counts until its last moment has left the window, so no stretch of the window's length ever holds more than the limit; a place
 * comes free at most one slot (a sixtieth of the window) late.
 */

export interface Rolling {
  readonly windowMs: number
  readonly slotMs: number
  readonly limit: number
  /** Begin of each slot (ms since the epoch) and its count, oldest first. */
  readonly slots: ReadonlyArray<readonly [begin: number, count: number]>
}

const slotsPerWindow = 60

export const slotOf = (windowMs: number): number => Math.max(1, Math.ceil(windowMs / slotsPerWindow))

export const make = (windowMs: number, limit: number): Rolling => ({ windowMs, slotMs: slotOf(windowMs), limit, slots: [] })

/** Without the slots that no longer count. */
export const current = (rolling: Rolling, now: number): Rolling => {
  const first = rolling.slots.findIndex(([begin]) => begin + rolling.slotMs + rolling.windowMs > now)
  return first === 0 || rolling.slots.length === 0 ? rolling : { ...rolling, slots: first < 0 ? [] : rolling.slots.slice(first) }
}

export const count = (rolling: Rolling): number => rolling.slots.reduce((sum, [, n]) => sum + n, 0)

/** Adds to the slot of a moment; `now` never goes back by more than the newest slot. */
export const add = (rolling: Rolling, n: number, now: number): Rolling => {
  const begin = Math.floor(now / rolling.slotMs) * rolling.slotMs
  const last = rolling.slots.at(-1)
  return last !== undefined && last[0] >= begin
    ? { ...rolling, slots: [...rolling.slots.slice(0, -1), [last[0], last[1] + n]] }
    : { ...rolling, slots: [...rolling.slots, [begin, n]] }
}

export type Taken =
  | { readonly type: "taken"; readonly count: number }
  /** `until`: when the first place comes free (ms since the epoch). */
  | { readonly type: "refused"; readonly used: number; readonly until: number }

/** Takes up to `n` places, all in the slot of `now`. */
export const take = (given: Rolling, n: number, now: number): readonly [Taken, Rolling] => {
  const rolling = current(given, now)
  const used = count(rolling)
  const free = Math.min(n, rolling.limit - used)
  if (free > 0) return [{ type: "taken", count: free }, add(rolling, free, now)]
  return [{ type: "refused", used, until: freeAt(rolling, used, now) }, rolling]
}

/** When enough of the oldest slots will have left. */
const freeAt = (rolling: Rolling, used: number, now: number): number => {
  let left = used
  for (const [begin, n] of rolling.slots) {
    left -= n
    if (left < rolling.limit) return begin + rolling.slotMs + rolling.windowMs
  }
  return now + rolling.windowMs
}
