import { assert, layer as withLayer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { SessionStore } from "#actors/ports/Stores.ts"
import { session } from "./records.ts"

export const suite = (name: string, layer: Layer.Layer<SessionStore>): void => {
  withLayer(layer, { excludeTestServices: true })(`SessionStore on ${name}`, (it) => {
    it.effect("gives back what was inserted; a taken id is a conflict", () =>
      Effect.gen(function*() {
        const store = yield* SessionStore
        const given = session({ id: "s-1", createdAt: 1_700_000_000_000, expiresAt: 1_700_000_000_001.5, issuer: "https://login.example", subject: "person-1" })
        yield* store.insert(given)
        assert.deepStrictEqual(yield* store.get("s-1"), given)
        const plain = session({ id: "s-12" })
        yield* store.insert(plain)
        assert.deepStrictEqual(yield* store.get("s-12"), plain)
        assert.isNull(yield* store.get("s-unknown"))
        assert.strictEqual((yield* Effect.flip(store.insert(given))).reason, "conflict")
      }))

    it.effect("extend never shortens a session and never revives a revoked one", () =>
      Effect.gen(function*() {
        const store = yield* SessionStore
        yield* store.insert(session({ id: "s-2" }))
        const other = session({ id: "s-21" })
        yield* store.insert(other)
        yield* store.extend("s-2", 5_000)
        yield* store.extend("s-2", 3_000)
        assert.strictEqual((yield* store.get("s-2"))?.expiresAt, 5_000)
        assert.isTrue(yield* store.revoke("s-2", 4_000))
        yield* store.extend("s-2", 9_000)
        const row = yield* store.get("s-2")
        assert.deepStrictEqual([row?.expiresAt, row?.revokedAt], [5_000, 4_000])
        assert.deepStrictEqual(yield* store.get("s-21"), other)
      }))

    it.effect("revoke is told once", () =>
      Effect.gen(function*() {
        const store = yield* SessionStore
        yield* store.insert(session({ id: "s-3" }))
        const told = yield* Effect.forEach([1, 2, 3, 4], (now) => store.revoke("s-3", now), { concurrency: "unbounded" })
        assert.lengthOf(told.filter((first) => first), 1)
        assert.isFalse(yield* store.revoke("s-unknown", 1))
      }))

    it.effect("revokeOthers ends every live session but the one to keep, and counts those", () =>
      Effect.gen(function*() {
        const store = yield* SessionStore
        yield* store.removeExpired(Number.MAX_SAFE_INTEGER)
        for (const id of ["s-7", "s-8", "s-9"]) yield* store.insert(session({ id, expiresAt: 1_000 }))
        yield* store.insert(session({ id: "s-10", expiresAt: 1_000, revokedAt: 5 }))
        yield* store.insert(session({ id: "s-11", expiresAt: 100 }))
        assert.strictEqual(yield* store.revokeOthers("s-8", 200), 2)
        assert.deepStrictEqual((yield* Effect.forEach(["s-7", "s-8", "s-9", "s-10"], (id) => store.get(id))).map((row) => row?.revokedAt), [200, null, 200, 5])
        assert.strictEqual(yield* store.revokeOthers(null, 300), 1)
      }))

    it.effect("removeExpired removes what has ended, revoked or not", () =>
      Effect.gen(function*() {
        const store = yield* SessionStore
        yield* store.removeExpired(Number.MAX_SAFE_INTEGER)
        yield* store.insert(session({ id: "s-4", expiresAt: 10 }))
        yield* store.insert(session({ id: "s-5", expiresAt: 10, revokedAt: 5 }))
        yield* store.insert(session({ id: "s-6", expiresAt: 11 }))
        assert.strictEqual(yield* store.removeExpired(10), 2)
        assert.isNull(yield* store.get("s-4"))
        assert.isNotNull(yield* store.get("s-6"))
      }))
  })
}
