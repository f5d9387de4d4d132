/** The three mechanisms of one node together: independence, places, and what outlives a restart. */
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import { OwnFailures } from "#actors/request/OwnFailures.ts"
import { ConnectionStore } from "#actors/ports/Stores.ts"
import { marksOf } from "#src/features/resilience/ports/marks.ts"
import { isPass, make, makeStores, start, target, verdict } from "./support.ts"
import { connection } from "#test/suites/records.ts"

const record = connection({ id: "c-1" })
const other = connection({ id: "c-2", priority: 2 })
const one = target(record)
const two = target(other)
const beside = target(record, { model: "n" })
const connections = [record, other]
/** A failure of the account, which rests its connection as a whole. */
const wide = { accountWide: true }

describe("the three mechanisms", () => {
  it.effect("a 429 with a hint rests its model on its connection only, and never moves the breaker", () => Effect.gen(function*() {
    const { call, control, resilience } = yield* make({ connections })
    call(one, 429, 0, { retryAfterMs: 5_000 })
    const rest = { until: 5_000, detail: "rate_limit_exceeded (HTTP 429)", soft: false }
    assert.deepStrictEqual(resilience.check(one, 4_999), { reason: "model-cooldown", ...rest })
    assert.isNull(resilience.check(one, 5_000))
    assert.isNull(resilience.check(two, 0))
    assert.isNull(resilience.check(beside, 0))
    assert.strictEqual(resilience.health(one, 0).failures, 0)
    assert.deepStrictEqual(control.lockouts(0), [{
      provider: "openai", connectionId: "c-1", model: "m", reason: "rate_limit_exceeded (HTTP 429)", until: 5_000, failureCount: 1
    }])
    assert.lengthOf(control.cooldowns(0), 0)
    assert.strictEqual(control.clearLockouts("openai", "m", null, 0), 1)
    assert.isNull(resilience.check(one, 0))
  }))

  it.effect("a failure of the account rests its connection as a whole, and no breaker", () => Effect.gen(function*() {
    for (const more of [wide, { message: "quota exceeded" }]) {
      const { call, control, resilience } = yield* make({ connections })
      call(one, 429, 0, { retryAfterMs: 5_000, ...more })
      for (const blocked of [one, beside]) assert.deepInclude(resilience.check(blocked, 4_999), { reason: "connection-cooldown", until: 5_000, soft: false })
      assert.isNull(resilience.check(two, 0))
      assert.lengthOf(control.lockouts(0), 0)
    }
  }))

  it.effect("a second model that fails for another request rests the connection; for the same request it does not", () => Effect.gen(function*() {
    const third = target(record, { model: "o" })
    const alone = yield* make({ connections })
    const ownFailures = new OwnFailures()
    for (const failing of [one, beside]) alone.enter(failing, 0).release(verdict(503), 0, ownFailures)
    assert.isNull(alone.resilience.check(third, 0))
    const both = yield* make({ connections })
    both.call(one, 503, 0)
    assert.isNull(both.resilience.check(third, 0))
    const own = new OwnFailures()
    both.enter(beside, 0).release(verdict(503), 0, own)
    assert.deepInclude(both.resilience.check(third, 0), { reason: "connection-cooldown", soft: true })
    assert.isNull(both.resilience.check(third, 0, own), "what a request caused itself does not shut it out of another model")
    assert.isNotNull(both.resilience.check(beside, 0, own), "it does of the one that failed")
    // An answer of a call that was let in all the same proves the guess wrong.
    both.enter(third, 0, false, own).release(verdict(200), 0)
    assert.isNull(both.resilience.check(third, 0))
    assert.lengthOf(both.control.cooldowns(0), 0)
  }))

  it.effect("one request counts once for a breaker, and the breaker that it helped to open does not shut it out of another model", () => Effect.gen(function*() {
    const settings = { resilience: { providerBreaker: { apikey: { degradationThreshold: 1, failureThreshold: 2, resetTimeoutMs: 15_000 } } } }
    const { control, enter, resilience } = yield* make({ connections, settings })
    const passes = [one, beside, two].map((to) => enter(to, 0))
    const ownFailures = new OwnFailures()
    for (const pass of passes) pass.release(verdict(503), 0, ownFailures)
    assert.deepInclude(control.breakers(0)[0], { state: "degraded", failures: 1 })
    const other = new OwnFailures()
    enter(target(record, { model: "p" }), 0).release(verdict(503), 0, other)
    const third = target(connection({ id: "c-3" }), { model: "o" })
    assert.deepInclude(resilience.check(third, 0), { reason: "breaker-open" })
    for (const own of [ownFailures, other]) assert.isNull(resilience.check(third, 0, own))
    enter(third, 0, false, other).release(verdict(200), 0)
    assert.deepInclude(control.breakers(0)[0], { state: "closed" })
  }))

  it.effect("a breaker is not hidden by a cooldown of ours in front of it, and of two hard blocks the later end holds", () => Effect.gen(function*() {
    const settings = { resilience: { providerBreaker: { apikey: { degradationThreshold: 1, failureThreshold: 2, resetTimeoutMs: 15_000 } } } }
    const { enter, resilience } = yield* make({ connections, settings })
    const first = enter(one, 0)
    const second = enter(one, 0)
    first.release(verdict(503), 0)
    assert.deepInclude(resilience.check(one, 0), { reason: "model-cooldown", until: 3_000, soft: true })
    second.release(verdict(503), 0)
    assert.deepInclude(resilience.check(one, 0), { reason: "breaker-open", until: 15_000 })
    assert.deepInclude(resilience.enter(one, 0, true), { reason: "breaker-open", until: 15_000 })
    // The vendor's word may end after the breaker's time, or before it.
    for (const [retryAfterMs, reason, until] of [[20_000, "model-cooldown", 20_000], [5_000, "breaker-open", 15_000]] as const) {
      const node = yield* make({ connections, settings })
      const calls = [node.enter(one, 0), node.enter(one, 0)]
      for (const pass of calls) pass.release(verdict(503, { retryAfterMs }), 0)
      assert.deepInclude(node.resilience.check(one, 0), { reason, until })
    }
  }))

  it.effect("a 404 locks the model on its connection, and rests nothing else", () => Effect.gen(function*() {
    const { call, control, resilience } = yield* make({ connections })
    call(one, 404, 0)
    assert.deepInclude(resilience.check(one, 0), { reason: "model-lockout", until: 120_000 })
    assert.isNull(resilience.check(target(record, { model: "n" }), 0))
    assert.isNull(resilience.check(two, 0))
    assert.deepStrictEqual(control.lockouts(0), [{ provider: "openai", connectionId: "c-1", model: "m", reason: "HTTP 404", until: 120_000, failureCount: 1 }])
    assert.strictEqual(control.clearLockouts("openai", "m", null, 0), 1)
    assert.isNull(resilience.check(one, 0))
  }))

  it.effect("twelve failures of a key provider open its breaker for all connections, and one probe decides", () => Effect.gen(function*() {
    const { call, control, enter, resilience } = yield* make({ connections: [connection({ id: "c-1", providerSpecificData: { disableCooling: true } }), other] })
    const warm = target(connection({ id: "c-1", providerSpecificData: { disableCooling: true } }))
    for (let i = 0; i < 11; i++) call(warm, 503, 0)
    assert.strictEqual(resilience.health(warm, 0).breaker, "degraded")
    call(warm, 0, 0)
    assert.deepInclude(resilience.check(two, 29_999), { reason: "breaker-open", until: 30_000, detail: "Failures in a row: 12, the last: no answer." })
    const probe = enter(two, 30_000)
    assert.deepInclude(resilience.check(warm, 30_000), { reason: "breaker-probing", until: 31_000 })
    probe.release(null, 30_001)
    const again = enter(warm, 30_001)
    again.answered(30_002)
    assert.isNull(resilience.check(two, 30_002), "the first content of a long stream decides the probe")
    again.release(verdict(0), 90_000)
    assert.deepStrictEqual(control.breakers(90_000).map((view) => view.state), ["closed"])
  }))

  it.effect("a client abort, and every other 4xx, say nothing about provider or connection", () => Effect.gen(function*() {
    const { call, enter, resilience } = yield* make({ connections })
    for (const status of [400, 401, 402, 403, 413, 422]) for (let i = 0; i < 20; i++) call(one, status, 0)
    for (let i = 0; i < 20; i++) enter(one, 0).release(null, 0)
    assert.isNull(resilience.check(one, 0))
    assert.deepInclude(resilience.health(one, 0), { breaker: "closed", failures: 0, inFlight: 0 })
  }))

  it.effect("a guess gives way to a last resort, the upstream's word and a breaker do not", () => Effect.gen(function*() {
    const { call, enter, resilience } = yield* make({ connections })
    call(one, 503, 0)
    assert.deepInclude(resilience.check(one, 0), { reason: "model-cooldown", soft: true })
    enter(one, 0, true).release(verdict(503, { retryAfterMs: 9_000 }), 0)
    assert.isFalse(isPass(resilience.enter(one, 0, true)))
    call(two, 404, 0)
    enter(two, 0, true).release(null, 0)
    const local = target(connection({ id: "c-3", provider: "ollama" }), { origin: "http://127.0.0.1:9" })
    for (let i = 0; i < 2; i++) enter(local, 0, true).release(verdict(0), 0)
    assert.isFalse(isPass(resilience.enter(local, 0, true)), "a breaker is nobody's guess")
  }))

  it.effect("a connection that is off or terminal is inactive until somebody acts", () => Effect.gen(function*() {
    const { resilience } = yield* make()
    assert.deepInclude(resilience.check(target(connection({ isActive: false })), 0), { reason: "inactive", until: null })
    assert.deepInclude(resilience.check(target(connection({ testStatus: "banned" })), 0), { reason: "inactive", detail: "The connection is banned." })
  }))

  it.effect("disableCooling and the profiles are heeded: a local server opens after two failures", () => Effect.gen(function*() {
    const cool = connection({ id: "c-9", providerSpecificData: { disableCooling: true } })
    const { call, resilience } = yield* make({ connections: [cool] })
    const local = target(cool, { origin: "http://localhost:11434", provider: "node-1" })
    call(local, 503, 0)
    assert.isNull(resilience.check(local, 0))
    call(local, 503, 0)
    assert.deepInclude(resilience.check(local, 0), { reason: "breaker-open", until: 15_000 })
    const signedIn = target(connection({ id: "c-8", authType: "oauth" }), { provider: "claude" })
    call(signedIn, 429, 0)
    assert.deepInclude(resilience.check(signedIn, 0), { reason: "model-cooldown", until: 60_000 })
  }))
})

describe("places", () => {
  it.effect("nothing is capped until a cap is set", () => Effect.gen(function*() {
    const { enter, resilience } = yield* make({ connections })
    const passes = Array.from({ length: 500 }, () => enter(one, 0))
    assert.strictEqual(resilience.health(one, 0).inFlight, 500)
    for (const pass of passes) pass.release(null, 0)
    assert.strictEqual(resilience.health(one, 0).inFlight, 0)
  }))

  it.effect("maxConcurrent refuses the next call; a pass gives back once", () => Effect.gen(function*() {
    const capped = target(connection({ id: "c-1", maxConcurrent: 2 }))
    const { enter, resilience } = yield* make({ connections: [capped.connection ?? record] })
    const first = enter(capped, 0)
    enter(capped, 0)
    assert.deepInclude(resilience.enter(capped, 0), { reason: "connection-busy", until: null })
    first.release(verdict(200), 0)
    first.release(verdict(200), 0)
    assert.strictEqual(resilience.health(capped, 0).inFlight, 1)
    enter(capped, 0).release(null, 0)
    const free = target(connection({ id: "c-1", maxConcurrent: 0 }))
    for (let i = 0; i < 9; i++) enter(free, 0)
  }))

  it.effect("caps of the node and of a provider hold over all connections", () => Effect.gen(function*() {
    const { enter, resilience } = yield* make({ connections, settings: { concurrencyLimits: { global: 3, perProvider: { openai: 2 } } } })
    const first = enter(one, 0)
    enter(two, 0)
    assert.deepInclude(resilience.check(two, 0), { reason: "connection-busy", detail: "2 calls at once are allowed at the provider." })
    const elsewhere = target(null, { provider: "ollama", origin: "http://localhost:1" })
    enter(elsewhere, 0)
    assert.deepInclude(resilience.check(elsewhere, 0), { reason: "connection-busy", detail: "3 calls at once are allowed on this node." })
    first.release(null, 0)
    assert.isNull(resilience.check(two, 0), "a place at the provider is a place for its other connection")
  }))

  it.effect("a reset of the places is not undone by passes from before it", () => Effect.gen(function*() {
    const { control, enter } = yield* make({ connections })
    const before = enter(one, 0)
    control.resetPlaces()
    const after = enter(one, 0)
    before.release(null, 0)
    assert.deepStrictEqual(control.inFlight(), { total: 1, perProvider: { openai: 1 } })
    after.release(null, 0)
    assert.deepStrictEqual(control.inFlight(), { total: 0, perProvider: {} })
  }))
})

describe("the records", () => {
  it.effect("a cooldown is written once, and its end once", () => Effect.gen(function*() {
    const { call, configuration, connections: store, resilience, written } = yield* make({ connections })
    yield* TestClock.setTime(1_000_000)
    call(one, 503, 1_000_000, wide)
    assert.strictEqual((yield* store.get("c-1"))?.backoffLevel, 0, "not on the hot path")
    const before = configuration.current().version
    yield* written
    const cooled = yield* store.get("c-1")
    assert.deepInclude(cooled, { testStatus: "unavailable", backoffLevel: 1, rateLimitedUntil: new Date(1_003_000).toISOString() })
    assert.strictEqual(configuration.current().version, before + 1)
    assert.deepInclude(resilience.check(one, 1_000_000), { detail: "server_error (HTTP 503)", soft: true }, "its own write tells it nothing new")
    yield* TestClock.adjust("1 hour")
    assert.strictEqual(configuration.current().version, before + 1)
    call(one, 200, 5_000_000)
    yield* written
    assert.deepInclude(yield* store.get("c-1"), { testStatus: "active", backoffLevel: 0, rateLimitedUntil: null })
    call(one, 200, 5_000_001)
    yield* written
    assert.strictEqual(configuration.current().version, before + 2)
  }))

  it.effect("what was over before it was written is not written", () => Effect.gen(function*() {
    const stores = yield* makeStores
    const plain = Context.get(stores, ConnectionStore)
    const patched: Array<string> = []
    const { call, written } = yield* start(Context.add(stores, ConnectionStore, {
      ...plain,
      patch: (id, fields) => {
        patched.push(id)
        return plain.patch(id, fields)
      }
    }), { connections })
    call(one, 429, 0, { ...wide, retryAfterMs: 100 })
    call(one, 200, 100)
    yield* written
    assert.deepStrictEqual(patched, [])
    call(one, 429, 1_000, { ...wide, retryAfterMs: 90_000 })
    yield* written
    assert.deepStrictEqual(patched, ["c-1"])
  }))

  it("never shortens a longer one, and never overwrites a terminal state", () => {
    const cooldown = { until: 9_000, level: 2 }
    assert.deepStrictEqual(marksOf(connection(), cooldown, { until: 0 }, 0), {
      rateLimitedUntil: "1970-01-01T00:00:09.000Z", backoffLevel: 2, testStatus: "unavailable"
    })
    assert.deepStrictEqual(marksOf(connection({ rateLimitedUntil: "1970-01-01T00:01:00.000Z", testStatus: "banned" }), cooldown, { until: 0 }, 0), { backoffLevel: 2 })
    assert.deepStrictEqual(marksOf(connection({ rateLimitedUntil: "1970-01-01T00:01:00.000Z", testStatus: "unavailable" }), { until: 0, level: 0 }, { until: 60_000 }, 0), {
      rateLimitedUntil: null, testStatus: "active"
    })
    assert.deepStrictEqual(marksOf(connection({ rateLimitedUntil: "1970-01-01T00:00:09.000Z", backoffLevel: 2, testStatus: "unavailable" }), cooldown, { until: 9_000 }, 0), {})
  })

  it.effect("what was known stands after a restart: cooldown and open breaker, and they still end", () => Effect.gen(function*() {
    const stores = yield* makeStores
    yield* TestClock.setTime(1_000_000)
    const scope = yield* Scope.make()
    const first = yield* Scope.provide(start(stores, { connections }), scope)
    const another = target(other, { model: "n" })
    first.call(one, 429, 1_000_000, { ...wide, retryAfterMs: 50_000 })
    for (let i = 0; i < 12; i++) first.enter(i < 6 ? two : another, 1_000_000, true).release(verdict(503), 1_000_000)
    // No time passes: the final write happens when the node stops.
    yield* Scope.close(scope, Exit.void)
    const second = yield* start(stores)
    assert.deepInclude(second.resilience.check(one, 1_000_000), { reason: "connection-cooldown", until: 1_050_000 })
    const elsewhere = target(connection({ id: "c-7" }))
    assert.deepInclude(second.resilience.check(elsewhere, 1_029_999), { reason: "breaker-open", until: 1_030_000 })
    second.call(elsewhere, 200, 1_030_000)
    assert.isNull(second.resilience.check(elsewhere, 1_030_000))
    yield* second.written
    assert.strictEqual((yield* second.documents.list("breaker")).size, 0)
  }))

  it.effect("a breaker that one model opened refuses that model alone after a restart, too", () => Effect.gen(function*() {
    const stores = yield* makeStores
    const scope = yield* Scope.make()
    const first = yield* Scope.provide(start(stores, { connections }), scope)
    for (let i = 0; i < 12; i++) first.enter(two, 0, true).release(verdict(503), 0)
    yield* Scope.close(scope, Exit.void)
    const second = yield* start(stores)
    assert.deepInclude(second.resilience.check(two, 0), { reason: "breaker-open" })
    assert.isNull(second.resilience.check(target(other, { model: "n" }), 0))
  }))

  it.effect("an operator's edit ends a cooldown, and a deleted connection is forgotten", () => Effect.gen(function*() {
    const { call, configuration, connections: store, control, resilience, written } = yield* make({ connections })
    yield* TestClock.setTime(1_000)
    call(one, 429, 1_000, { ...wide, retryAfterMs: 60_000 })
    yield* written
    assert.isNotNull(resilience.check(one, 3_000))
    yield* configuration.commit(store.patch("c-1", { rateLimitedUntil: null, backoffLevel: 0 }))
    assert.isNull(resilience.check(one, 3_000))
    call(two, 404, 3_000)
    yield* configuration.commit(store.remove("c-2"))
    assert.lengthOf(control.lockouts(3_000), 0)
  }))

  it.effect("new settings hold at once, and a stored value that does not fit is passed over", () => Effect.gen(function*() {
    const { call, configuration, control, documents, resilience } = yield* make({ connections, settings: { resilience: { providerBreaker: 7 } } })
    assert.strictEqual(control.settings().providerBreaker.apikey.failureThreshold, 12)
    yield* configuration.commit(documents.put("setting", "resilience", { providerBreaker: { apikey: { degradationThreshold: 1, failureThreshold: 2, resetTimeoutMs: 9_000 } } }))
    call(one, 503, 0)
    call(two, 503, 0)
    assert.deepInclude(resilience.check(target(connection({ id: "c-5" })), 0), { reason: "breaker-open", until: 9_000 })
    assert.strictEqual(control.resetBreakers(null, 0), 1)
    assert.isNull(resilience.check(target(connection({ id: "c-5" })), 0))
    assert.strictEqual(control.resetBreakers(null, 0), 0)
  }))
})

describe("the figures", () => {
  it.effect("follow the last calls", () => Effect.gen(function*() {
    const { call, enter, resilience } = yield* make({ connections })
    assert.deepInclude(resilience.health(one, 0), { uses: 0, lastUsedAt: 0, latencyP95Ms: null, ttftP50Ms: null, errorRate: null })
    for (let i = 1; i <= 100; i++) call(one, 200, i, { latencyMs: i, ttftMs: i / 2 })
    const health = resilience.health(one, 100)
    assert.deepInclude(health, { uses: 100, lastUsedAt: 100, errorRate: 0 })
    // The last 64 calls took 37 to 100 ms.
    assert.isAbove(health.latencyP95Ms ?? 0, 85)
    assert.isAtMost(health.latencyP95Ms ?? 0, 100)
    assert.closeTo(health.ttftP50Ms ?? 0, 34, 4)
    const passes = Array.from({ length: 32 }, () => enter(one, 200))
    for (const pass of passes) pass.release(verdict(501), 200)
    assert.strictEqual(resilience.health(one, 200).errorRate, 0.5)
    for (let i = 0; i < 64; i++) call(one, 200, 10_000)
    assert.strictEqual(resilience.health(one, 10_000).errorRate, 0, "what is older than the last calls is forgotten")
    for (let i = 0; i < 32; i++) enter(one, 10_000, true).release(verdict(501), 10_000)
    for (let i = 0; i < 64; i++) enter(one, 200 + 10_000, true).release(verdict(400), 10_200)
    assert.strictEqual(resilience.health(one, 200).uses, 292)
    assert.strictEqual(resilience.health(one, 200).errorRate, 0.5, "a bad request is nobody's failure")
  }))

  it.effect("the models of one connection are bounded", () => Effect.gen(function*() {
    const { call, control } = yield* make({ connections })
    for (let i = 0; i < 2_000; i++) call(target(record, { model: `m-${i}` }), 404, 0)
    assert.isAtMost(control.lockouts(0).length, 512)
  }))
})
