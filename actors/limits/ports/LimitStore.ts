/**
 * What the limits of keys have in common over all nodes: how much of each amount is booked, which node holds which block of it,
 * how many requests a rate has seen, and which sessions are active. In one process the memory store, else Redis. Nothing here is
 * the truth: that is the ledger, from which every amount is rebuilt when the store does not know it.
 *
 * A block is a lease. One that expires is not free again: its node may have spent it and was killed or paused before it reported.
 * It counts as spent until the node reports, until its journal was replayed and the ledger says what it spent, or until the
 * window ends.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/** One meter's exchange: what this node has spent, and the block asked for. Amounts are whole numbers. */
export interface BlockDraw {
  /** Meter and window: another window is another id. */
  readonly id: string
  /** Ends when its window does (ms since the epoch); what is stored may be forgotten then. */
  readonly end: number
  readonly limit: number
  /**
   * All that this node has spent in the window, that of its earlier runs included: it only grows, so that an exchange may be
   * repeated, lost or answered late and each amount is still booked once.
   */
  readonly total: number
  /** Reserved by calls in flight: it counts as this node's block, whatever is left, for they may use it. */
  readonly reserved: number
  /** Smallest block this node needs to hold afterwards, never less than what it may use before the next exchange; 0 = it uses none. */
  readonly need: number
  /** Block it would like to hold. */
  readonly want: number
  /** What the ledger says each node has spent in the window; null unless it was asked. */
  readonly seen: ReadonlyMap<string, number> | null
  /** Nodes of which `seen` says all there is: their blocks are free if they have expired. */
  readonly settled: ReadonlyArray<string>
}

/** A block whose node did not report in time: it counts as spent until its true usage is known. */
export interface Unsettled {
  readonly node: string
  readonly amount: number
  /** When the node got it, ms since the epoch by the store's clock. */
  readonly grantedAt: number
  /** ms since it expired. */
  readonly forMs: number
}

export interface BlockDrawn {
  /** False: the store knows nothing of the meter and did nothing; come again with what the ledger says. */
  readonly known: boolean
  /** Used by all nodes as far as reported; blocks are not in it. */
  readonly booked: number
  /** This node's part of it: more than was drawn when the ledger knew more. */
  readonly reported: number
  /** Block of this node from now on, what it reserved included. */
  readonly held: number
  /** ms that this node may use the block without another exchange, from the moment of its request. */
  readonly leaseMs: number
  /** Expired blocks of other nodes. */
  readonly unsettled: ReadonlyArray<Unsettled>
  /** ms until the first living block of another node expires, unless it is renewed; null without any. */
  readonly nextExpiryMs: number | null
}

export interface Permits {
  /** False: the store does not know the window and did nothing; seed it first. */
  readonly known: boolean
  /** The first is for a request of now; the others may be used for `forMs` and count as used at its end. */
  readonly granted: number
  /** Where the first one is counted: begin of the slot, ms since the epoch by the store's clock. */
  readonly slot: number
  /** ms that unused ones may still be used. */
  readonly forMs: number
  /** Requests in the window, these included. */
  readonly used: number
  /** ms until a place comes free, at most the window unless the limit was lowered; 0 when some were granted. */
  readonly waitMs: number
}

/** The store cannot be asked; nothing is known about what it did. */
export class LimitStoreDown extends Schema.TaggedError<LimitStoreDown>()("LimitStoreDown", { message: Schema.String }) {}

export class LimitStore extends Context.Service<LimitStore, {
  /** False: this process is alone, every effect is synchronous, and a block may be all there is. */
  readonly shared: boolean
  readonly exchange: (draws: ReadonlyArray<BlockDraw>) => Effect.Effect<ReadonlyArray<BlockDrawn>, LimitStoreDown>
  /** The ledger has everything that earlier runs of this node spent; report it before the first exchange. */
  readonly replayed: Effect.Effect<void, LimitStoreDown>
  /** When nodes said so last, ms since the epoch by the store's clock; null = never, or long ago. */
  readonly replays: (nodes: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<number | null>, LimitStoreDown>
  /** Takes up to `want` places of a rolling window. */
  readonly permits: (id: string, windowMs: number, limit: number, want: number) => Effect.Effect<Permits, LimitStoreDown>
  /** Gives back a first place whose request was not made, with the slot it is counted in. */
  readonly giveBack: (id: string, windowMs: number, slot: number) => Effect.Effect<void, LimitStoreDown>
  /** Gives a rolling window that the store does not know what the ledger knows: pairs of age in ms and requests. */
  readonly seedPermits: (id: string, windowMs: number, limit: number, seen: ReadonlyArray<readonly [ageMs: number, count: number]>) => Effect.Effect<void, LimitStoreDown>
  /** Marks a session as active; false when it is new and `limit` others were active within `idleMs`. */
  readonly session: (id: string, session: string, limit: number, idleMs: number) => Effect.Effect<boolean, LimitStoreDown>
}>()("gateway/ports/LimitStore") {}
