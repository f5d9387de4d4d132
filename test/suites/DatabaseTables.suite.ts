import { assert, layer as withLayer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { DocumentStore } from "#actors/ports/Stores.ts"
import { DatabaseTables } from "#src/features/database/DatabaseTables.ts"

export const suite = (name: string, layer: Layer.Layer<DatabaseTables | DocumentStore>): void => {
  withLayer(layer, { excludeTestServices: true })(`DatabaseTables on ${name}`, (it) => {
    it.effect("tables are counted by the database, and looked after while statements go on", () => Effect.gen(function*() {
      const [documents, tables] = [yield* DocumentStore, yield* DatabaseTables]
      const rows = Effect.map(tables.sizes, (sizes) => sizes.tables.find((table) => table.name === "documents")?.rows)
      for (let at = 0; at < 20; at++) yield* documents.put("counted", String(at), at)
      yield* tables.analyze
      const before = (yield* rows) ?? 0
      yield* documents.clear("counted")
      // One connection must be enough for both.
      yield* Effect.all([tables.vacuum, documents.put("counted", "one", 1)], { concurrency: 2 })
      yield* tables.analyze
      assert.strictEqual(before - ((yield* rows) ?? 0), 19)
      const { sizeBytes, tables: all } = yield* tables.sizes
      assert.isTrue(sizeBytes > 1_000_000)
      assert.isFalse(all.some(({ name: table }) => table.startsWith("pg_") || table.startsWith("placement_")))
    }), 60_000)
  })
}
