/** What is remembered for keys, in the memory of a node: read once, forgotten at a change, and left out when the store is away. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"
import { ChangeFeed, type News } from "#actors/ports/ChangeFeed.ts"
import { Configuration } from "#actors/ports/Configuration.ts"
import { StoreError } from "#actors/ports/StoreError.ts"
import type { MemoryEntry } from "#schemas/memory/MemoryEntry.ts"
import { memoryDefaults } from "#schemas/memory/MemorySettings.ts"
import * as KeyMemories from "#src/features/memory/KeyMemories.ts"
import { MemoryStore } from "#src/features/memory/ports/MemoryStore.ts"
import { MemoryVectors } from "#src/features/memory/vectors/MemoryVectors.ts"

const entry: MemoryEntry = {
  id: "e", apiKeyId: "k", sessionId: "", type: "factual", key: "k", content: "c", metadata: {}, createdAt: "2026-01-01T00:00:00.000Z", updatedAt: "2026-01-01T00:00:00.000Z",
  expiresAt: null, tokens: 5
}
const away = new StoreError({ store: "MemoryStore", operation: "ofKey", reason: "unavailable", message: "gone" })

/** A store that can go away, or hang, and what other nodes change. */
const world = () => {
  const listeners: Array<(news: News) => Effect.Effect<void, StoreError>> = []
  const changed: Array<() => void> = []
  const state = {
    reads: 0, announced: 0, settings: new Map<string, unknown>(),
    answer: Effect.succeed([entry]) as Effect.Effect<ReadonlyArray<MemoryEntry>, StoreError>,
    news: (news: News) => Effect.forEach(listeners, (listener) => listener(news)),
    set: (value: unknown) => {
      state.settings.set("memory", value)
      changed.forEach((listener) => listener())
    }
  }
  const store = {
    ofKey: () => Effect.suspend(() => {
      state.reads++
      return state.answer
    })
  } as unknown as MemoryStore["Service"]
  const vectors = { model: () => null, onStored: () => undefined } as unknown as MemoryVectors["Service"]
  const feed = {
    hear: (listener: typeof listeners[number]) => Effect.sync(() => void listeners.push(listener)),
    announce: () => void state.announced++
  } as unknown as ChangeFeed["Service"]
  const configuration = {
    current: () => ({ settings: state.settings }),
    onChange: (listener: () => void) => {
      changed.push(listener)
      return () => undefined
    }
  } as unknown as Configuration["Service"]
  return {
    state,
    layer: KeyMemories.layer({ lookUpMs: 1_000 }).pipe(Layer.provide(Layer.mergeAll(Layer.succeed(MemoryStore, store), Layer.succeed(MemoryVectors, vectors), Layer.succeed(ChangeFeed, feed), Layer.succeed(Configuration, configuration))))
  }
}

const tested = (run: (state: ReturnType<typeof world>["state"], memories: KeyMemories.KeyMemories["Service"]) => Effect.Effect<void, StoreError>) => {
  const { layer, state } = world()
  return Effect.flatMap(KeyMemories.KeyMemories, (memories) => run(state, memories)).pipe(Effect.provide(layer))
}

describe("what is remembered for a key", () => {
  it.effect("is read once, and that there is nothing is known, too", () => tested((state, memories) => Effect.gen(function*() {
    assert.isUndefined(memories.peek("k"))
    const found = yield* memories.find("k")
    assert.strictEqual(memories.peek("k"), found)
    state.answer = Effect.succeed([])
    assert.isNull(yield* memories.find("none"))
    assert.isNull(memories.peek("none"))
    yield* TestClock.adjust(86_400_000)
    assert.isNull(memories.peek("none"))
    assert.strictEqual(memories.peek("k"), found)
    assert.strictEqual(state.reads, 2)
    assert.deepStrictEqual(memories.held(), { keys: 2, characters: 2 })
  })))

  it.effect("is forgotten when it was changed here, on another node, or unknown what", () => tested((state, memories) => Effect.gen(function*() {
    const both = Effect.andThen(memories.find("k"), memories.find("l"))
    yield* both
    memories.changed("k")
    assert.deepStrictEqual([memories.peek("k"), memories.peek("l") === undefined, state.announced], [undefined, false, 1])
    yield* both
    yield* state.news({ version: 1, changes: [{ kind: "memory", id: "l" }, { kind: "key", id: "k" }] })
    assert.deepStrictEqual([memories.peek("k") === undefined, memories.peek("l")], [false, undefined])
    yield* both
    yield* state.news({ version: 2, changes: null })
    assert.deepStrictEqual([memories.peek("k"), memories.peek("l"), memories.held()], [undefined, undefined, { keys: 0, characters: 0 }])
  })))

  it.effect("is not kept when it was changed while it was read", () => tested((state, memories) => Effect.gen(function*() {
    state.answer = Effect.as(Effect.sleep(100), [entry])
    const reading = yield* Effect.forkChild(memories.find("k"))
    yield* TestClock.adjust(50)
    memories.changed("k")
    yield* TestClock.adjust(50)
    assert.isNotNull(yield* Fiber.join(reading))
    assert.isUndefined(memories.peek("k"))
  })))

  it.effect("is left out while the store is away, and asked for again after five seconds", () => tested((state, memories) => Effect.gen(function*() {
    state.answer = Effect.fail(away)
    assert.strictEqual(yield* memories.find("k"), "unread")
    yield* TestClock.adjust(4_999)
    assert.strictEqual(memories.peek("k"), "unread")
    yield* TestClock.adjust(1)
    assert.isUndefined(memories.peek("k"))
    state.answer = Effect.succeed([entry])
    assert.strictEqual(yield* memories.find("k"), memories.peek("k") as KeyMemories.Found)
    state.answer = Effect.fail(away)
    yield* TestClock.adjust(86_400_000)
    assert.notStrictEqual(memories.peek("k"), "unread")
  })))

  it.effect("is waited for 250 ms when the store hangs", () => tested((state, memories) => Effect.gen(function*() {
    state.answer = Effect.never
    const reading = yield* Effect.forkChild(memories.find("k"))
    yield* TestClock.adjust(249)
    assert.isUndefined(reading.pollUnsafe())
    yield* TestClock.adjust(1)
    assert.strictEqual(yield* Fiber.join(reading), "unread")
  })))
})

describe("the settings", () => {
  it.effect("are null unless memory is on and may say something, and follow the configuration", () => tested((state, memories) => Effect.sync(() => {
    assert.isNull(memories.settings())
    state.set({ memoryEnabled: true })
    assert.deepStrictEqual(memories.settings(), { ...memoryDefaults, memoryEnabled: true })
    assert.strictEqual(memories.settings(), memories.settings())
    state.set({ memoryEnabled: true, memoryMaxTokens: 0 })
    assert.isNull(memories.settings())
    state.set({ memoryEnabled: true, memoryMaxTokens: -1 })
    assert.isNull(memories.settings())
  })))
})
