/** Counts searches in memory, and adds the sums to the store in rounds. */
import * as Crypto from "node:crypto"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Semaphore from "effect/Semaphore"
import type { StoreError } from "#actors/ports/StoreError.ts"
import * as Rounds from "#src/platform/structures/Rounds.ts"
import { type Batch, type HourSums, type HourTotal, type ProviderSums, SearchStatisticsStore, type Sums, type Whose } from "./SearchStatisticsStore.ts"

/** One search, or one call of a provider. */
export type Noted = Omit<HourSums, "hour">

export class SearchStatistics extends Context.Service<SearchStatistics, {
  readonly note: (noted: Noted) => void
  readonly byProvider: (whose: Whose) => Effect.Effect<ReadonlyArray<ProviderSums>, StoreError>
  readonly byHour: (whose: Whose, since: number) => Effect.Effect<ReadonlyArray<HourTotal>, StoreError>
}>()("gateway/features/search/SearchStatistics") {}

export const HOUR_MS = 3_600_000
/** Between two writes, ms. */
const writeEveryMs = 1_000
/** Longest wait of a reader for what is being written, ms. */
const readWaitMs = 1_000
/** Sums that wait for the store; more are not counted, because the store has been away for long. */
const mostWaiting = 10_000
/** How long sums are kept, ms. */
const keepMs = 400 * 24 * HOUR_MS
/** How long a batch may be sent again and is known, ms. */
const knownMs = 24 * HOUR_MS
/** What is old is looked for at most this often, ms. */
const sweepEveryMs = HOUR_MS

const plus = (a: Sums, b: Sums): Sums => ({
  requests: a.requests + b.requests, attempts: a.attempts + b.attempts, cached: a.cached + b.cached, errors: a.errors + b.errors, costUsd: a.costUsd + b.costUsd, durationMs: a.durationMs + b.durationMs
})

const make = Effect.gen(function*() {
  const store = yield* SearchStatisticsStore
  const clock = yield* Clock.Clock
  const lock = yield* Semaphore.make(1)
  let waiting = new Map<string, HourSums>()
  let sending: Batch | null = null
  let sweptAt = 0

  const keep = (row: HourSums): void => {
    const { connectionId, hour, keyId, provider } = row
    const name = JSON.stringify([hour, keyId, provider, connectionId])
    const known = waiting.get(name)
    if (known === undefined && waiting.size >= mostWaiting) return
    waiting.set(name, known === undefined ? row : { ...row, ...plus(known, row) })
  }

  /** A batch is sent until the store has it. */
  const write = lock.withPermits(1)(Effect.suspend(() => {
    if (sending === null && waiting.size > 0) {
      sending = { id: Crypto.randomUUID(), at: clock.currentTimeMillisUnsafe(), rows: [...waiting.values()] }
      waiting = new Map()
    }
    return sending === null ? Effect.void : Effect.ignore(Effect.andThen(store.add(sending), Effect.sync(() => {
      sending = null
    })))
  }))

  const sweep = Effect.suspend(() => {
    const now = clock.currentTimeMillisUnsafe()
    if (now - sweptAt < sweepEveryMs) return Effect.void
    sweptAt = now
    return Effect.ignore(store.removeBefore(now - keepMs, now - knownMs))
  })

  const rounds = yield* Rounds.make("search statistics", () => waiting.size > 0 || sending !== null, Duration.millis(writeEveryMs), Effect.andThen(write, sweep))
  yield* Effect.addFinalizer(() => write)

  const written = Effect.timeoutOption(write, Duration.millis(readWaitMs))

  return SearchStatistics.of({
    note: (noted) => {
      const now = clock.currentTimeMillisUnsafe()
      keep({ ...noted, hour: now - now % HOUR_MS })
      rounds.wake()
    },
    // What this node counted a moment ago is shown, too.
    byProvider: (whose) => Effect.andThen(written, store.byProvider(whose)),
    byHour: (whose, since) => store.byHour(whose, since)
  })
})

export const layer = Layer.effect(SearchStatistics, make)
