import { assert, layer as withLayer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type { Change, ChangeKind } from "#actors/ports/ChangeFeed.ts"
import { ClusterStore, type Node } from "#actors/ports/Nodes.ts"
import {
  ComboMappingStore, ComboStore, ConnectionStore, CustomModelStore, DocumentStore, KeyStore, NodeStore
} from "#actors/ports/Stores.ts"
import { apiKey, combo, comboMapping, connection, customModel, node } from "./records.ts"

const process = (fields: Partial<Node> = {}): Node => ({
  id: "n-1", incarnation: "i-1", host: "host-a", address: "http://127.0.0.1:1", pid: 42, worker: 0, release: "1.2.3", startedAt: 1_000.5, ...fields
})

type Needs = ClusterStore | ComboMappingStore | ComboStore | ConnectionStore | CustomModelStore | DocumentStore | KeyStore | NodeStore

export const suite = (name: string, layer: Layer.Layer<Needs>): void => {
  withLayer(layer, { excludeTestServices: true })(`ClusterStore on ${name}`, (it) => {
    /** The changes that an effect commits. */
    const changesOf = <E, R>(write: Effect.Effect<unknown, E, R>) => Effect.gen(function*() {
      const store = yield* ClusterStore
      const before = yield* store.version
      yield* write
      const news = yield* store.newsAfter(before, 1_000)
      assert.strictEqual(news.version, yield* store.version)
      return news.changes
    })

    it.effect("every write of what nodes keep in memory is a change, in order and by its name", () =>
      Effect.gen(function*() {
        const connections = yield* ConnectionStore
        const nodes = yield* NodeStore
        const models = yield* CustomModelStore
        const combos = yield* ComboStore
        const mappings = yield* ComboMappingStore
        const documents = yield* DocumentStore
        const keys = yield* KeyStore
        const changes = yield* changesOf(Effect.gen(function*() {
          yield* connections.insert(connection({ id: "cl-c", providerSpecificData: { odd: "\0\ud800" } }))
          yield* connections.patch("cl-c", { isActive: false })
          yield* connections.remove("cl-c")
          yield* nodes.insert(node({ id: "cl-n", prefix: "cl-n" }))
          yield* models.upsert(customModel({ provider: "cl-p", modelId: "m" }))
          yield* combos.insert(combo({ id: "cl-k", name: "cl-k" }))
          yield* mappings.insert(comboMapping({ id: "cl-m", comboId: "cl-k" }))
          yield* documents.put("flag", "CL_FLAG", "true")
          yield* documents.remove("flag", "CL_FLAG")
          const key = apiKey({ id: "cl-key", keyHash: "cl-hash" })
          yield* keys.insert(key)
          yield* keys.replace({ ...key, name: "renamed" }, key.updatedAt)
        }))
        const named = (kind: ChangeKind, ...ids: ReadonlyArray<string>): ReadonlyArray<Change> => ids.map((id) => ({ kind, id }))
        assert.deepStrictEqual(changes, [
          ...named("connection", "cl-c", "cl-c", "cl-c"), ...named("node", "cl-n"), ...named("custom-model", "cl-p"), ...named("combo", "cl-k"),
          ...named("combo-mapping", "cl-m"), ...named("document", "flag/CL_FLAG", "flag/CL_FLAG"), ...named("key", "cl-key", "cl-key")
        ])
        assert.deepStrictEqual(yield* changesOf(keys.touch("cl-key", "2026-05-05T00:00:00.000Z")), [], "the time of last use is no change")
        assert.deepStrictEqual(yield* changesOf(Effect.exit(combos.insert(combo({ id: "cl-k2", name: "cl-k" })))), [], "what was refused is no change")
      }))

    it.effect("writes that run at once each get a version of their own, without gaps", () =>
      Effect.gen(function*() {
        const documents = yield* DocumentStore
        const changes = yield* changesOf(Effect.forEach(Array.from({ length: 40 }, (_, i) => i), (i) => documents.put("setting", `cl-${i}`, i), {
          concurrency: "unbounded", discard: true
        }))
        assert.strictEqual(new Set(changes?.map(({ id }) => id)).size, 40)
      }))

    it.effect("news come in turns, and a log that was cut says so", () =>
      Effect.gen(function*() {
        const store = yield* ClusterStore
        const documents = yield* DocumentStore
        const before = yield* store.version
        for (let i = 0; i < 5; i++) yield* documents.put("setting", "cl-turn", i)
        const first = yield* store.newsAfter(before, 2)
        assert.deepStrictEqual([first.version, first.changes?.length], [before + 2, 2])
        assert.deepStrictEqual(yield* store.newsAfter(before + 5, 2), { version: before + 5, changes: [] })
        assert.isAtLeast(yield* store.prune(3, 1e9), 1)
        assert.deepStrictEqual(yield* store.newsAfter(before, 10), { version: before + 5, changes: null })
        assert.strictEqual((yield* store.newsAfter(before + 2, 10)).changes?.length, 3)
        assert.deepStrictEqual(yield* store.newsAfter(before + 99, 10), { version: before + 5, changes: null }, "a database that was set back")
        yield* store.prune(0, 1e9)
        assert.deepStrictEqual(yield* store.newsAfter(before, 10), { version: before + 5, changes: null })
      }))

    it.effect("a node is seen with the version it acknowledged, until it leaves; a later life is not taken away by the earlier one", () =>
      Effect.gen(function*() {
        const store = yield* ClusterStore
        const version = yield* store.version
        assert.strictEqual(yield* store.beat(process(), 1), version)
        const [seen] = (yield* store.nodes).filter(({ id }) => id === "n-1")
        assert.deepInclude(seen, { ...process(), version: 1 })
        assert.isBelow(seen?.silentMs ?? Infinity, 5_000)
        yield* store.beat(process(), 1)
        yield* store.beat(process(), 2)
        const rows = (yield* store.nodes).filter(({ id }) => id === "n-1")
        assert.deepStrictEqual(rows.map((row) => row.version), [2])
        assert.isAtLeast(rows[0]?.versionAt ?? 0, seen?.versionAt ?? Infinity)
        yield* store.beat(process({ incarnation: "i-2" }), 3)
        yield* store.leave("n-1", "i-1")
        assert.deepStrictEqual((yield* store.nodes).map(({ incarnation }) => incarnation), ["i-2"])
        yield* store.leave("n-1", "i-2")
        assert.deepStrictEqual(yield* store.nodes, [])
      }))

    it.effect("nodes that were silent for long are forgotten", () =>
      Effect.gen(function*() {
        const store = yield* ClusterStore
        yield* store.beat(process({ id: "n-2" }), 1)
        yield* store.prune(1_000_000, 60_000)
        assert.lengthOf(yield* store.nodes, 1)
        yield* store.prune(1_000_000, -1)
        assert.lengthOf(yield* store.nodes, 0)
      }))
  })
}
