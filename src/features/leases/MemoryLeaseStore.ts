/** Leases of one process, in its memory: a restart ends them all, and their generations do not come again (`LeaseRecords`). */
import * as Crypto from "node:crypto"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { LeaseStore, type LeaseOutcome } from "#actors/lease/LeaseStore.ts"
import * as Lease from "#actors/lease/Lease.ts"

export const make = Effect.gen(function*() {
  const clock = yield* Clock.Clock
  const now = () => clock.currentTimeMillisUnsafe()
  let state = Lease.fresh(Crypto.randomUUID())

  const run = <Reply>(step: (state: Lease.State, now: number) => Lease.LeaseStep<Reply>): Effect.Effect<LeaseOutcome<Reply>> =>
    Effect.sync(() => {
      const [reply, next, changes] = step(state, now())
      state = next
      return { reply, changes }
    })

  return LeaseStore.of({
    acquire: (command) => run((state, now) => Lease.acquire(state, command, now)),
    renew: (claim, ttlMs) => run((state, now) => Lease.renew(state, claim, ttlMs, now)),
    release: (claim, reason) => run((state, now) => Lease.release(state, claim, reason, now)),
    find: (claim) => Lease.find(state, claim, now()),
    move: (claim, from, to) => run((state, now) => Lease.move(state, claim, from, to, now)),
    invalidate: (lease, reason) => run((state, now) => Lease.invalidate(state, lease, reason, now)),
    sweep: run(Lease.sweep),
    active: Effect.sync(() => Lease.active(state, now()))
  })
})

export const layer: Layer.Layer<LeaseStore> = Layer.effect(LeaseStore, make)
