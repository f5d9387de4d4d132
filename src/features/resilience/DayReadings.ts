/**
 * Reads from the ledger what connections with a limit per day have used, on all nodes: at the start, when such a limit is set, and
 * when the number of nodes is another. A ledger that cannot be read keeps no node from starting: it counts from what it knows.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Supervisor from "#actors/Supervisor.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { UsageStore } from "#actors/ports/UsageStore.ts"
import { Ledger } from "#actors/request/ports/Ledger.ts"
import * as Volume from "#actors/resilience/Volume.ts"
import { ConnectionVolumes } from "./ports/ConnectionVolumes.ts"

/** Longest wait for settled calls to arrive in the ledger's store, ms. */
const flushMs = 5_000
/** Pause after a reading that failed. */
const pause = "10 seconds"

const make = Effect.gen(function*() {
  const ledger = yield* Ledger
  const store = yield* UsageStore
  const volumes = yield* ConnectionVolumes

  const reading: Effect.Effect<void, StoreError> = Effect.suspend(() => {
    const ids = volumes.unread()
    if (ids.length === 0) return Effect.void
    return Effect.gen(function*() {
      // Nothing that was settled before is missing from the sum; what is settled meanwhile counts on top of it.
      yield* ledger.flush(flushMs)
      const take = volumes.begin(ids)
      const used = store.connectionUse(ids, (yield* Clock.currentTimeMillis) - Volume.dayMs, Volume.daySlotMs)
      const slots = yield* Effect.onError(used, () => Effect.sync(() => take(null)))
      take(Map.groupBy(slots, ({ connectionId }) => connectionId))
    })
  })
  const round = reading.pipe(Effect.as(true), Effect.catch((error) =>
    Effect.as(Effect.logWarning(`What connections used in the last day was not read: ${error.message}`), false)))

  yield* round
  yield* Supervisor.loop("connection days", Effect.andThen(volumes.wanted, Effect.flatMap(round, (done) => done ? Effect.void : Effect.sleep(pause))))
})

export const layer = Layer.effectDiscard(make)
