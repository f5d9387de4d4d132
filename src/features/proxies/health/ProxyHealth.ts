/** How outbound proxies do: tunnels are counted in memory, and the sums go to the store in rounds. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Semaphore from "effect/Semaphore"
import type { StoreError } from "#actors/ports/StoreError.ts"
import * as Rounds from "#src/platform/structures/Rounds.ts"
import { Tunnels } from "#src/platform/upstream/egress/TunnelCounts.ts"
import { type ProxyCount, ProxyHealthStore } from "./ProxyHealthStore.ts"

export class ProxyHealth extends Context.Service<ProxyHealth, {
  /** Of the last hours, those of this node's last moments among them; other nodes' may be some seconds late. */
  readonly over: (hours: number) => Effect.Effect<ReadonlyArray<ProxyCount>, StoreError>
}>()("gateway/proxies/ProxyHealth") {}

const HOUR_MS = 3_600_000
/** Longest window that may be asked for, hours. */
export const MOST_HOURS = 720
/** Between two writes, ms. */
const writeEveryMs = 5_000
/** Longest wait of a reader for what is being written, ms. */
const readWaitMs = 1_000

const hourOf = (ms: number): number => ms - ms % HOUR_MS

const make = Effect.gen(function*() {
  const clock = yield* Clock.Clock
  const lock = yield* Semaphore.make(1)
  const store = yield* ProxyHealthStore
  const tunnels = yield* Tunnels
  let sweptAt = 0

  // What a failed write has stored all the same is counted twice: the sums are for people.
  const write = lock.withPermits(1)(Effect.suspend(() => {
    const counts = tunnels.take()
    return counts.size === 0 ? Effect.void : store.add(hourOf(clock.currentTimeMillisUnsafe()), Array.from(counts, ([proxyId, count]) => ({ proxyId, ...count }))).pipe(
      Effect.catch(() => Effect.sync(() => tunnels.giveBack(counts)))
    )
  }))

  const sweep = Effect.suspend(() => {
    const now = clock.currentTimeMillisUnsafe()
    if (now - sweptAt < HOUR_MS) return Effect.void
    sweptAt = now
    return Effect.ignore(store.removeBefore(hourOf(now) - (MOST_HOURS + 1) * HOUR_MS))
  })

  const rounds = yield* Rounds.make("proxy health", () => tunnels.size > 0, Duration.millis(writeEveryMs), Effect.andThen(write, sweep))
  tunnels.onCounted = rounds.wake
  yield* Effect.addFinalizer(() => Effect.andThen(Effect.sync(() => {
    tunnels.onCounted = null
  }), write))

  return ProxyHealth.of({
    over: (hours) => Effect.andThen(
      Effect.timeoutOption(write, Duration.millis(readWaitMs)),
      Effect.suspend(() => store.since(hourOf(clock.currentTimeMillisUnsafe() - hours * HOUR_MS)))
    )
  })
})

export const layer = Layer.effect(ProxyHealth, make)
