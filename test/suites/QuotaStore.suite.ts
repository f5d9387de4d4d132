import { assert, layer as withLayer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { QuotaStore } from "#src/features/quotas/ports/QuotaStore.ts"
import { QuotaSnapshot } from "#schemas/records/QuotaSnapshot.ts"
import { asText, kept } from "./records.ts"

const row = (fields: Partial<QuotaSnapshot> = {}): QuotaSnapshot => ({
  provider: "openai", connectionId: "c-1", model: null, windowKey: "5h", remainingPercentage: 42.5, isExhausted: false, nextResetAt: 5_000,
  windowDurationMs: 18_000_000, rawData: { limit: null, remaining: null, refills: false }, createdAt: 1_000, ...fields
})

export const suite = (name: string, layer: Layer.Layer<QuotaStore>): void => {
  withLayer(layer, { excludeTestServices: true })(`QuotaStore on ${name}`, (it) => {
    it.effect("history is newest first, of two rows of one moment the later, from a time on, of one connection or all", () => Effect.gen(function*() {
      const store = yield* QuotaStore
      yield* store.insert([])
      yield* store.insert([row({ connectionId: "h-1", createdAt: 2_000, windowKey: "a" }), row({ connectionId: "h-1", createdAt: 2_000, windowKey: "b" })])
      yield* store.insert([row({ connectionId: "h-1", createdAt: 1_999 }), row({ connectionId: "h-2", createdAt: 3_000 })])
      const own = yield* store.history({ connectionId: "h-1", since: 2_000 })
      assert.deepStrictEqual(own.map(({ windowKey }) => windowKey), ["b", "a"])
      assert.lengthOf(yield* store.history({ connectionId: "h-1", since: 0 }), 3)
      assert.lengthOf(yield* store.history({ connectionId: "h-1", since: 0, limit: 1 }), 1)
      assert.strictEqual((yield* store.history({ since: 3_000 }))[0]?.connectionId, "h-2")
    }))

    it.effect("latest is the newest row of each window and model whose reset is still to come", () => Effect.gen(function*() {
      const store = yield* QuotaStore
      const at = (fields: Partial<QuotaSnapshot>) => row({ connectionId: "l-1", createdAt: 50_000, nextResetAt: 60_000, ...fields })
      yield* store.insert([
        at({ remainingPercentage: 80, createdAt: 49_000 }), at({ remainingPercentage: 70 }),
        at({ model: "m", remainingPercentage: 60 }), at({ model: "m", windowKey: "7d", nextResetAt: 70_000 }),
        at({ windowKey: "over", nextResetAt: 65_000, createdAt: 49_000 }), at({ windowKey: "over", nextResetAt: 55_000 }),
        at({ windowKey: "unknown", nextResetAt: null }),
        at({ windowKey: "believed", nextResetAt: null, rawData: { limit: null, remaining: 7, refills: false, believedMs: 5_001 } }),
        at({ windowKey: "believed no longer", nextResetAt: null, rawData: { limit: null, remaining: 7, refills: false, believedMs: 5_000 } }), at({ windowKey: "old", createdAt: 40_000 })
      ])
      const found = (yield* store.latest(55_000, 45_000)).filter(({ connectionId }) => connectionId === "l-1")
      assert.deepStrictEqual(
        found.map(({ model, remainingPercentage, windowKey }) => [model, windowKey, remainingPercentage]).sort(),
        [[null, "5h", 70], [null, "believed", 42.5], ["m", "5h", 60], ["m", "7d", 42.5]].sort()
      )
      assert.deepStrictEqual((yield* store.latest(70_000, 45_000)).filter(({ connectionId }) => connectionId === "l-1"), [])
    }))

    it.effect("removal takes what is older, and says how much", () => Effect.gen(function*() {
      const store = yield* QuotaStore
      yield* store.insert([row({ connectionId: "r-1", createdAt: -5 }), row({ connectionId: "r-1", createdAt: -4 })])
      assert.strictEqual(yield* store.removeBefore(-4), 1)
      assert.lengthOf(yield* store.history({ connectionId: "r-1", since: -10 }), 1)
    }))

    it.effect("more rows than one statement takes are all written", () => Effect.gen(function*() {
      const store = yield* QuotaStore
      yield* store.insert(Array.from({ length: 1_201 }, (_, index) => row({ connectionId: "many", createdAt: index })))
      assert.lengthOf(yield* store.history({ connectionId: "many", since: 0 }), 1_201)
    }))

    it.effect.prop("any row comes back as it was put", [QuotaSnapshot], ([given]) => Effect.gen(function*() {
      const store = yield* QuotaStore
      const connectionId = crypto.randomUUID()
      const createdAt = Math.abs(given.createdAt)
      yield* store.insert([{ ...given, connectionId, createdAt }])
      const [found] = yield* store.history({ connectionId, since: 0 })
      assert.deepStrictEqual(found, { ...kept({ ...given, connectionId, createdAt }, ["rawData"]), windowKey: asText(given.windowKey) })
    }), { arbitrary: { runs: 15 } })

    it.effect("of the history the newest row of every window stays", () => Effect.gen(function*() {
      const store = yield* QuotaStore
      const given = [["5h", null, 1], ["5h", null, 3], ["5h", null, 2], ["5h", "m", 1], ["7d", null, 1]] as const
      yield* store.insert(given.map(([windowKey, model, createdAt]) => row({ connectionId: "kept-1", windowKey, model, createdAt })))
      yield* store.insert(Array.from({ length: 1_100 }, (_, createdAt) => row({ connectionId: "kept-2", createdAt })))
      assert.isAtLeast(yield* store.removeHistory, 2 + 1_099)
      assert.deepStrictEqual((yield* store.history({ connectionId: "kept-1", since: 0 })).map(({ createdAt, model, windowKey }) => [windowKey, model, createdAt]).sort(),
        [["5h", null, 3], ["5h", "m", 1], ["7d", null, 1]])
      assert.deepStrictEqual((yield* store.history({ connectionId: "kept-2", since: 0 })).map(({ createdAt }) => createdAt), [1_099])
      assert.strictEqual(yield* store.removeHistory, 0)
    }))
  })
}
