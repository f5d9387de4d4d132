import { assert, layer as withLayer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { CustomModelStore } from "#actors/ports/Stores.ts"
import { CustomModel } from "#schemas/records/CustomModel.ts"
import { asText, customModel, kept } from "./records.ts"

export const suite = (name: string, layer: Layer.Layer<CustomModelStore>): void => {
  withLayer(layer, { excludeTestServices: true })(`CustomModelStore on ${name}`, (it) => {
    it.effect("upsert inserts, then replaces the same model", () =>
      Effect.gen(function*() {
        const store = yield* CustomModelStore
        yield* store.upsert(customModel())
        const next = customModel({ modelName: "Renamed", supportsVision: true, maxInputTokens: 4_000_000_000, extra: { a: [1, { b: null }] } })
        yield* store.upsert(next)
        yield* store.upsert(customModel({ modelId: "a-first" }))
        assert.deepStrictEqual(yield* store.list, [customModel({ modelId: "a-first" }), next])
      }))

    it.effect("concurrent upserts of one model leave one row", () =>
      Effect.gen(function*() {
        const store = yield* CustomModelStore
        yield* Effect.forEach(
          Array.from({ length: 10 }, (_, index) => customModel({ provider: "race", modelName: `n${index}` })),
          (model) => store.upsert(model),
          { concurrency: "unbounded" }
        )
        assert.lengthOf((yield* store.list).filter((model) => model.provider === "race"), 1)
      }))

    it.effect("remove and removeAll answer what they removed", () =>
      Effect.gen(function*() {
        const store = yield* CustomModelStore
        for (const modelId of ["1", "2", "3"]) yield* store.upsert(customModel({ provider: "gone", modelId }))
        assert.isTrue(yield* store.remove("gone", "1"))
        assert.isFalse(yield* store.remove("gone", "1"))
        assert.strictEqual(yield* store.removeAll("gone"), 2)
      }))

    it.effect.prop("any model comes back as it was put", [CustomModel], ([given]) =>
      Effect.gen(function*() {
        const store = yield* CustomModelStore
        yield* store.upsert(given)
        const found = (yield* store.list).find((row) => row.provider === asText(given.provider) && row.modelId === asText(given.modelId))
        assert.deepStrictEqual(found, kept(given, ["supportedEndpoints", "supportedInputTypes", "upstreamHeaders", "extra"]))
      }), { arbitrary: { runs: 20 } })
  })
}
