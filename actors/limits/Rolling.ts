/**
 * So many requests in any stretch of so many seconds, counted in slots. Pure.
 *
 * A slot counts until its last request has left the window, so no stretch of the window's length ever holds more than the limit;
 * a place becomes free at most one slot (a sixtieth of the window) late, and never later than one window after the request that
 * is refused.
 */

type Slot = readonly [begin: number, count: number, last: number]

export interface Rolling {
  readonly windowMs: number
  readonly slotMs: number
  readonly limit: number
  /** Begin of each slot, its count and the moment of its last request (times in ms since the epoch), oldest first. */
  readonly slots: ReadonlyArray<Slot>
}

const slotsPerWindow = 60

/** ms of one slot of a window. */
export const slotOf = (windowMs: number): number => Math.max(1, Math.ceil(windowMs / slotsPerWindow))

export const make = (windowMs: number, limit: number): Rolling => ({ windowMs, slotMs: slotOf(windowMs), limit, slots: [] })

/** Without the slots that no longer count. Those that a clock was set back behind count as of now: they leave within one window. */
export const current = (given: Rolling, now: number): Rolling => {
  const rolling = (given.slots.at(-1)?.[0] ?? 0) > now + given.slotMs ? setBack(given, now) : given
  const first = rolling.slots.findIndex(([, , last]) => last + rolling.windowMs > now)
  return first === 0 || rolling.slots.length === 0 ? rolling : { ...rolling, slots: first < 0 ? [] : rolling.slots.slice(first) }
}

/** Requests in all slots. */
export const count = (rolling: Rolling): number => rolling.slots.reduce((sum, [, n]) => sum + n, 0)

const beginOf = (rolling: Rolling, at: number): number => Math.floor(at / rolling.slotMs) * rolling.slotMs

/** Adds requests of one moment to its slot. */
export const add = (rolling: Rolling, n: number, at: number): Rolling => {
  const begin = beginOf(rolling, at)
  const after = rolling.slots.findIndex((slot) => slot[0] >= begin)
  const index = after < 0 ? rolling.slots.length : after
  const known = rolling.slots[index]
  const slot: Slot = known?.[0] === begin ? [begin, known[1] + n, Math.max(known[2], at)] : [begin, n, at]
  return { ...rolling, slots: rolling.slots.toSpliced(index, known?.[0] === begin ? 1 : 0, slot) }
}

const setBack = (rolling: Rolling, now: number): Rolling => {
  const ahead = (slot: Slot): boolean => slot[0] > now + rolling.slotMs
  const moved = count({ ...rolling, slots: rolling.slots.filter(ahead) })
  return add({ ...rolling, slots: rolling.slots.filter((slot) => !ahead(slot)) }, moved, now)
}

/** Takes a place out of the slot it was counted in: its request was not made. */
export const giveBack = (rolling: Rolling, slot: number): Rolling => ({
  ...rolling,
  slots: rolling.slots.flatMap((one): ReadonlyArray<Slot> => one[0] !== slot ? [one] : one[1] > 1 ? [[one[0], one[1] - 1, one[2]]] : [])
})

export type RollingReply =
  /** `slot`: begin of the slot in which the first place is counted. */
  | { readonly _tag: "Taken"; readonly count: number; readonly slot: number }
  /** `until`: when the first place comes free (ms since the epoch). */
  | { readonly _tag: "Refused"; readonly used: number; readonly until: number }

/**
 * Takes up to `n` places. The first is for a request of now. The others may be used until the end of the slot and count as used then.
 * So the oldest slot that counts holds a request of the past, and its place is free within one window.
 */
export const take = (given: Rolling, n: number, now: number): readonly [RollingReply, Rolling] => {
  const rolling = current(given, now)
  const used = count(rolling)
  const free = Math.min(n, rolling.limit - used)
  if (free <= 0) return [{ _tag: "Refused", used, until: freeAt(rolling, used, now) }, rolling]
  const slot = beginOf(rolling, now)
  const first = add(rolling, 1, now)
  return [{ _tag: "Taken", count: free, slot }, free === 1 ? first : add(first, free - 1, slot + rolling.slotMs)]
}

/** When enough of the oldest slots will have left, ms since the epoch. `used`: what all of them count now. */
export const freeAt = (rolling: Rolling, used: number, now: number): number => {
  let left = used
  for (const [, n, last] of rolling.slots) {
    left -= n
    if (left < rolling.limit) return last + rolling.windowMs
  }
  return now + rolling.windowMs
}
