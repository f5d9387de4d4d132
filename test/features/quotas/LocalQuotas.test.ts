import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as References from "effect/References"
import * as TestClock from "effect/testing/TestClock"
import { Configuration } from "#actors/ports/Configuration.ts"
import { Quotas } from "#src/routing/ports/Quotas.ts"
import { QuotaStore } from "#src/features/quotas/ports/QuotaStore.ts"
import { ResilienceControl } from "#src/features/resilience/ports/ResilienceControl.ts"
import { StoreError } from "#actors/ports/StoreError.ts"
import { ConnectionStore } from "#actors/ports/Stores.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import type { QuotaSnapshot } from "#schemas/records/QuotaSnapshot.ts"
import { resilienceDefaults } from "#schemas/records/ResilienceSettings.ts"
import * as AloneFeed from "#src/platform/cluster/AloneFeed.ts"
import * as LocalRecordLocks from "#src/platform/cluster/LocalRecordLocks.ts"
import * as EffectiveFlags from "#src/platform/configuration/EffectiveFlags.ts"
import * as StoredConfiguration from "#src/platform/configuration/StoredConfiguration.ts"
import * as LocalQuotas from "#src/features/quotas/LocalQuotas.ts"
import * as MemoryStores from "#test/support/memoryStores.ts"
import { connection } from "#test/suites/records.ts"

const START = Date.parse("2026-06-01T12:00:00.000Z")
const day = 86_400_000

/** Only its settings are asked for. */
const control = Layer.succeed(ResilienceControl, { settings: () => resilienceDefaults } as ResilienceControl["Service"])

const account = connection({ id: "c-1" })
const target = (fields: Partial<Target> = {}): Target => ({
  provider: "openai", providerAlias: "openai", publicModel: "openai/m", model: "m", connection: account, wireFormat: "chat-completions", origin: "",
  path: "/", streamPath: "/", maxOutputTokens: null, reasoning: null, thinking: null, headers: [], price: null, streamOptions: true, proxy: null, ...fields
})
/** A day's window as its headers tell it. */
const left = (remaining: number): ReadonlyArray<string> =>
  ["x-ratelimit-limit-requests-day", "1000", "x-ratelimit-remaining-requests-day", String(remaining), "x-ratelimit-reset-requests-day", "40000"]

interface Options {
  readonly rows?: ReadonlyArray<QuotaSnapshot>
  readonly environment?: Readonly<Record<string, string>>
  readonly broken?: boolean
}

const make = Effect.fnUntraced(function*(options: Options = {}) {
  yield* TestClock.setTime(START)
  const unavailable = Effect.fail(new StoreError({ store: "QuotaStore", operation: "any", reason: "unavailable", message: "gone" }))
  const written: Array<ReadonlyArray<QuotaSnapshot>> = []
  const store = Layer.effect(QuotaStore, Effect.map(QuotaStore, (memory) => QuotaStore.of(options.broken === true
    ? { insert: () => unavailable, latest: () => unavailable, history: () => unavailable, removeBefore: () => unavailable, removeHistory: unavailable }
    : {
      ...memory,
      insert: (rows) => Effect.suspend(() => {
        written.push(rows)
        return memory.insert(rows)
      })
    })))
  const seeded = Layer.effectDiscard(Effect.gen(function*() {
    yield* (yield* ConnectionStore).insert(account)
    yield* (yield* QuotaStore).insert(options.rows ?? [])
  }))
  const context = yield* Layer.build(LocalQuotas.layer.pipe(
    Layer.provideMerge(Layer.mergeAll(store, control, EffectiveFlags.layer(options.environment ?? {}))),
    Layer.provideMerge(StoredConfiguration.layer({ simulatorUrl: null, simulatorMode: "never" })),
    Layer.provideMerge(Layer.mergeAll(seeded, AloneFeed.layerFeed, LocalRecordLocks.layer)),
    Layer.provideMerge(MemoryStores.layer),
    Layer.provide(Layer.succeed(References.MinimumLogLevel, "None"))
  ))
  return {
    quotas: Context.get(context, Quotas), store: Context.get(context, QuotaStore), connections: Context.get(context, ConnectionStore),
    configuration: Context.get(context, Configuration), written
  }
})

const row = (fields: Partial<QuotaSnapshot> = {}): QuotaSnapshot => ({
  provider: "openai", connectionId: "c-1", model: null, windowKey: "7d", remainingPercentage: 1, isExhausted: false, nextResetAt: START + day,
  windowDurationMs: 7 * day, rawData: { limit: null, remaining: null, refills: false }, createdAt: START - day, ...fields
})

describe("quotas of a node", () => {
  it.effect("writes what changed together, the newest of each window, and nothing that changed little", () => Effect.gen(function*() {
    const { quotas, written } = yield* make()
    for (const remaining of [900, 800, 700]) quotas.note(target(), left(remaining), START)
    yield* TestClock.adjust("1 second")
    quotas.note(target({ model: "other" }), left(500), START)
    yield* TestClock.adjust("1 second")
    assert.deepStrictEqual(written.map((rows) => rows.map(({ model, remainingPercentage }) => [model, remainingPercentage])), [[["m", 70], ["other", 50]]])
    quotas.note(target(), left(699), START + 3_000)
    yield* TestClock.adjust("1 minute")
    assert.lengthOf(written, 1)
    quotas.note(target(), left(0), START + 63_000)
    yield* TestClock.adjust("2 seconds")
    assert.deepInclude(written[1]?.[0], { isExhausted: true, windowKey: "requests-day", windowDurationMs: day, createdAt: START + 63_000 })
  }))

  it.effect("knows nothing of answers without such headers, of providers without connection, and of connections that are gone", () => Effect.gen(function*() {
    const { configuration, connections, quotas } = yield* make()
    quotas.note(target(), ["content-type", "application/json", "x-request-id", "1"], START)
    quotas.note(target({ connection: null }), left(1), START)
    quotas.note(target({ connection: connection({ id: "gone" }) }), left(1), START)
    assert.isFalse(quotas.known())
    quotas.note(target(), left(1), START)
    assert.isTrue(quotas.known())
    assert.deepInclude(quotas.preflight(target(), START), { reason: "quota-exhausted", until: START + 40_000_000 })
    yield* configuration.commit(connections.remove("c-1"))
    assert.isFalse(quotas.known())
    assert.isNull(quotas.preflight(target(), START))
  }))

  it.effect("begins with the windows of the store that still run", () => Effect.gen(function*() {
    const { quotas } = yield* make({
      rows: [row(), row({ windowKey: "5h", nextResetAt: START - 1 }), row({ connectionId: "gone" }), row({ windowKey: "tokens", model: "m", remainingPercentage: 90 })]
    })
    assert.deepStrictEqual(quotas.held(null, START).map(({ connectionId, model, reading }) => [connectionId, model, reading.name]), [
      ["c-1", null, "7d"], ["c-1", "m", "tokens"]
    ])
    assert.strictEqual(quotas.preflight(target({ model: "another" }), START)?.until, START + day)
  }))

  it.effect("removes what is older than 90 days, unless background services are off", () => Effect.gen(function*() {
    const rows = [row({ createdAt: START - 91 * day }), row({ createdAt: START - 80 * day })]
    const on = yield* make({ rows })
    yield* TestClock.adjust("6 hours")
    assert.lengthOf(yield* on.store.history({ since: 0 }), 1)
    const off = yield* make({ rows, environment: { GATEWAY_DISABLE_BACKGROUND_SERVICES: "true" } })
    yield* TestClock.adjust("6 hours")
    assert.lengthOf(yield* off.store.history({ since: 0 }), 2)
  }))

  it.effect("does its work without a store", () => Effect.gen(function*() {
    const { quotas } = yield* make({ broken: true })
    quotas.note(target(), left(1), START)
    yield* TestClock.adjust("7 hours")
    quotas.note(target(), left(0), START + 7 * 3_600_000)
    assert.strictEqual(quotas.preflight(target(), START + 7 * 3_600_000)?.reason, "quota-exhausted")
  }))
})
