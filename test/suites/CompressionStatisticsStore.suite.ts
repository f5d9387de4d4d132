import { assert, layer as withLayer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { CompressionStatisticsStore, type CompressionSums } from "#src/features/compression/statistics/CompressionStatisticsStore.ts"

const HOUR = 3_600_000

const one = (fields: Partial<CompressionSums> = {}): CompressionSums => ({ hour: 10 * HOUR, mode: "standard", comboId: null, engine: null, requests: 1, before: 100, after: 60, fallbacks: 0, ...fields })

let made = 0
const batch = (rows: ReadonlyArray<CompressionSums>) => ({ id: `batch-${++made}`, at: 20 * HOUR, rows })

export const suite = (name: string, layer: Layer.Layer<CompressionStatisticsStore>): void => {
  withLayer(layer, { excludeTestServices: true })(`CompressionStatisticsStore on ${name}`, (it) => {
    it.effect("sums are added to those of the same hour, mode, combo and engine, and read from an hour on", () => Effect.gen(function*() {
      const store = yield* CompressionStatisticsStore
      yield* store.add(batch([]))
      yield* store.add(batch([one(), one({ engine: "caveman" }), one({ hour: 11 * HOUR, fallbacks: 1 })]))
      yield* store.add(batch([one({ before: 50, after: 50 }), one({ comboId: "c1", mode: "rtk" })]))
      assert.deepStrictEqual(yield* store.since(0), [
        { mode: "rtk", comboId: "c1", engine: null, requests: 1, before: 100, after: 60, fallbacks: 0 },
        { mode: "standard", comboId: null, engine: null, requests: 3, before: 250, after: 170, fallbacks: 1 },
        { mode: "standard", comboId: null, engine: "caveman", requests: 1, before: 100, after: 60, fallbacks: 0 }
      ])
      assert.deepStrictEqual(yield* store.since(11 * HOUR), [{ mode: "standard", comboId: null, engine: null, requests: 1, before: 100, after: 60, fallbacks: 1 }])
    }))

    it.effect("a batch that is sent again is added once, until it is forgotten; old hours go", () => Effect.gen(function*() {
      const store = yield* CompressionStatisticsStore
      const sent = batch([one({ mode: "lite", hour: 30 * HOUR })])
      const requests = Effect.map(store.since(30 * HOUR), (rows) => rows.map((row) => row.requests))
      for (let i = 0; i < 2; i++) yield* store.add(sent)
      assert.deepStrictEqual(yield* requests, [1])
      assert.strictEqual(yield* store.removeBefore(11 * HOUR, 21 * HOUR), 3)
      yield* store.add(sent)
      assert.deepStrictEqual(yield* requests, [2])
    }))
  })
}
