import { assert, layer as withLayer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { ComboMappingStore } from "#actors/ports/Stores.ts"
import { ComboMapping } from "#schemas/records/Combo.ts"
import { asText, at, comboMapping, kept } from "./records.ts"

export const suite = (name: string, layer: Layer.Layer<ComboMappingStore>): void => {
  withLayer(layer, { excludeTestServices: true })(`ComboMappingStore on ${name}`, (it) => {
    it.effect("lists the highest priority first, then the oldest", () => Effect.gen(function*() {
      const store = yield* ComboMappingStore
      const rows = [
        comboMapping({ id: "high", priority: 9, createdAt: at(9) }),
        comboMapping({ id: "old", createdAt: at(1) }),
        comboMapping({ id: "young", createdAt: at(2), enabled: false }),
        comboMapping({ id: "low", priority: -1, createdAt: at(0) })
      ]
      for (const row of [rows[2], rows[0], rows[3], rows[1]]) if (row !== undefined) yield* store.insert(row)
      assert.deepStrictEqual(yield* store.list, rows)
    }))

    it.effect("replace and remove answer whether the mapping was there", () => Effect.gen(function*() {
      const store = yield* ComboMappingStore
      yield* store.insert(comboMapping({ id: "r-1" }))
      const next = comboMapping({ id: "r-1", pattern: "claude-?", comboId: "other", priority: 5, description: "d" })
      assert.isTrue(yield* store.replace(next))
      assert.deepStrictEqual((yield* store.list).find((row) => row.id === "r-1"), next)
      assert.isFalse(yield* store.replace(comboMapping({ id: "nobody" })))
      assert.isTrue(yield* store.remove("r-1"))
      assert.isFalse(yield* store.remove("r-1"))
    }))

    it.effect("removeByCombo takes every mapping of that combo and no other", () => Effect.gen(function*() {
      const store = yield* ComboMappingStore
      for (const id of ["c-1", "c-2"]) yield* store.insert(comboMapping({ id, comboId: "gone" }))
      yield* store.insert(comboMapping({ id: "c-3", comboId: "stays" }))
      assert.strictEqual(yield* store.removeByCombo("gone"), 2)
      assert.isTrue((yield* store.list).some((row) => row.id === "c-3"))
    }))

    it.effect.prop("any mapping comes back as it was put", [ComboMapping], ([given]) => Effect.gen(function*() {
      const store = yield* ComboMappingStore
      for (const row of yield* store.list) if (row.id === asText(given.id)) yield* store.remove(row.id)
      yield* store.insert(given)
      assert.deepStrictEqual((yield* store.list).find((row) => row.id === asText(given.id)), kept(given))
    }), { arbitrary: { runs: 20 } })
  })
}
