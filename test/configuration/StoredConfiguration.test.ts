import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"
import { ChangeFeed, type News } from "#actors/ports/ChangeFeed.ts"
import { Configuration } from "#actors/ports/Configuration.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { DocumentStore } from "#actors/ports/Stores.ts"
import * as LocalRecordLocks from "#src/platform/cluster/LocalRecordLocks.ts"
import * as StoredConfiguration from "#src/platform/configuration/StoredConfiguration.ts"
import { makeStores } from "#test/features/resilience/support.ts"

/** A configuration over memory stores, and a feed whose version and news the test makes. */
const world = Effect.gen(function*() {
  const stores = yield* makeStores
  const state = { version: 50, hear: (_news: News): Effect.Effect<void, StoreError> => Effect.void }
  const feed = Layer.succeed(ChangeFeed, {
    applied: () => state.version,
    version: Effect.sync(() => state.version),
    hear: (listener) => Effect.sync(() => {
      state.hear = listener
    }),
    isBehind: () => false,
    stuck: () => null,
    caughtUp: Effect.void,
    announce: () => undefined,
    reread: Effect.void
  })
  const built = yield* Layer.build(StoredConfiguration.layer({ simulatorUrl: null, simulatorMode: "never" }).pipe(Layer.provide(Layer.merge(feed, LocalRecordLocks.layer)), Layer.provide(Layer.succeedContext(stores))))
  return { state, configuration: Context.get(built, Configuration), documents: Context.get(stores, DocumentStore) }
})

describe("the stored configuration", () => {
  it.effect("a change waits five seconds for those before it, and one that was refused for that is never made", () => Effect.gen(function*() {
    const { configuration } = yield* world
    const hangs = Deferred.makeUnsafe<void>()
    let made = 0
    const first = yield* Effect.forkChild(configuration.commit(Deferred.await(hangs)), { startImmediately: true })
    const second = yield* Effect.forkChild(Effect.result(configuration.commit(Effect.sync(() => ++made))), { startImmediately: true })
    yield* TestClock.adjust(4_900)
    assert.isUndefined(second.pollUnsafe())
    yield* TestClock.adjust(200)
    const refused = yield* Fiber.join(second)
    assert.strictEqual(refused._tag === "Failure" ? refused.failure.reason : "made", "unavailable")
    // One that has begun is carried through, however long it takes.
    assert.isUndefined(first.pollUnsafe())
    yield* TestClock.adjust(60_000)
    assert.isUndefined(first.pollUnsafe())
    Deferred.doneUnsafe(hangs, Effect.void)
    yield* Fiber.join(first)
    assert.strictEqual(made, 0)
    assert.strictEqual(yield* configuration.commit(Effect.sync(() => ++made)), 1)
  }))

  it.effect("news that anything may have changed is believed though its version is older: a backup was restored", () => Effect.gen(function*() {
    const { configuration, documents, state } = yield* world
    const { version } = configuration.current()
    yield* documents.put("alias", "restored", "lab/m")
    yield* state.hear({ version: 50, changes: [{ kind: "document", id: "alias/restored" }] })
    assert.strictEqual(configuration.current().version, version)
    state.version = 3
    yield* state.hear({ version: 3, changes: null })
    assert.strictEqual(configuration.current().aliases.get("restored"), "lab/m")
    yield* documents.put("alias", "next", "lab/m")
    state.version = 4
    yield* state.hear({ version: 4, changes: [{ kind: "document", id: "alias/next" }] })
    assert.strictEqual(configuration.current().aliases.get("next"), "lab/m")
  }))
})
