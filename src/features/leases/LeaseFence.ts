/**
 * The interceptor of one request under a lease. It puts the leased connection first, has the store confirm the lease immediately
 * before each wire call, and moves the lease when routing continues with another connection: after the leased one was left out or
 * failed, never beside a call that still runs. The generation stays the same.
 */
import * as Effect from "effect/Effect"
import type { Leases } from "#actors/lease/Leases.ts"
import type { CallRefusal } from "#actors/request/ports/Interceptor.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import type { PublicError } from "#schemas/errors.ts"
import type { LeaseClaim, EndReason, Lease, MoveReply } from "#schemas/protocols/Lease.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import type { LedgerRow } from "#schemas/records/LedgerRow.ts"
import * as LeaseErrors from "#src/inference/lane/leaseErrors.ts"
import type { Fence } from "#src/inference/lane/stages/Stages.ts"
import { connectionFirst } from "#src/routing/connectionFirst.ts"
import type { Skipped } from "#src/routing/models/candidate.ts"
import type { Route } from "#src/routing/Router.ts"
import * as Unavailable from "#src/routing/unavailable.ts"

type Leave = CallRefusal | null

const refused = (error: PublicError, final = false): CallRefusal => ({ error, final })
const stale = refused(LeaseErrors.fenceStale, true)
const mismatch = refused(LeaseErrors.connectionMismatch)
const unavailable = refused(LeaseErrors.serviceUnavailable, true)

const idOf = ({ connection }: Target): string | null => connection === null ? null : connection.id

export class LeaseFence implements Fence {
  private readonly leases: Leases["Service"]
  private readonly claim: LeaseClaim
  private readonly key: ApiKey
  private readonly now: () => number
  private lease: Lease
  /** Connections whose turn in this request is over: left out by routing, or called. */
  private over: ReadonlyArray<string> = []
  /** Calls that run. */
  private running = 0
  /** Why routing left the leased connection out. */
  private leftOut: { readonly skipped: Skipped; readonly error: PublicError } | null = null

  constructor(leases: Leases["Service"], claim: LeaseClaim, key: ApiKey, lease: Lease, now: () => number) {
    this.leases = leases
    this.claim = claim
    this.key = key
    this.lease = lease
    this.now = now
  }

  /** The leased connection's targets first; where it is left out the others, and where it does not serve the model nothing. */
  arrange(route: Route): Route | PublicError {
    const { connection } = this.lease
    if (route.targets.some((target) => idOf(target) === connection)) return connectionFirst(route, connection)
    const skipped = route.order.skipped.find(({ candidate }) => idOf(candidate.target) === connection)
    if (skipped === undefined) return LeaseErrors.connectionMismatch
    this.over = [connection]
    this.leftOut = { skipped, error: Unavailable.errorOf(skipped.candidate.target.publicModel, [skipped], this.now()) }
    return route
  }

  beforeAttempt(target: Target): Leave | Effect.Effect<Leave> {
    const id = idOf(target)
    if (id === null) return mismatch
    if (id !== this.lease.connection && !this.mayMove) return mismatch
    const found = this.leases.find(this.claim, this.key)
    if (!Effect.isEffect(found)) return this.judge(found, id)
    return Effect.catchCause(Effect.flatMap(found, (lease) => {
      const leave = this.judge(lease, id)
      return Effect.isEffect(leave) ? leave : Effect.succeed(leave)
    }), storeDown)
  }

  private get mayMove(): boolean {
    return this.running === 0 && this.over.includes(this.lease.connection)
  }

  private judge(lease: Lease | null, id: string): Leave | Effect.Effect<Leave> {
    if (lease === null) return stale
    this.lease = lease
    if (lease.connection === id) return this.goes(id)
    // Another request of the session moved the lease: what it holds now may still have its turn.
    if (!this.mayMove) return mismatch
    return Effect.catchCause(Effect.map(this.leases.move(this.claim, lease.connection, id), (reply) => this.moved(reply, id)), storeDown)
  }

  private moved(reply: MoveReply, id: string): Leave {
    switch (reply._tag) {
      case "Stale":
        return stale
      case "Taken":
        return this.nowhere()
      case "Held":
        this.lease = reply.lease
        return reply.lease.connection === id ? this.goes(id) : mismatch
    }
  }

  /** A connection that was left out and whose place elsewhere is taken: the lease ends if it cannot see its connection back. */
  private nowhere(): CallRefusal {
    const { leftOut } = this
    if (leftOut === null || leftOut.skipped.candidate.target.connection?.id !== this.lease.connection) return mismatch
    const { reason, until } = leftOut.skipped.unavailable
    if (until !== null && until >= this.lease.expiresAt) this.leases.end(this.lease, endReasonOf(reason))
    return refused(leftOut.error)
  }

  private goes(id: string): null {
    this.over = [...this.over, id]
    this.running++
    return null
  }

  attemptSettled(_row: LedgerRow): void {
    if (this.running > 0) this.running--
  }

  /** Its turn is over, and nothing runs there. */
  unused(_target: Target): void {
    this.running--
  }

  closed(): void {}
}

const endReasonOf = (reason: string): EndReason => reason === "quota-exhausted" ? "QUOTA_UNAVAILABLE" : "HEALTH_OR_COOLDOWN"

const storeDown = (_cause: unknown): Effect.Effect<Leave> => Effect.succeed(unavailable)
