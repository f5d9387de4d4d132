/**
 * Changes that read a record and write it: one after another, on all nodes that share the records. A change sees what the one before
 * it wrote, so that two changes of different fields are both kept.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { StoreError } from "#actors/ports/StoreError.ts"

/**
 * Runs a change while no other one holds the lock. Where several nodes share the records, what it writes is kept as a whole or not at
 * all. It must read the stores, not what this node remembers, must not wait for the network, and must leave no fiber behind.
 * `unavailable` when another node holds the lock too long.
 */
export type RecordLock = <A, E, R>(change: Effect.Effect<A, E, R>) => Effect.Effect<A, E | StoreError, R>

export class RecordLocks extends Context.Service<RecordLocks, {
  /** The lock of one subject, such as `budgets`; changes of different subjects do not wait for each other. */
  readonly of: (subject: string) => RecordLock
}>()("gateway/ports/RecordLocks") {}
