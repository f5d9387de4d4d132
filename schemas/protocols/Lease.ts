/**
 * Exclusive session leases: the requests and replies of the lease keeper. An owner is known by the SHA-256 of its header
 * only; times are ms since the epoch by the store's own clock.
 */
import * as Schema from "effect/Schema"

/** Value of the lease owner header: 256 random bits. */
export const ownerPattern = /^vlo_[A-Za-z0-9_-]{43}$/

/** The scope of a managed key: it uses connections by lease only. */
export const leaseScope = "lease:exclusive"

/** Why a lease ended. */
export const EndReason = Schema.Literals([
  "OWNER_EXIT", "CLIENT_CANCELLED", "TTL_EXPIRED", "AUTHORIZATION_CHANGED", "MANAGED_KEY_REVOKED", "CONNECTION_INELIGIBLE",
  "HEALTH_OR_COOLDOWN", "MODEL_INELIGIBLE", "QUOTA_UNAVAILABLE", "OPERATOR_RELEASED"
])
export type EndReason = typeof EndReason.Type

/** The only two that a client may send. */
export const releaseReasons = ["OWNER_EXIT", "CLIENT_CANCELLED"] as const
export type ReleaseReason = typeof releaseReasons[number]

/** What happened to a lease; a renewal is not written down. */
export const ChangeKind = Schema.Literals(["ACQUIRED", "MOVED", "RELEASED", "EXPIRED", "INVALIDATED"])
export type ChangeKind = typeof ChangeKind.Type

const moment = Schema.Int

/** An ACTIVE lease: one per owner and one per connection. */
export const Lease = Schema.Struct({
  /** SHA-256 of the owner, hex. */
  owner: Schema.String,
  keyId: Schema.String,
  /** Tells the key's value from a former one: a regenerated key fits no lease of its old value. */
  keyPrint: Schema.String,
  /** Id of the connection. */
  connection: Schema.String,
  generation: Schema.Int,
  acquiredAt: moment,
  renewedAt: moment,
  expiresAt: moment
})
export interface Lease extends Schema.Schema.Type<typeof Lease> {}

/** One line of the audit: `lease` as it stood after the change. */
export const LeaseChange = Schema.Struct({
  kind: ChangeKind,
  lease: Lease,
  /** Null while the lease lives. */
  reason: Schema.NullOr(EndReason),
  at: moment
})
export interface LeaseChange extends Schema.Schema.Type<typeof LeaseChange> {}

/** What a client says of its lease; it holds only if all of it fits the ACTIVE lease of the owner. */
export interface LeaseClaim {
  readonly owner: string
  readonly keyId: string
  readonly keyPrint: string
  readonly generation: number
}

/** A generation that was drawn for a lease that is to be made, and the life of the store in which that was asked for. */
export interface GenerationDrawn {
  readonly generation: number
  readonly epoch: string
}

export interface Acquire {
  readonly owner: string
  readonly keyId: string
  readonly keyPrint: string
  /** Connections that serve the model and that the key may use: an ACTIVE lease on one of them is reused. */
  readonly fits: ReadonlyArray<string>
  /** Those of them that are available, the best first. */
  readonly available: ReadonlyArray<string>
  readonly ttlMs: number
  /** Null at the first try: the answer says what to draw. */
  readonly drawn: GenerationDrawn | null
}

export interface Granted {
  readonly _tag: "Granted"
  readonly lease: Lease
  readonly reused: boolean
}
/** A connection is free: come again with a generation above `highest`, drawn for this `epoch`. */
export interface GenerationDraw {
  readonly _tag: "Draw"
  readonly epoch: string
  readonly highest: number
}
/** Every available connection is held by another owner; `freeAt`: when the first of those leases ends. */
export interface Capacity {
  readonly _tag: "Capacity"
  readonly now: number
  readonly freeAt: number
}
/** No connection is available. */
export interface Unavailable {
  readonly _tag: "Unavailable"
}
/** The named lease does not exist for this caller. */
export interface Stale {
  readonly _tag: "Stale"
}
export interface Held {
  readonly _tag: "Held"
  readonly lease: Lease
}
/** The other connection is held by another owner. */
export interface LeaseTaken {
  readonly _tag: "Taken"
}

export type AcquireReply = Granted | GenerationDraw | Capacity | Unavailable | Stale
export type ClaimReply = Held | Stale
/** `Held` also when the lease was moved before: its connection says where it is. */
export type MoveReply = Held | LeaseTaken | Stale
