/** What keys have used, from the ledger's rows; what is still on its way to the store is waited for. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Ledger } from "#actors/request/ports/Ledger.ts"
import { ShortWait, LimitLedger, type Used } from "#actors/limits/ports/LimitLedger.ts"
import { StoreError } from "#actors/ports/StoreError.ts"
import { UsageStore } from "#actors/ports/UsageStore.ts"
import * as LookUps from "#src/platform/structures/LookUps.ts"

/** Longest wait for settled rows to arrive in the store, ms. */
const flushMs = 5_000
/** Pieces in which a rolling window is counted. */
const pieces = 6

/** A sum that came too late for its request is kept this long for the next one, ms. */
const keepMs = 5_000

export interface Options {
  /** Longest wait of a request, ms. */
  readonly lookUpMs: number
}

export const make = Effect.fnUntraced(function*({ lookUpMs }: Options) {
  const ledger = yield* Ledger
  const store = yield* UsageStore
  const sums = yield* LookUps.make<ReadonlyArray<Used>>({ name: "LimitLedger", withinMs: lookUpMs, keepMs })
  const counts = yield* LookUps.make<ReadonlyArray<readonly [number, number]>>({ name: "LimitLedger", withinMs: lookUpMs, keepMs })
  const arrivals = yield* LookUps.make<void>({ name: "LimitLedger", withinMs: lookUpMs })
  const bounded = <A>(lookUps: LookUps.LookUps<A>, key: string, question: Effect.Effect<A, StoreError>) =>
    Effect.withFiber<A, StoreError>((fiber) => fiber.getRef(ShortWait) ? lookUps.ask(key, question) : question)

  const flushed = Effect.gen(function*() {
    const began = yield* Clock.currentTimeMillis
    yield* ledger.flush(flushMs)
    if ((yield* Clock.currentTimeMillis) - began < flushMs) return
    return yield* new StoreError({
      store: "LimitLedger", operation: "flush", reason: "unavailable", message: `LimitLedger.flush: settled rows did not reach the record store within ${flushMs} ms.`
    })
  })

  const requests = Effect.fnUntraced(function*(apiKeyId: string, windowMs: number) {
    yield* flushed
    const now = yield* Clock.currentTimeMillis
    const piece = windowMs / pieces
    const seen: Array<readonly [number, number]> = []
    for (let index = 0; index < pieces; index++) {
      const { requests } = yield* store.totals({
        apiKeyId, since: now - (index + 1) * piece + 1, finalOnly: true, ...(index === 0 ? {} : { until: now - index * piece })
      })
      if (requests > 0) seen.push([Math.floor(index * piece), requests])
    }
    return seen
  })

  return LimitLedger.of({
    journal: ledger.journal,
    settled: bounded(arrivals, "settled", flushed),
    used: (apiKeyId, since) => bounded(sums, `${apiKeyId}:${since}`, Effect.andThen(flushed, store.usedBy(apiKeyId, since))),
    requests: (apiKeyId, windowMs) => bounded(counts, `${apiKeyId}:${windowMs}`, requests(apiKeyId, windowMs))
  })
})

export const layer = (options: Options) => Layer.effect(LimitLedger, make(options))
