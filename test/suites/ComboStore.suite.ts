import { assert, layer as withLayer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { ComboStore } from "#actors/ports/Stores.ts"
import { Combo } from "#schemas/records/Combo.ts"
import { asText, combo, kept } from "./records.ts"

const find = (id: string) => Effect.gen(function*() {
  const store = yield* ComboStore
  return (yield* store.list).find((row) => row.id === id) ?? null
})

const step = {
  kind: "model" as const, id: "s-1", model: "openai/gpt-x", provider: null, connectionId: "c-1", weight: 12.5, label: "L", tags: ["a"], prompt: null
}

export const suite = (name: string, layer: Layer.Layer<ComboStore>): void => {
  withLayer(layer, { excludeTestServices: true })(`ComboStore on ${name}`, (it) => {
    it.effect("lists by sortOrder, then name", () => Effect.gen(function*() {
      const store = yield* ComboStore
      const last = combo({ id: "1", name: "a", sortOrder: 2 })
      const first = combo({ id: "2", name: "Z", sortOrder: 1, models: [step, { kind: "combo-ref", id: "s-2", comboName: "a", weight: 0, label: null }], config: { maxRetries: 3, hedging: true } })
      const second = combo({ id: "3", name: "b", sortOrder: 1 })
      for (const row of [last, second, first]) yield* store.insert(row)
      assert.deepStrictEqual(yield* store.list, [first, second, last])
    }))

    it.effect("a taken name is a conflict on insert and on replace", () => Effect.gen(function*() {
      const store = yield* ComboStore
      yield* store.insert(combo({ id: "t-1", name: "taken" }))
      yield* store.insert(combo({ id: "t-2", name: "Taken" }))
      for (const write of [store.insert(combo({ id: "t-3", name: "taken" })), store.replace(combo({ id: "t-2", name: "taken" }))]) {
        const error = yield* Effect.flip(Effect.asVoid(write))
        assert.strictEqual(error.reason, "conflict")
        assert.include(error.message, "name is taken")
      }
    }))

    it.effect("replace and remove answer whether the combo was there", () => Effect.gen(function*() {
      const store = yield* ComboStore
      yield* store.insert(combo({ id: "r-1", name: "r" }))
      const next = combo({ id: "r-1", name: "renamed", models: [step], isActive: false, context_length: 2_000_000 })
      assert.isTrue(yield* store.replace(next))
      assert.deepStrictEqual(yield* find("r-1"), next)
      assert.isFalse(yield* store.replace(combo({ id: "nobody", name: "nobody" })))
      assert.isTrue(yield* store.remove("r-1"))
      assert.isFalse(yield* store.remove("r-1"))
    }))

    it.effect("reorder numbers the named combos from 0 and passes over unknown ids", () => Effect.gen(function*() {
      const store = yield* ComboStore
      for (const id of ["o-1", "o-2", "o-3"]) yield* store.insert(combo({ id, name: id, sortOrder: 70 }))
      assert.strictEqual(yield* store.reorder(["o-3", "nobody", "o-1"]), 2)
      const orders = (yield* store.list).filter((row) => row.id.startsWith("o-")).map((row) => [row.id, row.sortOrder])
      assert.deepStrictEqual(orders, [["o-3", 0], ["o-1", 2], ["o-2", 70]])
      assert.strictEqual(yield* store.reorder([]), 0)
    }))

    it.effect.prop("any combo comes back as it was put", [Combo], ([given]) => Effect.gen(function*() {
      const store = yield* ComboStore
      for (const row of yield* store.list) if (row.id === asText(given.id) || row.name === given.name) yield* store.remove(row.id)
      yield* store.insert(given)
      assert.deepStrictEqual(yield* find(asText(given.id)), kept(given, ["models", "config", "allowedProviders"]))
    }), { arbitrary: { runs: 20 } })
  })
}
