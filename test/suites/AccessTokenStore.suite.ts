import { assert, layer as withLayer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { AccessTokenStore } from "#actors/ports/Stores.ts"
import { AccessToken } from "#schemas/records/Session.ts"
import { accessToken, asText, at, kept } from "./records.ts"

export const suite = (name: string, layer: Layer.Layer<AccessTokenStore>): void => {
  withLayer(layer, { excludeTestServices: true })(`AccessTokenStore on ${name}`, (it) => {
    it.effect("finds a token by its hash and lists newest first", () =>
      Effect.gen(function*() {
        const store = yield* AccessTokenStore
        const older = accessToken({ id: "t-1", tokenHash: "h-1", createdAt: at(1) })
        const newer = accessToken({ id: "t-2", tokenHash: "h-2", createdAt: at(2), scope: "admin", expiresAt: at(9) })
        yield* store.insert(older)
        yield* store.insert(newer)
        assert.deepStrictEqual(yield* store.findByHash("h-2"), newer)
        assert.isNull(yield* store.findByHash("h-3"))
        assert.deepStrictEqual(yield* store.list, [newer, older])
      }))

    it.effect("a taken hash is a conflict", () =>
      Effect.gen(function*() {
        const store = yield* AccessTokenStore
        yield* store.insert(accessToken({ id: "t-3", tokenHash: "h-taken" }))
        const error = yield* Effect.flip(store.insert(accessToken({ id: "t-4", tokenHash: "h-taken" })))
        assert.strictEqual(error.reason, "conflict")
        assert.include(error.message, "token_hash is taken")
      }))

    it.effect("touch moves the last use forward only; remove answers whether it was there", () =>
      Effect.gen(function*() {
        const store = yield* AccessTokenStore
        yield* store.insert(accessToken({ id: "t-5", tokenHash: "h-5" }))
        yield* store.touch("t-5", at(10))
        yield* store.touch("t-5", at(5))
        assert.strictEqual((yield* store.findByHash("h-5"))?.lastUsedAt, at(10))
        assert.isTrue(yield* store.remove("t-5"))
        assert.isFalse(yield* store.remove("t-5"))
      }))

    it.effect("removeByPassword removes what the password stands behind, but the one to keep", () =>
      Effect.gen(function*() {
        const store = yield* AccessTokenStore
        yield* store.removeByPassword(null)
        for (const [id, byPassword] of [["t-6", true], ["t-7", true], ["t-8", true], ["t-9", false]] as const) {
          yield* store.insert(accessToken({ id, tokenHash: `h-${id}`, byPassword }))
        }
        assert.strictEqual(yield* store.removeByPassword("t-7"), 2)
        for (const [id, stays] of [["t-6", false], ["t-7", true], ["t-8", false], ["t-9", true]] as const) {
          assert.strictEqual((yield* store.findByHash(`h-${id}`)) !== null, stays, id)
        }
        assert.strictEqual(yield* store.removeByPassword(null), 1)
      }))

    it.effect.prop("any token comes back as it was put", [AccessToken], ([given]) =>
      Effect.gen(function*() {
        const store = yield* AccessTokenStore
        for (const token of yield* store.list) if (token.id === asText(given.id) || token.tokenHash === asText(given.tokenHash)) yield* store.remove(token.id)
        yield* store.insert(given)
        assert.deepStrictEqual(yield* store.findByHash(given.tokenHash), kept(given))
      }), { arbitrary: { runs: 15 } })
  })
}
