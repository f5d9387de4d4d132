import { assert, layer as withLayer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { IdempotencyStore, type KeptReply } from "#src/features/cache/ports/Idempotency.ts"
import { eventually } from "#test/support/operator.ts"

const reply: KeptReply = { status: 200, headers: ["Content-Type", "application/json"], body: Buffer.from('{"a":"häß 😀"}') }
const mine = { _tag: "Mine" } as const

let sequence = 0
const freshKey = (): string => `key-${process.pid}-${++sequence}`

export const suite = (name: string, layer: Layer.Layer<IdempotencyStore>): void => {
  withLayer(layer, { excludeTestServices: true })(`IdempotencyStore on ${name}`, (it) => {
    it.effect("of many that claim a key at once one gets it; the others see it running", () => Effect.gen(function*() {
      const store = yield* IdempotencyStore
      const key = freshKey()
      const claims = yield* Effect.all(Array.from({ length: 20 }, (_, i) => store.claim(key, "d", `owner-${i}`, 60_000)), { concurrency: "unbounded" })
      assert.deepStrictEqual(claims.map(({ _tag }) => _tag).sort(), ["Mine", ...Array.from({ length: 19 }, () => "Running")])
    }))

    it.effect("a finished reply is given to everybody, byte by byte; another body is told so, while it runs and after", () => Effect.gen(function*() {
      const store = yield* IdempotencyStore
      const key = freshKey()
      assert.deepStrictEqual(yield* store.claim(key, "d", "one", 60_000), mine)
      assert.deepStrictEqual(yield* store.claim(key, "other", "two", 60_000), { _tag: "Reused" })
      assert.isTrue(yield* store.finish(key, "one", reply, 60_000))
      const found = yield* store.claim(key, "d", "two", 60_000)
      assert.deepStrictEqual(found._tag === "Finished" ? { ...found.reply, body: Buffer.from(found.reply.body) } : null, { ...reply, body: Buffer.from(reply.body) })
      assert.deepStrictEqual(yield* store.claim(key, "other", "two", 60_000), { _tag: "Reused" })
    }))

    it.effect("an abandoned claim is free for the next, with any body", () => Effect.gen(function*() {
      const store = yield* IdempotencyStore
      const key = freshKey()
      yield* store.claim(key, "d", "one", 60_000)
      yield* store.abandon(key, "two")
      assert.deepStrictEqual(yield* store.claim(key, "d", "two", 60_000), { _tag: "Running" })
      yield* store.abandon(key, "one")
      assert.deepStrictEqual(yield* store.claim(key, "other", "two", 60_000), mine)
    }))

    it.effect("a claim ends with its lease, and who lost it can neither renew nor finish nor abandon the next one's", () => Effect.gen(function*() {
      const store = yield* IdempotencyStore
      const key = freshKey()
      assert.deepStrictEqual(yield* store.claim(key, "d", "dead", 30), mine)
      yield* Effect.promise(() => eventually(() => Effect.runPromise(store.claim(key, "d", "heir", 60_000)), ({ _tag }) => _tag === "Mine", "the end of the lease"))
      assert.isFalse(yield* store.renew(key, "dead", 60_000))
      assert.isFalse(yield* store.finish(key, "dead", reply, 60_000))
      yield* store.abandon(key, "dead")
      assert.deepStrictEqual(yield* store.claim(key, "d", "third", 60_000), { _tag: "Running" })
      assert.isTrue(yield* store.renew(key, "heir", 60_000))
    }))

    it.effect("a reply is forgotten at the end of its window", () => Effect.gen(function*() {
      const store = yield* IdempotencyStore
      const key = freshKey()
      yield* store.claim(key, "d", "one", 60_000)
      yield* store.finish(key, "one", reply, 30)
      yield* Effect.promise(() => eventually(() => Effect.runPromise(store.claim(key, "d", "two", 60_000)), ({ _tag }) => _tag === "Mine", "the end of the window"))
    }))
  })
}
