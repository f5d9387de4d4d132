import { assert, layer as withLayer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { ConnectionStore } from "#actors/ports/Stores.ts"
import { Connection, secretFields } from "#schemas/records/Connection.ts"
import { asText, at, connection, kept } from "./records.ts"

/** The record as plain data, secrets open. */
const revealed = (given: Connection | null): unknown =>
  given === null ? null : {
    ...given,
    ...Object.fromEntries(secretFields.map((field) => {
      const value = given[field]
      return [field, value === null ? null : Redacted.value(value).toWellFormed()]
    }))
  }

const fields = (given: Connection) => ({ ...given })

export const suite = (name: string, layer: Layer.Layer<ConnectionStore>): void => {
  withLayer(layer, { excludeTestServices: true })(`ConnectionStore on ${name}`, (it) => {
    it.effect("gives back what was inserted, secrets included", () =>
      Effect.gen(function*() {
        const store = yield* ConnectionStore
        const given = connection({
          id: "c-roundtrip", accessToken: Redacted.make("access"), refreshToken: Redacted.make("refresh"), idToken: Redacted.make(""),
          providerSpecificData: { nested: { list: [1, null, "x"] }, text: "\0 \ud800 é" }, group: "a", globalPriority: 3,
          quotaWindowThresholds: { day: 0.5, week: null }, rateLimitOverrides: { rpm: 3 }
        })
        yield* store.insert(given)
        assert.deepStrictEqual(revealed(yield* store.get("c-roundtrip")), revealed(given))
        assert.isNull(yield* store.get("c-unknown"))
      }))

    it.effect("a taken id is a conflict that names the field and changes nothing", () =>
      Effect.gen(function*() {
        const store = yield* ConnectionStore
        yield* store.insert(connection({ id: "c-conflict", name: "first" }))
        const exit = yield* Effect.exit(store.insert(connection({ id: "c-conflict", name: "second" })))
        assert.isTrue(Exit.isFailure(exit))
        const error = yield* Effect.flip(store.insert(connection({ id: "c-conflict" })))
        assert.strictEqual(error.reason, "conflict")
        assert.include(error.message, "id is taken")
        assert.strictEqual((yield* store.get("c-conflict"))?.name, "first")
      }))

    it.effect("list orders by provider, priority and creation", () =>
      Effect.gen(function*() {
        const store = yield* ConnectionStore
        yield* store.insert(connection({ id: "o-3", provider: "zz-order", priority: 2 }))
        yield* store.insert(connection({ id: "o-2", provider: "zz-order", priority: 1, createdAt: at(2) }))
        yield* store.insert(connection({ id: "o-1", provider: "zz-order", priority: 1, createdAt: at(1) }))
        yield* store.insert(connection({ id: "o-0", provider: "zz-first", priority: 9 }))
        const ids = (yield* store.list).filter((row) => row.provider.startsWith("zz-")).map((row) => row.id)
        assert.deepStrictEqual(ids, ["o-0", "o-1", "o-2", "o-3"])
      }))

    it.effect("renew changes the named tokens and columns, seals them, and leaves the rest", () =>
      Effect.gen(function*() {
        const store = yield* ConnectionStore
        const given = connection({ id: "c-renew", refreshToken: Redacted.make("r-1"), idToken: Redacted.make("i-1") })
        yield* store.insert(given)
        assert.isTrue(yield* store.renew("c-renew", { accessToken: Redacted.make("a-2"), refreshToken: Redacted.make("r-2") }, { tokenExpiresAt: at(5) }))
        assert.deepStrictEqual(revealed(yield* store.get("c-renew")), revealed({
          ...given, accessToken: Redacted.make("a-2"), refreshToken: Redacted.make("r-2"), tokenExpiresAt: at(5)
        }))
        assert.isTrue(yield* store.renew("c-renew", { idToken: null }, {}))
        assert.isNull((yield* store.get("c-renew"))?.idToken)
        assert.isFalse(yield* store.renew("c-unknown", { accessToken: null }, {}))
      }))

    it.effect("replace changes the whole record and answers false for an unknown id", () =>
      Effect.gen(function*() {
        const store = yield* ConnectionStore
        yield* store.insert(connection({ id: "c-replace" }))
        const next = connection({ id: "c-replace", apiKey: null, accessToken: Redacted.make("new"), name: "Renamed", priority: 7 })
        assert.isTrue(yield* store.replace(next))
        assert.deepStrictEqual(revealed(yield* store.get("c-replace")), revealed(next))
        assert.isFalse(yield* store.replace(connection({ id: "c-nobody" })))
      }))

    it.effect("patch changes only what it names, never a secret or the id", () =>
      Effect.gen(function*() {
        const store = yield* ConnectionStore
        const given = connection({ id: "c-patch" })
        yield* store.insert(given)
        assert.isTrue(yield* store.patch("c-patch", { testStatus: "active", backoffLevel: 2, providerSpecificData: { a: 1 }, group: "g" }))
        const smuggled = { lastError: "x", apiKey: Redacted.make("stolen"), id: "c-other" }
        assert.isTrue(yield* store.patch("c-patch", smuggled))
        assert.isTrue(yield* store.patch("c-patch", {}))
        assert.isFalse(yield* store.patch("c-nobody", { backoffLevel: 1 }))
        assert.isFalse(yield* store.patch("c-nobody", {}))
        assert.deepStrictEqual(
          revealed(yield* store.get("c-patch")),
          revealed({ ...given, testStatus: "active", backoffLevel: 2, providerSpecificData: { a: 1 }, group: "g", lastError: "x" })
        )
      }))

    it.effect("concurrent patches of different fields all survive", () =>
      Effect.gen(function*() {
        const store = yield* ConnectionStore
        yield* store.insert(connection({ id: "c-race" }))
        const patches = [{ backoffLevel: 3 }, { lastError: "e" }, { testStatus: "error" }, { consecutiveUseCount: 9 }, { errorCode: "429" }] as const
        yield* Effect.forEach(patches, (patch) => store.patch("c-race", patch), { concurrency: "unbounded" })
        const row = yield* store.get("c-race")
        assert.deepInclude(fields(row ?? connection()), { backoffLevel: 3, lastError: "e", testStatus: "error", consecutiveUseCount: 9, errorCode: "429" })
      }))

    it.effect("remove and removeByProvider answer what they removed", () =>
      Effect.gen(function*() {
        const store = yield* ConnectionStore
        for (const id of ["r-1", "r-2", "r-3"]) yield* store.insert(connection({ id, provider: "zz-remove" }))
        assert.isTrue(yield* store.remove("r-1"))
        assert.isFalse(yield* store.remove("r-1"))
        assert.strictEqual(yield* store.removeByProvider("zz-remove"), 2)
        assert.strictEqual(yield* store.removeByProvider("zz-remove"), 0)
      }))

    it.effect("reseal has nothing to do under the current key", () =>
      Effect.gen(function*() {
        const store = yield* ConnectionStore
        assert.strictEqual(yield* store.reseal, 0)
      }))

    it.effect.prop("any record comes back as it was put", [Connection], ([given]) =>
      Effect.gen(function*() {
        const store = yield* ConnectionStore
        yield* store.remove(asText(given.id))
        yield* store.insert(given)
        assert.deepStrictEqual(revealed(yield* store.get(given.id)), revealed(kept(given, ["providerSpecificData", "quotaWindowThresholds", "rateLimitOverrides"])))
      }), { arbitrary: { runs: 25 } })
  })
}
