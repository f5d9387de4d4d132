/**
 * Sums by hour that are counted in memory and added to a store in rounds. A batch is sent until the store has it; the store knows a batch
 * by its id, so that none counts twice.
 */
import * as Crypto from "node:crypto"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"
import type { StoreError } from "#actors/ports/StoreError.ts"
import * as Rounds from "#src/platform/structures/Rounds.ts"

/** Sums that are added together, once. */
export interface Batch<Row> {
  readonly id: string
  /** ms since the epoch. */
  readonly at: number
  /** No two of the same name. */
  readonly rows: ReadonlyArray<Row>
}

export interface Store<Row> {
  /** Adds to what is stored; a batch that is stored already changes nothing. */
  readonly add: (batch: Batch<Row>) => Effect.Effect<void, StoreError>
  /** Removes hours, and the ids of batches, before a time; answers how many hours went. */
  readonly removeBefore: (hour: number, batch: number) => Effect.Effect<number, StoreError>
}

export interface Kind<Row> {
  readonly loop: "compression statistics" | "search statistics"
  /** What rows that are summed have in common. */
  readonly nameOf: (row: Row) => string
  readonly plus: (known: Row, row: Row) => Row
  /** Hours of before this time (ms) are removed; null = none. */
  readonly goneBefore: (now: number) => number | null
}

export interface HourSums<Row> {
  /** Counts for the hour that it is. */
  readonly note: (rows: ReadonlyArray<Omit<Row, "hour">>) => void
  /** What was counted until now stands in the store, or a moment has passed. */
  readonly written: Effect.Effect<void>
}

export const HOUR_MS = 3_600_000
/** Between two writes, ms. */
const writeEveryMs = 1_000
/** Longest wait of a reader for what is being written, ms. */
const readWaitMs = 1_000
/** Sums that wait for the store; more are not counted, because the store has been away for long. */
const mostWaiting = 10_000
/** How long sums are kept where no setting says otherwise, ms. */
export const KEPT_MS = 400 * 24 * HOUR_MS
/** How long a batch may be sent again and is known, ms. */
const knownMs = 24 * HOUR_MS
/** What is old is looked for at most this often, ms. */
const sweepEveryMs = HOUR_MS

export const make = Effect.fnUntraced(function*<Row extends { readonly hour: number }>(store: Store<Row>, { goneBefore, loop, nameOf, plus }: Kind<Row>) {
  const clock = yield* Clock.Clock
  const lock = yield* Semaphore.make(1)
  let waiting = new Map<string, Row>()
  let sending: Batch<Row> | null = null
  let sweptAt = 0

  const keep = (row: Row): void => {
    const name = nameOf(row)
    const known = waiting.get(name)
    if (known === undefined && waiting.size >= mostWaiting) return
    waiting.set(name, known === undefined ? row : plus(known, row))
  }

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
    return Effect.ignore(store.removeBefore(goneBefore(now) ?? 0, now - knownMs))
  })

  const rounds = yield* Rounds.make(loop, () => waiting.size > 0 || sending !== null, Duration.millis(writeEveryMs), Effect.andThen(write, sweep))
  yield* Effect.addFinalizer(() => write)

  return {
    note: (rows) => {
      const now = clock.currentTimeMillisUnsafe()
      const hour = now - now % HOUR_MS
      for (const row of rows) keep({ ...row, hour } as Row)
      rounds.wake()
    },
    written: Effect.asVoid(Effect.timeoutOption(write, Duration.millis(readWaitMs)))
  } satisfies HourSums<Row>
})
