/** What of leases outlives every lease store: the generations that were given out, and the audit of changes. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { StoreError } from "#actors/ports/StoreError.ts"
import type { LeaseChange } from "#schemas/protocols/Lease.ts"

export class LeaseRecords extends Context.Service<LeaseRecords, {
  /**
   * Draws a generation for an owner (SHA-256, hex): one more than the highest drawn so far and than `atLeast`. It is durable before it
   * is answered, so it never comes again, whatever else is lost.
   */
  readonly nextGeneration: (owner: string, atLeast: number) => Effect.Effect<number, StoreError>
  /** Writes changes down; one that is there already stays as it is. */
  readonly append: (changes: ReadonlyArray<LeaseChange>) => Effect.Effect<void, StoreError>
  /** The changes of one owner, or of all, newest first. */
  readonly changes: (query: { readonly owner?: string; readonly limit: number }) => Effect.Effect<ReadonlyArray<LeaseChange>, StoreError>
  /** Removes what changed before `time` (ms since the epoch), as far as it is the oldest; answers how many went. */
  readonly removeBefore: (time: number) => Effect.Effect<number, StoreError>
}>()("gateway/ports/LeaseRecords") {}
