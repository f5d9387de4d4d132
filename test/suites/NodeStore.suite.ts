import { assert, layer as withLayer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { NodeStore } from "#actors/ports/Stores.ts"
import { ProviderNode } from "#schemas/records/ProviderNode.ts"
import { asText, at, kept, node } from "./records.ts"

const find = (id: string) =>
  Effect.gen(function*() {
    const store = yield* NodeStore
    return (yield* store.list).find((row) => row.id === id) ?? null
  })

export const suite = (name: string, layer: Layer.Layer<NodeStore>): void => {
  withLayer(layer, { excludeTestServices: true })(`NodeStore on ${name}`, (it) => {
    it.effect("gives back what was inserted, oldest first", () =>
      Effect.gen(function*() {
        const store = yield* NodeStore
        const second = node({ id: "n-2", prefix: "second", createdAt: at(2), customHeaders: { "x-a": "1" }, dailyQuotaResetHour: 5 })
        const first = node({ id: "n-1", prefix: "first", createdAt: at(1) })
        yield* store.insert(second)
        yield* store.insert(first)
        assert.deepStrictEqual(yield* store.list, [first, second])
      }))

    it.effect("a taken prefix is a conflict on insert and on replace", () =>
      Effect.gen(function*() {
        const store = yield* NodeStore
        yield* store.insert(node({ id: "n-3", prefix: "taken" }))
        yield* store.insert(node({ id: "n-4", prefix: "free" }))
        for (const write of [store.insert(node({ id: "n-5", prefix: "taken" })), store.replace(node({ id: "n-4", prefix: "taken" }))]) {
          const error = yield* Effect.flip(Effect.asVoid(write))
          assert.strictEqual(error.reason, "conflict")
          assert.include(error.message, "prefix is taken")
        }
        assert.strictEqual((yield* find("n-4"))?.prefix, "free")
      }))

    it.effect("of many that claim one prefix at once exactly one wins", () =>
      Effect.gen(function*() {
        const store = yield* NodeStore
        const outcomes = yield* Effect.forEach(
          Array.from({ length: 8 }, (_, index) => node({ id: `race-${index}`, prefix: "race" })),
          (given) => Effect.match(store.insert(given), { onSuccess: () => "won", onFailure: (error) => error.reason }),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual([...outcomes].sort(), [...Array.from({ length: 7 }, () => "conflict"), "won"])
      }))

    it.effect("replace and remove answer whether the node was there", () =>
      Effect.gen(function*() {
        const store = yield* NodeStore
        yield* store.insert(node({ id: "n-6", prefix: "six" }))
        const next = node({ id: "n-6", prefix: "sixth", name: "Renamed", type: "anthropic-compatible", apiType: null })
        assert.isTrue(yield* store.replace(next))
        assert.deepStrictEqual(yield* find("n-6"), next)
        assert.isFalse(yield* store.replace(node({ id: "n-nobody", prefix: "nobody" })))
        assert.isTrue(yield* store.remove("n-6"))
        assert.isFalse(yield* store.remove("n-6"))
      }))

    it.effect.prop("any node comes back as it was put", [ProviderNode], ([given]) =>
      Effect.gen(function*() {
        const store = yield* NodeStore
        for (const row of yield* store.list) if (row.id === asText(given.id) || row.prefix === asText(given.prefix)) yield* store.remove(row.id)
        yield* store.insert(given)
        assert.deepStrictEqual(yield* find(asText(given.id)), kept(given, ["customHeaders"]))
      }), { arbitrary: { runs: 20 } })
  })
}
