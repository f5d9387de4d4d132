import { assert, layer as withLayer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { type SearchSums, SearchStatisticsStore } from "#src/features/search/statistics/SearchStatisticsStore.ts"

const HOUR = 3_600_000

const one = (fields: Partial<SearchSums> = {}): SearchSums => ({
  hour: 10 * HOUR, keyId: "k1", provider: "serper-search", connectionId: "c1", requests: 1, attempts: 1, cached: 0, errors: 0, costUsd: 0.001, durationMs: 250, ...fields
})

let made = 0
const batch = (rows: ReadonlyArray<SearchSums>) => ({ id: `batch-${++made}`, at: 20 * HOUR, rows })

export const suite = (name: string, layer: Layer.Layer<SearchStatisticsStore>): void => {
  withLayer(layer, { excludeTestServices: true })(`SearchStatisticsStore on ${name}`, (it) => {
    it.effect("sums are added to those of the same hour, key, provider and connection", () => Effect.gen(function*() {
      const store = yield* SearchStatisticsStore
      yield* store.add(batch([]))
      yield* store.add(batch([one(), one({ hour: 11 * HOUR, errors: 1 })]))
      yield* store.add(batch([one({ costUsd: 0.0000000001, durationMs: 100 })]))
      yield* store.add(batch([one({ connectionId: null, attempts: 0, cached: 1, costUsd: 0 }), one({ provider: "exa-search", keyId: null, costUsd: 0.007 })]))
      assert.deepStrictEqual(yield* store.byProvider({ keyId: "k1" }), [
        { provider: "serper-search", connectionId: null, requests: 1, attempts: 0, cached: 1, errors: 0, costUsd: 0, durationMs: 250 },
        { provider: "serper-search", connectionId: "c1", requests: 3, attempts: 3, cached: 0, errors: 1, costUsd: 0.0020000001, durationMs: 600 }
      ])
      assert.deepStrictEqual((yield* store.byProvider({ keyId: null })).map(({ costUsd, provider }) => [provider, costUsd]), [["exa-search", 0.007]])
      assert.deepStrictEqual((yield* store.byProvider("all")).map(({ provider, requests }) => [provider, requests]), [["exa-search", 1], ["serper-search", 1], ["serper-search", 3]])
    }))

    it.effect("a batch that is sent again is added once", () => Effect.gen(function*() {
      const store = yield* SearchStatisticsStore
      const sent = batch([one({ keyId: "again" }), one({ keyId: "again", provider: "exa-search" })])
      for (let i = 0; i < 2; i++) yield* store.add(sent)
      assert.deepStrictEqual((yield* store.byProvider({ keyId: "again" })).map(({ provider, requests }) => [provider, requests]), [["exa-search", 1], ["serper-search", 1]])
    }))

    it.effect("hours come in order, from a time on", () => Effect.gen(function*() {
      const store = yield* SearchStatisticsStore
      yield* store.add(batch([one({ keyId: "h", hour: 32 * HOUR }), one({ keyId: "h", hour: 30 * HOUR }), one({ keyId: "h", hour: 31 * HOUR, provider: "exa-search" }), one({ keyId: "h", hour: 31 * HOUR })]))
      assert.deepStrictEqual((yield* store.byHour({ keyId: "h" }, 31 * HOUR)).map(({ hour, requests }) => [hour / HOUR, requests]), [[31, 2], [32, 1]])
      assert.deepStrictEqual(yield* store.byHour({ keyId: "nobody" }, 0), [])
    }))

    it.effect("old hours go, and old batches are forgotten", () => Effect.gen(function*() {
      const store = yield* SearchStatisticsStore
      yield* store.add(batch([one({ keyId: "old", hour: 1 * HOUR }), one({ keyId: "old", hour: 2 * HOUR })]))
      assert.strictEqual(yield* store.removeBefore(2 * HOUR, 2 * HOUR), 1)
      assert.deepStrictEqual((yield* store.byHour({ keyId: "old" }, 0)).map(({ hour }) => hour / HOUR), [2])
      const sent = batch([one({ keyId: "forgotten" })])
      yield* store.add(sent)
      yield* store.removeBefore(0, 21 * HOUR)
      yield* store.add(sent)
      assert.deepStrictEqual((yield* store.byProvider({ keyId: "forgotten" })).map(({ requests }) => requests), [2])
    }))
  })
}
