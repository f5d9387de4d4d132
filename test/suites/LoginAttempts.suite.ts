import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { Scope } from "effect/Scope"
import { ATTEMPTS_MAX, LOCK_MS, WINDOW_MS } from "#actors/access/LoginBrake.ts"
import type { LoginAttempts } from "#src/management/authentication/brake/LoginAttempts.ts"

export interface World {
  readonly store: LoginAttempts["Service"]
  /** Lets so much of the store's own time pass, ms. */
  readonly pass: (ms: number) => Effect.Effect<void>
}

let sequence = 0
const freshAddress = (): string => `192.0.2.${process.pid}-${++sequence}`
const goAhead = { waitMs: 0, locks: false }
/** As many attempts as go ahead in one window: the last one locks. */
const window = Array.from({ length: ATTEMPTS_MAX }, (_, i) => ({ waitMs: 0, locks: i === ATTEMPTS_MAX - 1 }))

export const suite = (name: string, open: Effect.Effect<World, never, Scope>): void => {
  describe(`LoginAttempts on ${name}`, () => {
    const times = (store: World["store"], address: string, count: number) =>
      Effect.forEach(Array.from({ length: count }), () => Effect.map(store.begin(address), ({ locks, waitMs }) => ({ waitMs, locks })))

    it.effect("the last attempt that is let go ahead locks the address, and no other one, and says so", () => Effect.gen(function*() {
      const { pass, store } = yield* open
      const address = freshAddress()
      assert.deepStrictEqual(yield* times(store, address, ATTEMPTS_MAX), window)
      const refused = yield* times(store, address, 3)
      assert.isTrue(refused.every(({ locks }) => !locks))
      for (const { waitMs } of refused) assert.isTrue(waitMs > LOCK_MS - 60_000 && waitMs <= LOCK_MS, String(waitMs))
      assert.deepStrictEqual(yield* times(store, freshAddress(), 1), [goAhead])
      yield* pass(LOCK_MS / 2)
      const [half] = yield* times(store, address, 1)
      assert.isTrue(half !== undefined && half.waitMs > LOCK_MS / 2 - 60_000 && half.waitMs <= LOCK_MS / 2, "attempts in a lock do not prolong it")
      yield* pass(LOCK_MS / 2)
      assert.deepStrictEqual(yield* times(store, address, ATTEMPTS_MAX), window)
      assert.isAbove((yield* times(store, address, 1))[0]?.waitMs ?? 0, 0)
    }))

    it.effect("of many attempts at once no more go ahead than one after another", () => Effect.gen(function*() {
      const { store } = yield* open
      const address = freshAddress()
      const all = yield* Effect.all(Array.from({ length: 30 }, () => store.begin(address)), { concurrency: "unbounded" })
      assert.lengthOf(all.filter(({ waitMs }) => waitMs === 0), ATTEMPTS_MAX)
      assert.lengthOf(all.filter(({ locks }) => locks), 1)
    }))

    it.effect("the window begins with its first attempt; what lies further apart does not add up, and a success forgets all", () => Effect.gen(function*() {
      const { pass, store } = yield* open
      const address = freshAddress()
      yield* times(store, address, 1)
      yield* pass(WINDOW_MS / 2)
      yield* times(store, address, ATTEMPTS_MAX - 2)
      yield* pass(WINDOW_MS / 2)
      assert.deepStrictEqual(yield* times(store, address, ATTEMPTS_MAX - 1), Array.from({ length: ATTEMPTS_MAX - 1 }, () => goAhead))
      yield* store.succeeded(address)
      assert.deepStrictEqual(yield* times(store, address, ATTEMPTS_MAX), window)
      assert.isAbove((yield* times(store, address, 1))[0]?.waitMs ?? 0, 0)
    }))

    it.effect("locked addresses are listed until their lock ends, by itself, by a success or by an operator", () => Effect.gen(function*() {
      const { pass, store } = yield* open
      const [first, second, third, free] = [freshAddress(), freshAddress(), freshAddress(), freshAddress()]
      const listed = Effect.map(store.locked, (all) => [first, second, third, free].filter((one) => all.some(({ address }) => address === one)))
      for (const address of [first, second, third]) yield* times(store, address, ATTEMPTS_MAX)
      yield* times(store, free, ATTEMPTS_MAX - 1)
      assert.deepStrictEqual(yield* listed, [first, second, third])
      assert.deepStrictEqual([yield* store.unlock(first), yield* store.unlock(first), yield* store.unlock(free), yield* store.unlock("none")], [true, false, false, false])
      yield* store.succeeded(second)
      assert.deepStrictEqual(yield* listed, [third])
      assert.deepStrictEqual(yield* times(store, first, 1), [goAhead])
      assert.deepStrictEqual(yield* times(store, free, 1), [{ waitMs: 0, locks: true }])
      yield* pass(LOCK_MS)
      assert.isFalse(yield* store.unlock(third))
    }))
  })
}
