import { assert, layer as withLayer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { UsageStore } from "#actors/ports/UsageStore.ts"
import type { LedgerRow } from "#schemas/records/LedgerRow.ts"
import { ledgerRow } from "./records.ts"

/** Each test has a window of its own. */
const hour = 3_600_000
const windowOf = (place: number) => ({ since: 2_000_000_000_000 + place * hour, until: 2_000_000_000_000 + (place + 1) * hour - 1 })

const insert = (place: number, given: ReadonlyArray<Partial<LedgerRow>>) => Effect.gen(function*() {
  const store = yield* UsageStore
  const { since, until } = windowOf(place)
  yield* store.insert(given.map((fields, index) => ledgerRow({
    attemptId: `statistics-${place}-${String(index).padStart(3, "0")}`, startedAt: since + index, provider: "p", model: "m", outcome: "completed", status: 200,
    final: true, combo: null, connectionId: null, latencyMs: 100, ...fields
  })))
  return { store, window: { since, until } }
})

const plain = (rows: ReadonlyArray<object>) => rows.map((row) => ({ ...row }))
const near = (value: number, wanted: number) => assert.approximately(value, wanted, 1e-6)

export const suite = (name: string, layer: Layer.Layer<UsageStore>): void => {
  withLayer(layer, { excludeTestServices: true })(`statistics of UsageStore on ${name}`, (it) => {
    it.effect("percentiles lie between two values, and only those of successes count", () => Effect.gen(function*() {
      const { store, window } = yield* insert(0, [
        ...Array.from({ length: 100 }, (_, index): Partial<LedgerRow> => ({ latencyMs: index + 1 })), { outcome: "upstream-reset", latencyMs: 90_000 },
        { outcome: "client-abort", latencyMs: 80_000 }
      ])
      const [found] = yield* store.latencies("model", window)
      assert.deepInclude({ ...found }, { provider: "p", model: "m", requests: 102, successes: 100, failures: 1, samples: 100, lastUsed: window.since + 101 })
      near(found?.avgMs ?? 0, 50.5)
      near(found?.p50Ms ?? 0, 50.5)
      near(found?.p95Ms ?? 0, 95.05)
      near(found?.p99Ms ?? 0, 99.01)
      near(found?.deviationMs ?? 0, Math.sqrt((100 ** 2 - 1) / 12))
    }))

    it.effect("with too few successes all attempts count, and a group with too few attempts is left out", () => Effect.gen(function*() {
      const failed = { outcome: "gateway-timeout" } as const
      const { store, window } = yield* insert(1, [
        { provider: "a", latencyMs: 10 }, { provider: "a", latencyMs: 30, ...failed }, { provider: "b", latencyMs: 50, ...failed }
      ])
      const brief = (filter: object) => Effect.map(store.latencies("provider", { ...window, ...filter }), (rows) =>
        rows.map(({ avgMs, model, p50Ms, provider, samples }) => [provider, model, samples, avgMs, p50Ms]))
      assert.deepStrictEqual(yield* brief({}), [["a", null, 1, 10, 10], ["b", null, 1, 50, 50]])
      assert.deepStrictEqual(yield* brief({ minSamples: 2 }), [["a", null, 2, 20, 20]])
      assert.deepStrictEqual(yield* brief({ minSamples: 3 }), [])
    }))

    it.effect("a group is a provider, or a model of a provider; only the window, the filter and the newest rows count", () => Effect.gen(function*() {
      const { store, window } = yield* insert(2, [
        { provider: "old", startedAt: windowOf(2).since - 1 }, { model: "m1" }, { model: "m2" }, { model: "m2" }, { provider: "q", model: "m1" },
        { provider: "late", startedAt: windowOf(2).until + 1 }
      ])
      const keys = (dimension: "provider" | "model", filter: object) => Effect.map(store.latencies(dimension, { ...window, ...filter }), (rows) =>
        rows.map(({ model, provider, requests }) => [provider, model, requests]))
      assert.deepStrictEqual(yield* keys("provider", {}), [["p", null, 3], ["q", null, 1]])
      assert.deepStrictEqual(yield* keys("model", {}), [["p", "m2", 2], ["p", "m1", 1], ["q", "m1", 1]])
      assert.deepStrictEqual(yield* keys("model", { model: "m1" }), [["p", "m1", 1], ["q", "m1", 1]])
      assert.deepStrictEqual(yield* keys("model", { provider: "p", model: "m2" }), [["p", "m2", 2]])
      assert.deepStrictEqual(yield* keys("provider", { maxRows: 2 }), [["p", null, 1], ["q", null, 1]])
      assert.deepStrictEqual(yield* keys("provider", { provider: "nobody" }), [])
    }))

    it.effect("attempts of a combo count by target, with the newest status", () => Effect.gen(function*() {
      const { store, window } = yield* insert(3, [
        { combo: "fast", connectionId: "c1", latencyMs: 10 }, { combo: "fast", connectionId: "c1", outcome: "upstream-status", status: 502, final: false, latencyMs: 70 },
        { combo: "fast", connectionId: null, outcome: "client-abort", status: 499 }, { combo: "Slow", connectionId: "c1" }, { connectionId: "c1" }
      ])
      const { since } = window
      const fast = [
        { combo: "fast", provider: "p", model: "m", connectionId: "c1", requests: 2, successes: 1, failures: 1, avgMs: 10, lastStatus: 502, lastUsed: since + 1 },
        { combo: "fast", provider: "p", model: "m", connectionId: null, requests: 1, successes: 0, failures: 0, avgMs: null, lastStatus: 499, lastUsed: since + 2 }
      ]
      assert.deepStrictEqual(plain(yield* store.comboTargets({ ...window, combo: "fast" })), fast)
      assert.deepStrictEqual((yield* store.comboTargets(window)).map(({ combo }) => combo), ["Slow", "fast", "fast"])
      assert.deepStrictEqual(yield* store.comboTargets({ ...window, combo: "nobody" }), [])
    }))

    it.effect("calls of combos are the attempts that answered", () => Effect.gen(function*() {
      const { store, window } = yield* insert(4, [
        { combo: "auto", latencyMs: 10 }, { combo: "auto", latencyMs: 20 }, { combo: "auto", final: false, latencyMs: 900 }, { combo: "fast", provider: "q" }, {}
      ])
      assert.deepStrictEqual(plain(yield* store.comboCalls(window)), [
        { combo: "auto", provider: "p", calls: 2, avgMs: 15 }, { combo: "fast", provider: "q", calls: 1, avgMs: 100 }
      ])
      assert.deepStrictEqual(yield* store.comboCalls({ since: window.until + 500 * hour }), [])
    }))

    it.effect("tokens of the vendors' prompt caches, by model and by hour", () => Effect.gen(function*() {
      const cached = { tokensIn: 100, tokensCacheRead: 60, tokensCacheCreation: 0 }
      const { store, window } = yield* insert(6, [
        cached, cached, { provider: "q", tokensIn: 50, tokensCacheRead: 0, tokensCacheCreation: 40 }, { tokensIn: 7, tokensCacheRead: 0, tokensCacheCreation: 0 }
      ])
      assert.deepStrictEqual(plain(yield* store.promptCache(window)), [
        { provider: "p", model: "m", requests: 3, cachedRequests: 2, inputTokens: 207, cachedTokens: 120, cacheCreationTokens: 0 },
        { provider: "q", model: "m", requests: 1, cachedRequests: 1, inputTokens: 50, cachedTokens: 0, cacheCreationTokens: 40 }
      ])
      const [first, ...more] = yield* store.promptCacheHours({ since: window.since, until: window.until })
      assert.deepStrictEqual([more.length, { ...first }], [0, {
        hour: Math.floor(window.since / hour) * hour, requests: 4, cachedRequests: 3, inputTokens: 257, cachedTokens: 120, cacheCreationTokens: 40
      }])
    }))

    it.effect("writes to the vendors' prompt caches: all, then by model, with the sizes of the writes alone", () => Effect.gen(function*() {
      const write = (size: number): Partial<LedgerRow> => ({ tokensIn: 1000, tokensCacheRead: 0, tokensCacheCreation: size })
      const { store, window } = yield* insert(30, [
        ...Array.from({ length: 20 }, (_, index) => write((index + 1) * 10)), { tokensIn: 900, tokensCacheRead: 800, tokensCacheCreation: 0 },
        { provider: "q", model: "n", tokensIn: 50, tokensCacheRead: 40, tokensCacheCreation: 0 }
      ])
      const sizes = [100, 180, 190, 200, 200]
      const first = { target: { provider: "p", model: "m" }, requests: 21, cachedRequests: 21, inputTokens: 20_900, cachedTokens: 800, cacheCreationTokens: 2100, writes: 20, sizes }
      assert.deepStrictEqual(plain(yield* store.promptCacheWrites(window)), [
        { target: null, requests: 22, cachedRequests: 22, inputTokens: 20_950, cachedTokens: 840, cacheCreationTokens: 2100, writes: 20, sizes },
        first,
        { target: { provider: "q", model: "n" }, requests: 1, cachedRequests: 1, inputTokens: 50, cachedTokens: 40, cacheCreationTokens: 0, writes: 0, sizes: null }
      ])
      assert.deepStrictEqual(plain(yield* store.promptCacheWrites({ ...window, model: "m" })), [{ ...first, target: null }, first])
      assert.deepStrictEqual(plain(yield* store.promptCacheWrites({ ...window, model: "nobody" })), [
        { target: null, requests: 0, cachedRequests: 0, inputTokens: 0, cachedTokens: 0, cacheCreationTokens: 0, writes: 0, sizes: null }
      ])
    }))

    it.effect("a trend sums each slice and the whole, its ends belong to one slice, and nothing outside counts", () => Effect.gen(function*() {
      const { since } = windowOf(20)
      const phases = { before: 0, queue: 3, limits: 4, sent: 5, head: 6, end: 90 }
      const { store } = yield* insert(20, [
        { startedAt: since - 1 }, { startedAt: since, latencyMs: 100, ttftMs: 10, phases, costUsd: 0.1, tokensIn: 1, tokensOut: 2, estimated: true },
        { startedAt: since + 999, latencyMs: 300, ttftMs: 30, phases: null, costUsd: 0.2, tokensIn: 1, tokensOut: 2, outcome: "upstream-reset" },
        { startedAt: since + 2_000, provider: "q", costUsd: 1, tokensIn: 5, tokensOut: 0, ttftMs: null, phases: null, unpriced: true, outcome: "client-abort" },
        { startedAt: since + 3_000 }
      ])
      const { slices, total } = yield* store.trend({ since, until: since + 3_000 }, [since, since + 1_000, since + 2_000])
      assert.deepStrictEqual([...slices.keys()].sort(), [0, 2])
      const { firstTokenMs, latencyMs, ownMs, ...first } = slices.get(0) ?? assert.fail("no first slice")
      assert.deepStrictEqual(plain([first]), [{ requests: 2, promptTokens: 2, completionTokens: 4, units: null, cost: 0.3, successes: 1, failures: 1, estimated: 1, unpriced: 0, avgMs: 200 }])
      assert.deepStrictEqual([latencyMs?.p50, firstTokenMs?.p50, ownMs?.p99], [100, 20, 17])
      assert.deepInclude({ ...slices.get(2) }, { requests: 1, successes: 0, failures: 0, unpriced: 1, latencyMs: null, firstTokenMs: null, ownMs: null })
      assert.deepInclude({ ...total }, { requests: 3, promptTokens: 7, cost: 1.3 })
      const { total: one } = yield* store.trend({ since, until: since + 3_000, provider: "q" }, [since])
      assert.deepInclude({ ...one }, { requests: 1, cost: 1 })
      const { slices: nothing, total: zero } = yield* store.trend({ since: since + 1_000, until: since + 2_000 }, [since])
      assert.deepStrictEqual([nothing.size, zero.requests, zero.latencyMs], [0, 0, null])
    }))
  })
}
