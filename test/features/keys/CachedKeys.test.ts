import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"
import { Keys } from "#actors/ports/Keys.ts"
import { StoreError } from "#actors/ports/StoreError.ts"
import { KeyStore } from "#actors/ports/Stores.ts"
import { type ApiKey, defaultPolicy } from "#schemas/records/ApiKey.ts"
import * as AloneFeed from "#src/platform/cluster/AloneFeed.ts"
import * as CachedKeys from "#src/features/keys/CachedKeys.ts"

const key: ApiKey = {
  id: "k", name: "k", keyHash: "h", keyPrefix: "", keySuffix: "", sealedKey: null, machineId: "", issuerId: null, policy: defaultPolicy,
  createdAt: "", updatedAt: "", lastUsedAt: null, revokedAt: null
}
const away = new StoreError({ store: "keys", operation: "findByHash", reason: "unavailable", message: "gone" })

/** A key store that can go away, or hang. */
const world = () => {
  const state = { reads: 0, answer: Effect.succeed(key) as Effect.Effect<ApiKey | null, StoreError> }
  const store = {
    findByHash: () => Effect.suspend(() => {
      state.reads++
      return state.answer
    })
  } as unknown as KeyStore["Service"]
  const layer = CachedKeys.layer({ lookUpMs: 1_000 }).pipe(Layer.provide(Layer.mergeAll(Layer.succeed(KeyStore, store), AloneFeed.layerFeed)))
  return { state, layer }
}

const tested = (run: (state: ReturnType<typeof world>["state"], keys: Keys["Service"]) => Effect.Effect<void, StoreError>) => {
  const { layer, state } = world()
  return Effect.flatMap(Keys, (keys) => run(state, keys)).pipe(Effect.provide(layer))
}

const reasonOf = (found: Effect.Effect<ApiKey | null, StoreError>) => Effect.match(found, { onFailure: ({ reason }) => reason, onSuccess: () => "found" })

describe("keys in memory", () => {
  it.effect("a key in use is read again ahead of its minute, and nobody waits", () => tested((state, keys) => Effect.gen(function*() {
    assert.isUndefined(keys.peek("h"))
    assert.strictEqual((yield* keys.find("h"))?.id, "k")
    yield* TestClock.adjust(44_000)
    assert.strictEqual(keys.peek("h")?.id, "k")
    assert.strictEqual(state.reads, 1)
    yield* TestClock.adjust(2_000)
    assert.strictEqual(keys.peek("h")?.id, "k")
    yield* TestClock.adjust(40_000)
    assert.strictEqual(keys.peek("h")?.id, "k")
    assert.strictEqual(state.reads, 2)
  })))

  it.effect("an unused key is forgotten after its minute, and a revoked one when it is read again", () => tested((state, keys) => Effect.gen(function*() {
    yield* keys.find("h")
    yield* TestClock.adjust(60_000)
    assert.isUndefined(keys.peek("h"))
    yield* keys.find("h")
    state.answer = Effect.succeed(null)
    yield* TestClock.adjust(50_000)
    keys.peek("h")
    yield* TestClock.adjust(1)
    assert.isNull(keys.peek("h"))
  })))

  for (const [name, answer] of [["refuses", Effect.fail(away)], ["hangs", Effect.never]] as const) {
    it.effect(`while the store ${name}, a key in use stays right for ten minutes more, then no longer`, () => tested((state, keys) => Effect.gen(function*() {
      yield* keys.find("h")
      state.answer = answer
      for (let second = 0; second < 655; second += 5) {
        assert.strictEqual(keys.peek("h")?.id, "k", `after ${second} s`)
        yield* TestClock.adjust(5_000)
      }
      // Asked again now and then, not by every request.
      assert.isAtMost(state.reads, 125)
      yield* TestClock.adjust(10_000)
      assert.isUndefined(keys.peek("h"))
    })))
  }

  it.effect("a key that was idle when the store went is still found by its last reading; an unknown one fails", () => tested((state, keys) => Effect.gen(function*() {
    yield* keys.find("h")
    state.answer = Effect.fail(away)
    yield* TestClock.adjust(300_000)
    assert.isUndefined(keys.peek("h"))
    assert.strictEqual((yield* keys.find("h"))?.id, "k")
    assert.strictEqual(keys.peek("h")?.id, "k")
    assert.strictEqual(yield* reasonOf(keys.find("other")), "unavailable")
    yield* TestClock.adjust(400_000)
    assert.strictEqual(yield* reasonOf(keys.find("h")), "unavailable")
  })))

  it.effect("a forgotten key does not come back by a reading that began before", () => tested((state, keys) => Effect.gen(function*() {
    yield* keys.find("h")
    state.answer = Effect.delay(Effect.succeed(key), "1 second")
    yield* TestClock.adjust(50_000)
    keys.peek("h")
    keys.forget("k")
    yield* TestClock.adjust(2_000)
    assert.isUndefined(keys.peek("h"))
  })))
})
