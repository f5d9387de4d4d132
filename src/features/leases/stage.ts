/**
 * Conversations of managed keys (scope lease:exclusive): only under a lease, only on its connection, and fenced immediately before each
 * wire call. Other keys pass unless they present a lease, which can only be another key's. A connection serves sessions alone when only
 * managed keys may use it.
 */
import * as Effect from "effect/Effect"
import { claimOf, Leases } from "#actors/lease/Leases.ts"
import * as Standing from "#actors/lease/standing.ts"
import type { LeaseStoreDown } from "#actors/lease/LeaseStore.ts"
import { PublicError } from "#schemas/errors.ts"
import type { Lease } from "#schemas/protocols/Lease.ts"
import { LeaseFence } from "./LeaseFence.ts"
import * as LeaseContext from "#src/inference/lane/leaseContext.ts"
import * as LeaseErrors from "#src/inference/lane/leaseErrors.ts"
import { Forks } from "#src/inference/lane/services/Forks.ts"
import { type Fork, type Stage, wait } from "#src/inference/lane/stages/Stages.ts"

export interface Options {
  readonly leases: Leases["Service"]
  /** ms since the epoch. */
  readonly now: () => number
  readonly fork: Fork
}

/** Looks the lease up, before anything else is done for the call. */
export const make = ({ fork, leases, now }: Options): Stage => ({
  name: "leases",
  applies: ({ key, request }) => (key !== null && Standing.isManaged(key)) || LeaseContext.isPresented(request),
  run: (call, next) => {
    const { key } = call
    const context = LeaseContext.contextOf(call.request)
    if (context instanceof PublicError) {
      call.passage.refuse(context)
      return
    }
    if (key === null || !Standing.isManaged(key)) {
      call.passage.refuse(LeaseErrors.fenceStale)
      return
    }
    if (key.policy.allowedConnections.length === 0) {
      call.passage.refuse(LeaseErrors.keyConfigurationInvalid)
      return
    }
    const claim = claimOf(context.owner, key, context.generation)
    const goOn = (lease: Lease | null | LeaseStoreDown): void => {
      if (lease === null) call.passage.refuse(LeaseErrors.fenceStale)
      else if ("_tag" in lease) call.passage.refuse(LeaseErrors.serviceUnavailable)
      else next({ ...call, lease: new LeaseFence(leases, claim, key, lease, now) })
    }
    const found = leases.find(claim, key)
    if (!Effect.isEffect(found)) {
      goOn(found)
      return
    }
    wait(call, fork, Effect.match(found, { onFailure: (down) => down, onSuccess: (lease) => lease }), "its lease was looked up", goOn)
  }
})

/** The stage over the leases of this gateway. */
export const stage = Effect.gen(function*() {
  const { fork, now } = yield* Forks
  return make({ leases: yield* Leases, now, fork })
})

/** Last of all stages, so that the lease is the last interceptor before a wire call. */
export const fence: Stage = {
  name: "lease-fence",
  applies: ({ lease }) => lease !== undefined,
  run: (call, next) => next(call.lease === undefined ? call : { ...call, interceptors: [...call.interceptors, call.lease] })
}
