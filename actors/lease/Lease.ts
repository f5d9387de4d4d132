/**
 * Exclusive leases of connections: pure transitions over all leases of one store. At most one ACTIVE lease per owner and
 * one per connection. A lease past its expiry counts as ended on every read, before the sweep removes it.
 *
 * A generation comes from outside: it is drawn from a durable counter after this store has said that a place is free, and it is
 * accepted only in the same life of the store (`epoch`) and above every generation this life has seen of the owner.
 */
import type {
  Acquire, AcquireReply, LeaseChange, LeaseClaim, ClaimReply, EndReason, Lease, MoveReply, ReleaseReason
} from "#schemas/protocols/Lease.ts"

export interface State {
  /** Differs in every life of the store: a generation drawn for a former life is drawn anew. */
  readonly epoch: string
  readonly leases: ReadonlyMap<string, Lease>
  /** Owner by connection. */
  readonly holders: ReadonlyMap<string, string>
  /** Highest generation by owner, of the owners that acquired last. */
  readonly highest: ReadonlyMap<string, number>
}

export type LeaseStep<Reply> = readonly [reply: Reply, state: State, changes: ReadonlyArray<LeaseChange>]

/** No leases; `epoch` tells this store from one that was lost. */
export const fresh = (epoch: string): State => ({ epoch, leases: new Map(), holders: new Map(), highest: new Map() })

/** Owners whose highest generation is kept: enough for owners that draw at the same moment; the durable counter has the rest. */
export const rememberedOwners = 1_000

const none: ReadonlyArray<LeaseChange> = []
const stale: { readonly _tag: "Stale" } = { _tag: "Stale" }

const isLive = (lease: Lease, now: number): boolean => lease.expiresAt > now

/** The owner's ACTIVE lease if the claim fits it: owner, key and exact generation. */
export const find = (state: State, claim: LeaseClaim, now: number): Lease | null => {
  const lease = state.leases.get(claim.owner)
  return lease !== undefined && isLive(lease, now) && lease.generation === claim.generation && lease.keyId === claim.keyId &&
      lease.keyPrint === claim.keyPrint
    ? lease
    : null
}

const without = (state: State, lease: Lease): State => {
  const leases = new Map(state.leases)
  const holders = new Map(state.holders)
  leases.delete(lease.owner)
  if (holders.get(lease.connection) === lease.owner) holders.delete(lease.connection)
  return { ...state, leases, holders }
}

const withLease = (state: State, lease: Lease): State => {
  const before = state.leases.get(lease.owner)
  const leases = new Map(state.leases).set(lease.owner, lease)
  if (before !== undefined && before.connection === lease.connection) return { ...state, leases }
  const holders = new Map(state.holders)
  if (before !== undefined && holders.get(before.connection) === lease.owner) holders.delete(before.connection)
  return { ...state, leases, holders: holders.set(lease.connection, lease.owner) }
}

const remembering = (state: State, { generation, owner }: Lease): State => {
  const highest = new Map(state.highest)
  highest.delete(owner)
  highest.set(owner, generation)
  if (highest.size > rememberedOwners) highest.delete(highest.keys().next().value as string)
  return { ...state, highest }
}

const ended = (lease: Lease, reason: EndReason, now: number): LeaseChange => ({
  kind: reason === "TTL_EXPIRED" ? "EXPIRED" : reason === "OWNER_EXIT" || reason === "CLIENT_CANCELLED" ? "RELEASED" : "INVALIDATED",
  lease, reason, at: now
})

/** Why a lease of this owner must go before the owner can have another one. */
const reasonToLeave = (lease: Lease, command: Acquire, now: number): EndReason =>
  !isLive(lease, now) ? "TTL_EXPIRED" : lease.keyPrint !== command.keyPrint ? "MANAGED_KEY_REVOKED" : "MODEL_INELIGIBLE"

/** Gives the owner a free connection, or the lease that it holds, with a new end. */
export const acquire = (state: State, command: Acquire, now: number): LeaseStep<AcquireReply> => {
  const { available, drawn, fits, keyId, keyPrint, owner, ttlMs } = command
  const own = state.leases.get(owner)
  if (own !== undefined && isLive(own, now)) {
    if (own.keyId !== keyId) return [stale, state, none]
    if (own.keyPrint === keyPrint && fits.includes(own.connection)) {
      const lease = { ...own, renewedAt: now, expiresAt: now + ttlMs }
      return [{ _tag: "Granted", lease, reused: true }, withLease(state, lease), none]
    }
  }
  if (available.length === 0) return [{ _tag: "Unavailable" }, state, none]
  const competitor = (connection: string): Lease | null => {
    const holder = state.holders.get(connection)
    const lease = holder === undefined || holder === owner ? undefined : state.leases.get(holder)
    return lease !== undefined && isLive(lease, now) ? lease : null
  }
  const place = available.find((connection) => competitor(connection) === null)
  if (place === undefined) {
    const freeAt = Math.min(...available.map((connection) => competitor(connection)?.expiresAt ?? now))
    return [{ _tag: "Capacity", now, freeAt }, state, none]
  }
  const highest = Math.max(state.highest.get(owner) ?? 0, own?.generation ?? 0)
  if (drawn === null || drawn.epoch !== state.epoch || drawn.generation <= highest) {
    return [{ _tag: "Draw", epoch: state.epoch, highest }, state, none]
  }
  const changes: Array<LeaseChange> = []
  let next = state
  const leaves = (lease: Lease, reason: EndReason): void => {
    changes.push(ended(lease, reason, now))
    next = without(next, lease)
  }
  if (own !== undefined) leaves(own, reasonToLeave(own, command, now))
  const former = next.holders.get(place)
  const expired = former === undefined ? undefined : next.leases.get(former)
  if (expired !== undefined) leaves(expired, "TTL_EXPIRED")
  const lease: Lease = {
    owner, keyId, keyPrint, connection: place, generation: drawn.generation, acquiredAt: now, renewedAt: now, expiresAt: now + ttlMs
  }
  changes.push({ kind: "ACQUIRED", lease, reason: null, at: now })
  return [{ _tag: "Granted", lease, reused: false }, remembering(withLease(next, lease), lease), changes]
}

/** Moves the end of a lease; a stale claim changes nothing. */
export const renew = (state: State, claim: LeaseClaim, ttlMs: number, now: number): LeaseStep<ClaimReply> => {
  const found = find(state, claim, now)
  if (found === null) return [stale, state, none]
  const lease = { ...found, renewedAt: now, expiresAt: now + ttlMs }
  return [{ _tag: "Held", lease }, withLease(state, lease), none]
}

/** Ends a lease; a stale claim changes nothing. */
export const release = (state: State, claim: LeaseClaim, reason: ReleaseReason, now: number): LeaseStep<ClaimReply> => {
  const lease = find(state, claim, now)
  return lease === null ? [stale, state, none] : [{ _tag: "Held", lease }, without(state, lease), [ended(lease, reason, now)]]
}

/** Binds the lease to another connection; its generation and its time stay. Does nothing when it is no longer at `from`. */
export const move = (state: State, claim: LeaseClaim, from: string, to: string, now: number): LeaseStep<MoveReply> => {
  const found = find(state, claim, now)
  if (found === null) return [stale, state, none]
  if (found.connection !== from || from === to) return [{ _tag: "Held", lease: found }, state, none]
  const holder = state.holders.get(to)
  const other = holder === undefined ? undefined : state.leases.get(holder)
  if (other !== undefined && isLive(other, now)) return [{ _tag: "Taken" }, state, none]
  const lease = { ...found, connection: to }
  const changes: Array<LeaseChange> = other === undefined ? [] : [ended(other, "TTL_EXPIRED", now)]
  changes.push({ kind: "MOVED", lease, reason: null, at: now })
  return [{ _tag: "Held", lease }, withLease(other === undefined ? state : without(state, other), lease), changes]
}

/** Ends exactly this lease, unless it has moved or was followed by another meanwhile. */
export const invalidate = (state: State, given: Lease, reason: EndReason, now: number): LeaseStep<boolean> => {
  const lease = state.leases.get(given.owner)
  if (lease === undefined || lease.generation !== given.generation || lease.connection !== given.connection) return [false, state, none]
  return [true, without(state, lease), [ended(lease, isLive(lease, now) ? reason : "TTL_EXPIRED", now)]]
}

/** Takes away what expired; answers how many leases are ACTIVE. */
export const sweep = (state: State, now: number): LeaseStep<number> => {
  let next = state
  const changes: Array<LeaseChange> = []
  for (const lease of state.leases.values()) {
    if (isLive(lease, now)) continue
    changes.push(ended(lease, "TTL_EXPIRED", now))
    next = without(next, lease)
  }
  return [next.leases.size, next, changes]
}

/** The leases that have not ended by time. */
export const active = (state: State, now: number): ReadonlyArray<Lease> => [...state.leases.values()].filter((lease) => isLive(lease, now))
