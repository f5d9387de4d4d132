import { assert, layer as withLayer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type { SyncToken } from "#src/features/sync/ports/SyncToken.ts"
import { SyncTokenStore } from "#src/features/sync/ports/SyncTokenStore.ts"
import { at, time } from "./records.ts"

const token = (id: string, fields: Partial<SyncToken> = {}): SyncToken => ({
  id, name: `the ${id}`, tokenHash: `hash-${id}`, syncApiKeyId: null, revokedAt: null, lastUsedAt: null, createdAt: time, updatedAt: time, ...fields
})

export const suite = (name: string, layer: Layer.Layer<SyncTokenStore>): void => {
  withLayer(layer, { excludeTestServices: true })(`SyncTokenStore on ${name}`, (it) => {
    it.effect("a token is found by its hash, remembers its last use, and is revoked once", () => Effect.gen(function*() {
      const store = yield* SyncTokenStore
      const given = token("s-1", { syncApiKeyId: "key-1" })
      yield* store.insert(given)
      assert.deepStrictEqual(yield* store.findByHash("hash-s-1"), given)
      assert.isNull(yield* store.findByHash("hash-none"))
      assert.strictEqual((yield* Effect.flip(store.insert(token("s-other", { tokenHash: "hash-s-1" })))).reason, "conflict")
      yield* store.touch("s-1", at(2))
      yield* store.touch("s-1", at(1))
      assert.strictEqual((yield* store.findByHash("hash-s-1"))?.lastUsedAt, at(2))
      assert.strictEqual(yield* store.revoke("s-1", at(3)), "revoked")
      assert.strictEqual(yield* store.revoke("s-1", at(4)), "before")
      assert.strictEqual(yield* store.revoke("s-none", at(4)), "none")
      yield* store.touch("s-1", at(5))
      assert.deepStrictEqual(yield* store.findByHash("hash-s-1"), { ...given, lastUsedAt: at(2), revokedAt: at(3), updatedAt: at(3) })
    }))

    it.effect("lists are newest first; trimming takes the tokens that were revoked first", () => Effect.gen(function*() {
      const store = yield* SyncTokenStore
      for (const n of [10, 11, 12, 13]) yield* store.insert(token(`t-${n}`, { createdAt: at(n) }))
      for (const [id, n] of [["t-12", 20], ["t-10", 21], ["t-13", 22]] as const) yield* store.revoke(id, at(n))
      assert.strictEqual(yield* store.trimRevoked(2), 2)
      assert.deepStrictEqual((yield* store.list).map(({ id }) => id), ["t-13", "t-11", "t-10"])
      assert.strictEqual(yield* store.trimRevoked(2), 0)
    }))
  })
}
