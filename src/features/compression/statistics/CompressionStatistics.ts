/** Counts what compression saved in memory, and adds the sums to the store in rounds. */
import * as Crypto from "node:crypto"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Semaphore from "effect/Semaphore"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { CompressionSavings } from "#src/inference/ports/CompressionSavings.ts"
import * as Rounds from "#src/platform/structures/Rounds.ts"
import { type Batch, CompressionStatisticsStore, type HourSums, type PartSums } from "./CompressionStatisticsStore.ts"

export class CompressionStatistics extends Context.Service<CompressionStatistics, {
  /** Of hours from a time on (ms), with what this node counted a moment ago. */
  readonly since: (hour: number) => Effect.Effect<ReadonlyArray<PartSums>, StoreError>
}>()("gateway/features/compression/CompressionStatistics") {}

const HOUR_MS = 3_600_000
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

const make = Effect.gen(function*() {
  const store = yield* CompressionStatisticsStore
  const clock = yield* Clock.Clock
  const lock = yield* Semaphore.make(1)
  let waiting = new Map<string, HourSums>()
  let sending: Batch | null = null
  let sweptAt = 0

  const keep = (row: HourSums): void => {
    const name = JSON.stringify([row.hour, row.mode, row.comboId, row.engine])
    const known = waiting.get(name)
    if (known === undefined && waiting.size >= mostWaiting) return
    waiting.set(name, known === undefined ? row : {
      ...row, requests: known.requests + row.requests, before: known.before + row.before, after: known.after + row.after, fallbacks: known.fallbacks + row.fallbacks
    })
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

  const rounds = yield* Rounds.make("compression statistics", () => waiting.size > 0 || sending !== null, Duration.millis(writeEveryMs), Effect.andThen(write, sweep))
  yield* Effect.addFinalizer(() => write)
  const written = Effect.timeoutOption(write, Duration.millis(readWaitMs))

  return Context.make(CompressionStatistics, { since: (hour) => Effect.andThen(written, store.since(hour)) }).pipe(
    Context.add(CompressionSavings, {
      note: (mode, comboId, { compressedTokens, engines, originalTokens, validationFallback }) => {
        const now = clock.currentTimeMillisUnsafe()
        const of = (engine: string | null, before: number, after: number): HourSums => ({
          hour: now - now % HOUR_MS, mode, comboId, engine, requests: 1, before, after, fallbacks: engine === null && validationFallback ? 1 : 0
        })
        keep(of(null, originalTokens, compressedTokens))
        for (const { after, before, engine } of engines) keep(of(engine, before, after))
        rounds.wake()
      }
    })
  )
})

export const layer = Layer.effectContext(make)
