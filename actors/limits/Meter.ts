/**
 * One amount per fixed window, as one node counts it: what all nodes have booked, the block this node holds, what it spent of it
 * and what its requests in flight have reserved. Pure: `(state, event, now) -> [reply, state]`.
 *
 * A block is a lease on a part of the limit: only what is held may be reserved, so the blocks of all nodes together never pass
 * the limit. One exception keeps a limit usable to its end: while no request of this node is in flight, one request may begin on
 * the rest, although it may need more. Overshoot is therefore at most one request per node and meter, and what a request uses
 * above its own reservation.
 */
import { type FixedWindow, type Span, spanAt } from "#actors/limits/window.ts"

/** Amounts are whole numbers: tokens, or units of 1e-10 USD. */
export interface Meter extends Span {
  readonly limit: number
  /** What the store knows as used in this window, over all nodes. */
  readonly booked: number
  /** What this node may spend before it asks again; null until it has asked in this window. */
  readonly held: number | null
  /** The block is no longer ours from this time on, ms by the steady clock that `step` is given. */
  readonly heldUntil: number
  /** All that this node used in this window, and how much of it is booked. */
  readonly total: number
  readonly reported: number
  readonly reserved: number
  /** Reservations in flight. */
  readonly inFlight: number
  /** Listeners were notified that the window ended. */
  readonly announced: boolean
}

/** A part of one window, held for one wire call; `start` tells the window, so that a late settle never counts in the next one. */
export interface Reservation {
  readonly start: number
  readonly amount: number
}

export type MeterEvent =
  | { readonly _tag: "Reserve"; readonly amount: number }
  /** The call is over and used `actual`. */
  | { readonly _tag: "Settle"; readonly reservation: Reservation; readonly actual: number }
  /** The call was never made. */
  | { readonly _tag: "Release"; readonly reservation: Reservation }
  /** The ledger knows what this node used before this meter began to count. */
  | { readonly _tag: "Base"; readonly start: number; readonly amount: number }
  /** The store's answer to an exchange that said `sent` for the total. */
  | { readonly _tag: "Drawn"; readonly start: number; readonly booked: number; readonly reported: number; readonly held: number; readonly heldUntil: number; readonly sent: number }
  /** The block is not used any more, whether or not the store is informed. */
  | { readonly _tag: "Yield" }
  /** The operator changed the limit. */
  | { readonly _tag: "Limit"; readonly limit: number }

export type MeterReply =
  | { readonly _tag: "Reserved"; readonly reservation: Reservation }
  /** `unknown`: the store was not asked in this window; `exhausted`: the limit is used up; `short`: what is left is held by requests in flight or other nodes. */
  | { readonly _tag: "Refused"; readonly reason: "unknown" | "exhausted" | "short" }
  /** `crossed`: with this the limit is used up, which is said once per window. */
  | { readonly _tag: "Done"; readonly crossed: boolean }

export type MeterStep = readonly [reply: MeterReply, state: Meter]

export const make = (window: FixedWindow, limit: number, now: number): Meter => ({
  ...spanAt(window, now), limit, booked: 0, held: null, heldUntil: 0, total: 0, reported: 0, reserved: 0, inFlight: 0, announced: false
})

/** Used by this node and not yet booked. */
export const unreported = (meter: Meter): number => meter.total - meter.reported

/** What all nodes have booked, and what this node has used since. */
export const used = (meter: Meter): number => meter.booked + unreported(meter)

/** What is left of this node's block, reserved or not: it keeps using that until the store says otherwise. */
export const remaining = (meter: Meter, now: number): number =>
  meter.held === null || now >= meter.heldUntil ? 0 : Math.max(0, meter.held - unreported(meter))

/** What may still be reserved here and now. */
export const available = (meter: Meter, now: number): number => Math.max(0, remaining(meter, now) - meter.reserved)

/** The meter in the window that holds `now`: a new one begins empty, and what is in flight belongs to the old one. */
export const rolled = (meter: Meter, window: FixedWindow, now: number): Meter =>
  now < meter.end ? meter : make(window, meter.limit, now)

const done = (meter: Meter): MeterStep => {
  const crossed = !meter.announced && meter.limit > 0 && used(meter) >= meter.limit
  return [{ _tag: "Done", crossed }, crossed ? { ...meter, announced: true } : meter]
}

/** Events of another window than the meter's are answered and change nothing. `now`: ms by a monotonic clock. */
export const step = (meter: Meter, event: MeterEvent, now: number): MeterStep => {
  switch (event._tag) {
    case "Reserve": {
      const amount = Math.max(1, Math.ceil(event.amount))
      const free = available(meter, now)
      if (used(meter) >= meter.limit && meter.held !== null) return [{ _tag: "Refused", reason: "exhausted" }, meter]
      if (amount > free && !(free > 0 && meter.inFlight === 0)) {
        return [{ _tag: "Refused", reason: meter.held === null || now >= meter.heldUntil ? "unknown" : "short" }, meter]
      }
      return [
        { _tag: "Reserved", reservation: { start: meter.start, amount } },
        { ...meter, reserved: meter.reserved + amount, inFlight: meter.inFlight + 1 }
      ]
    }
    case "Settle":
    case "Release": {
      const { amount, start } = event.reservation
      if (start !== meter.start) return [{ _tag: "Done", crossed: false }, meter]
      const actual = event._tag === "Settle" ? Math.max(0, Math.round(event.actual)) : 0
      return done({ ...meter, reserved: meter.reserved - amount, inFlight: meter.inFlight - 1, total: meter.total + actual })
    }
    case "Base":
      return event.start !== meter.start
        ? [{ _tag: "Done", crossed: false }, meter]
        : [{ _tag: "Done", crossed: false }, { ...meter, total: meter.total + event.amount, reported: meter.reported + event.amount }]
    case "Drawn": {
      if (event.start !== meter.start) return [{ _tag: "Done", crossed: false }, meter]
      // The ledger reported more usage of this node to the store than the node itself knew.
      const ahead = Math.max(0, event.reported - event.sent)
      return done({ ...meter, booked: event.booked, held: event.held, heldUntil: event.heldUntil, total: meter.total + ahead, reported: event.reported })
    }
    case "Yield":
      return [{ _tag: "Done", crossed: false }, meter.held === null ? meter : { ...meter, held: 0 }]
    case "Limit":
      // What is held was measured by the old limit: ask again.
      return [{ _tag: "Done", crossed: false }, { ...meter, limit: event.limit, heldUntil: 0, announced: meter.announced && event.limit <= used(meter) }]
  }
}
