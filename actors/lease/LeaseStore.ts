/**
 * Where leases live: each operation is one atomic transition of `actors/lease/Lease.ts`, timed by the store's own clock. A lease
 * that the store lost is lost for every node; there are never two for one connection.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Acquire, AcquireReply, LeaseChange, LeaseClaim, ClaimReply, EndReason, Lease, MoveReply, ReleaseReason } from "#schemas/protocols/Lease.ts"

/** The store cannot be asked; nothing is known about what it did. Requests that need a lease are refused (fail closed). */
export class LeaseStoreDown extends Schema.TaggedError<LeaseStoreDown>()("LeaseStoreDown", { message: Schema.String }) {}

/** A reply and what it changed, for the audit. */
export interface LeaseOutcome<Reply> {
  readonly reply: Reply
  readonly changes: ReadonlyArray<LeaseChange>
}

type Op<Reply> = Effect.Effect<LeaseOutcome<Reply>, LeaseStoreDown>

export class LeaseStore extends Context.Service<LeaseStore, {
  readonly acquire: (command: Acquire) => Op<AcquireReply>
  readonly renew: (claim: LeaseClaim, ttlMs: number) => Op<ClaimReply>
  readonly release: (claim: LeaseClaim, reason: ReleaseReason) => Op<ClaimReply>
  /** The ACTIVE lease that the claim fits, or null; at once where the store is this process. */
  readonly find: (claim: LeaseClaim) => Lease | null | Effect.Effect<Lease | null, LeaseStoreDown>
  /** Binds the lease to another connection if it is still at `from` and no other lease holds `to`. */
  readonly move: (claim: LeaseClaim, from: string, to: string) => Op<MoveReply>
  /** Ends exactly this lease where it stands; false when it has ended, moved or was followed by another. */
  readonly invalidate: (lease: Lease, reason: EndReason) => Op<boolean>
  /** Takes away what expired; answers how many are ACTIVE. */
  readonly sweep: Op<number>
  readonly active: Effect.Effect<ReadonlyArray<Lease>, LeaseStoreDown>
}>()("gateway/ports/LeaseStore") {}
