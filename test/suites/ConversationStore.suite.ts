import { assert, layer as withLayer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { ConversationStore, type StoredConversation } from "#src/features/responses/ConversationStore.ts"

const one = (id: string, fields: Partial<StoredConversation> = {}): StoredConversation => ({ id, keyId: "k1", createdAt: 1_000, expiresAt: 10_000, metadata: "{}", ...fields })
const item = (id: string) => ({ id, item: `{"content":"${id} häß 日本"}` })

export const suite = (name: string, layer: Layer.Layer<ConversationStore>): void => {
  withLayer(layer, { excludeTestServices: true })(`ConversationStore on ${name}`, (it) => {
    it.effect("a conversation comes back with its items in their order, until it expires or is removed", () => Effect.gen(function*() {
      const store = yield* ConversationStore
      const given = one("conv_a", { keyId: null, metadata: '{"topic":"ünï"}' })
      yield* store.create(given, [item("i1"), item("i2")])
      assert.deepStrictEqual(yield* store.find("conv_a", 9_999), given)
      assert.isNull(yield* store.find("conv_a", 10_000))
      assert.isTrue(yield* store.append("conv_a", [item("i3"), item("i1")], 20_000))
      assert.deepStrictEqual(yield* store.items("conv_a"), [item("i1"), item("i2"), item("i3"), item("i1")])
      assert.strictEqual((yield* store.find("conv_a", 10_000))?.expiresAt, 20_000)
      yield* store.setMetadata("conv_a", '{"topic":"other"}', 30_000)
      assert.deepStrictEqual(yield* store.find("conv_a", 20_000), { ...given, metadata: '{"topic":"other"}', expiresAt: 30_000 })
      yield* store.remove("conv_a")
      assert.isNull(yield* store.find("conv_a", 0))
      assert.deepStrictEqual(yield* store.items("conv_a"), [])
      assert.isFalse(yield* store.append("conv_a", [item("i4")], 20_000))
      assert.deepStrictEqual(yield* store.items("conv_a"), [])
    }))

    it.effect("conversations leave each other alone", () => Effect.gen(function*() {
      const store = yield* ConversationStore
      const [here, there] = [one("conv_here"), one("conv_there", { keyId: "k2" })]
      yield* store.create(here, [item("i1"), item("i2")])
      yield* store.create(there, [item("i1")])
      yield* store.setMetadata("conv_here", '{"topic":"here"}', 20_000)
      assert.isTrue(yield* store.append("conv_here", [item("i3")], 30_000))
      assert.isTrue(yield* store.removeItem("conv_here", "i1"))
      assert.deepStrictEqual([yield* store.find("conv_there", 0), yield* store.items("conv_there")], [there, [item("i1")]])
      assert.deepStrictEqual(yield* store.items("conv_here"), [item("i2"), item("i3")])
      assert.isFalse(yield* store.removeItem("conv_there", "i2"))
      yield* store.remove("conv_here")
      assert.deepStrictEqual([yield* store.find("conv_there", 0), yield* store.items("conv_there")], [there, [item("i1")]])
      assert.isNull(yield* store.find("conv_here", 0))
    }))

    it.effect("appends of many at once stand one behind the other, each whole", () => Effect.gen(function*() {
      const store = yield* ConversationStore
      yield* store.create(one("conv_b"), [])
      yield* Effect.forEach(Array.from({ length: 8 }, (_, n) => n), (n) => store.append("conv_b", [item(`a${n}`), item(`b${n}`)], 10_000), { concurrency: 8 })
      const ids = (yield* store.items("conv_b")).map(({ id }) => id)
      assert.strictEqual(ids.length, 16)
      for (let i = 0; i < 16; i += 2) assert.strictEqual(ids[i + 1], ids[i]?.replace("a", "b"))
    }))

    it.effect("an item is removed by its id, and expired conversations go with their items", () => Effect.gen(function*() {
      const store = yield* ConversationStore
      yield* store.create(one("conv_c", { expiresAt: 5_000 }), [item("x"), item("y")])
      assert.isTrue(yield* store.removeItem("conv_c", "x"))
      assert.isFalse(yield* store.removeItem("conv_c", "x"))
      assert.deepStrictEqual(yield* store.items("conv_c"), [item("y")])
      yield* store.removeExpired(4_999)
      assert.isNotNull(yield* store.find("conv_c", 0))
      yield* store.removeExpired(5_000)
      assert.isNull(yield* store.find("conv_c", 0))
      assert.deepStrictEqual(yield* store.items("conv_c"), [])
    }))
  })
}
