/** What a look-up costs while a tier below is away, and what reaches the durable one. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"
import { Configuration, type Snapshot } from "#actors/ports/Configuration.ts"
import { type CachedAnswer, type Forgotten, ResponseCache, ResponseCacheStore, SharedCacheTier } from "#src/features/cache/ports/ResponseCache.ts"
import { StoreError } from "#actors/ports/StoreError.ts"
import * as TieredCache from "#src/features/cache/TieredCache.ts"

const answer = (signature: string): CachedAnswer => ({
  signature, apiKeyId: null, model: "m", provider: "p", strategy: "single", format: "chat-completions", body: Buffer.from("{}"),
  tokensIn: 10, tokensOut: 5, costUsd: 0.5, createdAt: 0, expiresAt: 1_000_000
})

const configuration = Layer.succeed(Configuration, {
  current: () => ({ settings: new Map() }) as unknown as Snapshot,
  commit: (write) => write,
  reload: Effect.void,
  onChange: () => () => {}
} as Configuration["Service"])

/** A durable tier with moods, and what was asked of it. */
const world = () => {
  const asked: Array<string> = []
  const stored = new Map<string, CachedAnswer>()
  const mood: { now: "well" | "slow" | "frozen" | "away" } = { now: "well" }
  /** Opened when what is slow may go on. */
  const slow = Latch.makeUnsafe(false)
  const op = <A>(what: string, then: () => A): Effect.Effect<A, StoreError> => Effect.suspend(() => {
    asked.push(what)
    if (mood.now === "frozen") return Effect.never
    if (mood.now === "away") return Effect.fail(new StoreError({ store: "s", operation: what, reason: "unavailable", message: "away" }))
    return mood.now === "slow" ? Effect.map(slow.await, then) : Effect.sync(then)
  })
  const store = Layer.succeed(ResponseCacheStore, {
    find: (signature) => op(`find ${signature}`, () => stored.get(signature) ?? null),
    put: (answers) => op(`put ${answers.map((one) => one.signature).join(" ")}`, () => {
      for (const one of answers) stored.set(one.signature, one)
    }),
    noteHits: (hits) => op(`hits ${hits.map((one) => `${one.signature}:${one.hits}`).join(" ")}`, () => {}),
    entries: () => op("entries", () => ({ entries: [], total: 0 })),
    count: () => op("count", () => stored.size),
    remove: (what: Forgotten) => op("remove", () => {
      const gone = [...stored.keys()].filter((signature) => what._tag !== "Signature" || signature === what.signature)
      for (const signature of gone) stored.delete(signature)
      return gone
    }),
    sweep: () => op("sweep", () => 0)
  })
  /** Puts an answer, and stops where its write has begun: it ends once `slow` is open. */
  const beginWrite = Effect.fnUntraced(function*(cache: ResponseCache["Service"], put: CachedAnswer) {
    cache.put(put)
    mood.now = "slow"
    yield* TestClock.adjust(500)
    mood.now = "well"
  })
  /** What another node says that it forgot. */
  const told: { forgot: (signatures: ReadonlyArray<string> | null) => void } = { forgot: () => {} }
  const shared = Layer.succeed(SharedCacheTier, {
    find: () => Effect.succeed(null),
    put: () => Effect.void,
    remove: () => Effect.void,
    onRemoved: (listener) => {
      told.forgot = listener
    }
  })
  return {
    asked, beginWrite, mood, shared, slow, stored, told,
    layer: TieredCache.layer({ maxEntries: 10, maxBytes: 1_000_000, ttlMs: 60_000 }).pipe(Layer.provide(Layer.mergeAll(store, configuration)))
  }
}

describe("TieredCache", () => {
  it.effect("a frozen tier costs one look-up 250 ms, then nothing for a second", () => {
    const { asked, layer, mood } = world()
    return Effect.gen(function*() {
      const cache = yield* ResponseCache
      mood.now = "frozen"
      const first = yield* Effect.forkChild(cache.find("a"))
      yield* TestClock.adjust(250)
      assert.isNull(yield* Fiber.join(first))
      assert.isNull(yield* cache.find("b"))
      assert.deepStrictEqual(asked, ["find a"])
      mood.now = "well"
      yield* TestClock.adjust(1_000)
      assert.isNull(yield* cache.find("c"))
      assert.deepStrictEqual(asked, ["find a", "find c"])
    }).pipe(Effect.provide(layer))
  })

  it.effect("answers are written in batches, hits with them; what cannot be written is counted as lost and stays in memory", () => {
    const { asked, layer, mood, stored } = world()
    return Effect.gen(function*() {
      const cache = yield* ResponseCache
      cache.put(answer("a"))
      cache.put(answer("b"))
      cache.noteHit(answer("a"))
      cache.noteHit(answer("a"))
      assert.deepStrictEqual(asked, [])
      yield* TestClock.adjust(500)
      assert.deepStrictEqual(asked, ["put a b", "hits a:2"])
      mood.now = "away"
      cache.put(answer("c"))
      yield* TestClock.adjust(500)
      assert.deepStrictEqual([cache.figures().lost, stored.has("c"), cache.peek("c")?.signature], [1, false, "c"])
      assert.deepInclude(cache.figures(), { memoryEntries: 3, hits: 2, tokensSaved: 30, costSavedUsd: 1 })
    }).pipe(Effect.provide(layer))
  })

  it.effect("what is forgotten does not come back with a write that was waiting", () => {
    const { layer, stored } = world()
    return Effect.gen(function*() {
      const cache = yield* ResponseCache
      cache.put(answer("a"))
      assert.strictEqual(yield* cache.forget({ _tag: "All" }), 1)
      yield* TestClock.adjust(2_000)
      assert.deepStrictEqual([stored.size, cache.peek("a"), yield* cache.find("a")], [0, null, null])
    }).pipe(Effect.provide(layer))
  })

  it.effect("what is forgotten does not come back with a write that had begun", () => {
    const { beginWrite, layer, slow, stored } = world()
    return Effect.gen(function*() {
      const cache = yield* ResponseCache
      yield* beginWrite(cache, answer("a"))
      const forgotten = yield* Effect.forkChild(cache.forget({ _tag: "All" }))
      yield* Effect.yieldNow
      slow.openUnsafe()
      assert.strictEqual(yield* Fiber.join(forgotten), 1)
      assert.deepStrictEqual([stored.size, cache.peek("a"), yield* cache.find("a")], [0, null, null])
    }).pipe(Effect.provide(layer))
  })

  it.effect.each([{ forgotten: null }, { forgotten: ["a"] }])("what another node forgets does not come back with a write of this one: $forgotten", ({ forgotten }) => {
    const { beginWrite, layer, shared, slow, stored, told } = world()
    return Effect.gen(function*() {
      const cache = yield* ResponseCache
      yield* beginWrite(cache, answer("a"))
      told.forgot(forgotten)
      yield* slow.open
      yield* TestClock.adjust(1)
      assert.deepStrictEqual([...stored.keys()], [])
      cache.put(answer("a"))
      told.forgot(forgotten)
      yield* TestClock.adjust(500)
      assert.deepStrictEqual([cache.peek("a"), ...stored.keys()], [null])
      cache.put(answer("a"))
      yield* TestClock.adjust(500)
      assert.deepStrictEqual([...stored.keys()], ["a"])
    }).pipe(Effect.provide(layer.pipe(Layer.provide(shared))))
  })

  it.effect("an answer that was read before another node forgot it is not kept", () => {
    const { layer, mood, shared, slow, stored, told } = world()
    return Effect.gen(function*() {
      const cache = yield* ResponseCache
      stored.set("a", answer("a"))
      mood.now = "slow"
      const reading = yield* Effect.forkChild(cache.find("a"))
      yield* TestClock.adjust(1)
      told.forgot(null)
      yield* slow.open
      assert.strictEqual((yield* Fiber.join(reading))?.signature, "a")
      assert.isNull(cache.peek("a"))
    }).pipe(Effect.provide(layer.pipe(Layer.provide(shared))))
  })

  it.effect("a reader sees what a write has begun with", () => {
    const { beginWrite, layer, slow } = world()
    return Effect.gen(function*() {
      const cache = yield* ResponseCache
      yield* beginWrite(cache, answer("a"))
      const count = yield* Effect.forkChild(cache.stored)
      yield* Effect.yieldNow
      slow.openUnsafe()
      assert.strictEqual(yield* Fiber.join(count), 1)
    }).pipe(Effect.provide(layer))
  })

  it.effect("a reader that leaves takes nothing with it", () => {
    const { asked, layer, mood, slow, stored } = world()
    return Effect.gen(function*() {
      const cache = yield* ResponseCache
      cache.put(answer("a"))
      cache.noteHit(answer("a"))
      mood.now = "slow"
      const reader = yield* Effect.forkChild(cache.stored)
      yield* Effect.yieldNow
      assert.deepStrictEqual(asked, ["put a"])
      yield* Fiber.interrupt(reader)
      mood.now = "well"
      slow.openUnsafe()
      assert.strictEqual(yield* cache.stored, 1)
      assert.deepStrictEqual([stored.has("a"), asked], [true, ["put a", "hits a:1", "count"]])
    }).pipe(Effect.provide(layer))
  })

  it.effect("an answer of the durable tier moves into memory", () => {
    const { asked, layer, stored } = world()
    return Effect.gen(function*() {
      const cache = yield* ResponseCache
      stored.set("a", answer("a"))
      assert.isNull(cache.peek("a"))
      assert.strictEqual((yield* cache.find("a"))?.signature, "a")
      assert.strictEqual(cache.peek("a")?.signature, "a")
      assert.deepStrictEqual(asked, ["find a"])
    }).pipe(Effect.provide(layer))
  })
})
