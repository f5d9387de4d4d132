/** Cooldowns and lockouts over two nodes that tell each other: who may be called where, and what the record adds. */
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"
import { ConnectionStore } from "#actors/ports/Stores.ts"
import { makeStores, type Options, start, target } from "./support.ts"
import { Bus } from "#test/support/memoryCooldownFeed.ts"
import { connection } from "#test/suites/records.ts"

const record = connection({ id: "c-1" })
const one = target(record)
const model = target(record, { model: "n" })

/** A failure of the account, which rests its connection as a whole. */
const wide = { accountWide: true }

/** Two nodes on one record store; each hears of the other's writes when it reloads. */
const nodes = Effect.fnUntraced(function*(options: Options = {}) {
  const clock = yield* Clock.Clock
  const bus = new Bus(() => clock.currentTimeMillisUnsafe())
  const stores = yield* makeStores
  yield* Context.get(stores, ConnectionStore).insert(record)
  const first = yield* start(stores, { ...options, feed: bus.node("a") })
  const second = yield* start(stores, { feed: bus.node("b") })
  return { bus, first, second, stores }
})

describe("lockouts over nodes", () => {
  it.effect("what one node locks is locked on the other, to the same end, and grows there from the same count", () => Effect.gen(function*() {
    const { first, second } = yield* nodes({ settings: { modelLockout: { enabled: true, errorCodes: [404], baseCooldownMs: 10_000, useExponentialBackoff: true, maxBackoffSteps: 5 } } })
    first.call(one, 404, 0)
    const [locked] = second.control.lockouts(0)
    assert.deepInclude(locked, { connectionId: "c-1", model: "m", failureCount: 1 })
    assert.deepInclude(second.resilience.check(one, 0), { reason: "model-lockout", until: 10_000 })
    assert.isNull(second.resilience.check(model, 0))
    const end = 10_000
    yield* TestClock.setTime(end)
    assert.isNull(second.resilience.check(one, end))
    second.call(one, 404, end)
    const [again] = first.control.lockouts(end)
    assert.deepInclude(again, { failureCount: 2, until: end + 2 * end })
    assert.deepInclude(first.resilience.check(one, end), { reason: "model-lockout" })
  }))

  it.effect("an answer eases it on both, and a clearing ends it on both; a node that starts later knows it, too", () => Effect.gen(function*() {
    const { bus, first, second, stores } = yield* nodes()
    const before = first.enter(one, 0)
    first.call(one, 404, 0)
    assert.lengthOf(second.control.lockouts(0), 1)
    before.release({ ok: true, status: 200, network: false, message: "", retryAfterMs: null, accountWide: false, ttftMs: 1, latencyMs: 1 }, 0)
    assert.deepStrictEqual([first.control.lockouts(0), second.control.lockouts(0)], [[], []])
    second.call(one, 404, 0)
    const late = yield* start(stores, { feed: bus.node("c") })
    assert.deepInclude(late.resilience.check(one, 0), { reason: "model-lockout", until: 120_000 })
    assert.strictEqual(first.control.clearLockouts("openai", "m", null, 0), 1)
    for (const node of [first, second, late]) assert.isNull(node.resilience.check(one, 0))
  }))

  it.effect("a provider without credentials, and a model that the other node has never called", () => Effect.gen(function*() {
    const { first, second } = yield* nodes()
    const bare = target(null, { provider: "ollama", origin: "http://localhost:1" })
    first.call(bare, 404, 0)
    assert.deepInclude(second.resilience.check(bare, 0), { reason: "model-lockout" })
  }))
})

describe("cooldowns over nodes", () => {
  it.effect("a guess is a guess on both: level and reason go along, and a last resort may pass it over, also once the record says it", () => Effect.gen(function*() {
    const { first, second } = yield* nodes()
    first.call(one, 503, 0, wide)
    const own = first.resilience.check(one, 0)
    assert.deepInclude(own, { reason: "connection-cooldown", soft: true, detail: "server_error (HTTP 503)" })
    assert.deepStrictEqual(second.resilience.check(one, 0), own)
    yield* first.written
    yield* second.configuration.reload
    assert.deepStrictEqual(second.resilience.check(one, 0), own)
    second.enter(one, 0, true).release(null, 0)
    const end = first.control.cooldowns(0)[0]?.until ?? 0
    yield* TestClock.setTime(end)
    second.call(one, 503, end, wide)
    assert.deepInclude(first.control.cooldowns(end)[0], { level: 2, reason: "server_error" })
    assert.strictEqual((first.control.cooldowns(end)[0]?.until ?? 0) - end, 2 * end)
  }))

  it.effect("a longer hint extends a running one on both, a shorter one does not; a success after its end forgets it on both", () => Effect.gen(function*() {
    const { first, second } = yield* nodes()
    const early = second.enter(one, 0)
    const later = second.enter(one, 0)
    first.call(one, 429, 0, { ...wide, retryAfterMs: 20_000 })
    early.release({ ok: false, status: 429, network: false, message: "", retryAfterMs: 5_000, accountWide: true, ttftMs: null, latencyMs: 1 }, 0)
    assert.deepInclude(first.resilience.check(one, 0), { until: 20_000 })
    later.release({ ok: false, status: 429, network: false, message: "", retryAfterMs: 40_000, accountWide: true, ttftMs: null, latencyMs: 1 }, 0)
    for (const node of [first, second]) assert.deepInclude(node.resilience.check(one, 0), { until: 40_000, soft: false })
    yield* TestClock.setTime(40_000)
    first.call(one, 503, 40_000, wide)
    const { until = 0 } = first.control.cooldowns(40_000)[0] ?? {}
    yield* TestClock.setTime(until)
    second.call(one, 200, until)
    first.call(one, 503, until, wide)
    assert.deepInclude(second.control.cooldowns(until)[0], { level: 1 })
  }))

  it.effect("an operator's edit of the record ends it on both, also when both had begun one since the last was over", () => Effect.gen(function*() {
    const { first, second } = yield* nodes()
    const clear = Effect.gen(function*() {
      const now = yield* Clock.currentTimeMillis
      for (const node of [first, second]) assert.deepInclude(node.resilience.check(one, now), { reason: "connection-cooldown" })
      yield* second.configuration.commit(second.connections.patch("c-1", { rateLimitedUntil: null, backoffLevel: 0, testStatus: "active" }))
      yield* first.configuration.reload
      for (const node of [first, second]) assert.isNull(node.resilience.check(one, now))
    })
    first.call(one, 429, 0, { ...wide, retryAfterMs: 1_000 })
    yield* TestClock.setTime(1_000)
    second.call(one, 200, 1_000)
    first.call(one, 429, 1_000, { ...wide, retryAfterMs: 60_000 })
    yield* first.written
    yield* second.configuration.reload
    yield* clear
    const now = yield* Clock.currentTimeMillis
    second.call(one, 429, now, { ...wide, retryAfterMs: 60_000 })
    yield* second.written
    yield* first.configuration.reload
    yield* clear
  }))

  it.effect("a record that is older than a cooldown ends it for no longer than until the record says it, on either node", () => Effect.gen(function*() {
    const { first, second } = yield* nodes()
    const blocked = (now: number) => [first, second].map((node) => node.resilience.check(one, now))
    first.call(one, 429, 0, { ...wide, retryAfterMs: 60_000 })
    yield* first.written
    yield* second.configuration.reload
    const cleared = { rateLimitedUntil: null, backoffLevel: 0, testStatus: "active" } as const
    // The other node hears the new cooldown before it reads that the operator ended the last one.
    yield* first.configuration.commit(first.connections.patch("c-1", cleared))
    const now = yield* Clock.currentTimeMillis
    first.call(one, 429, now, { ...wide, retryAfterMs: 90_000 })
    yield* second.configuration.reload
    yield* first.written
    yield* second.configuration.reload
    const said = { reason: "connection-cooldown" as const, until: now + 90_000, soft: false, detail: "rate_limit_exceeded (HTTP 429)" }
    for (const refusal of blocked(now)) assert.deepStrictEqual(refusal, said)
    // The node that began it reads an older record before it has written its own.
    yield* second.configuration.commit(second.connections.patch("c-1", cleared))
    yield* first.configuration.reload
    yield* second.configuration.commit(second.connections.patch("c-1", { backoffLevel: 3 }))
    const later = yield* Clock.currentTimeMillis
    first.call(one, 429, later, { ...wide, retryAfterMs: 120_000 })
    yield* first.configuration.reload
    yield* first.written
    yield* second.configuration.reload
    for (const refusal of blocked(later)) assert.deepStrictEqual(refusal, { ...said, until: later + 120_000 })
  }))

  it.effect("an operator's edit that falls between a write of the record and its reading ends it all the same", () => Effect.gen(function*() {
    const stores = yield* makeStores
    const connections = Context.get(stores, ConnectionStore)
    yield* connections.insert(record)
    let edits = 0
    const edited = Context.add(stores, ConnectionStore, ConnectionStore.of({
      ...connections,
      patch: (id, change) => Effect.tap(connections.patch(id, change), () => edits++ === 0 ? connections.patch(id, { rateLimitedUntil: null, backoffLevel: 0, testStatus: "active" }) : Effect.void)
    }))
    const node = yield* start(edited)
    node.call(one, 429, 0, { ...wide, retryAfterMs: 60_000 })
    assert.deepInclude(node.resilience.check(one, 0), { reason: "connection-cooldown" })
    yield* node.written
    assert.strictEqual(edits, 1)
    assert.isNull(node.resilience.check(one, yield* Clock.currentTimeMillis))
  }))

  it.effect("a model that rests rests on both, with its reason and as a guess, for a node that starts later, too; an answer ends it on both", () => Effect.gen(function*() {
    const { bus, first, second, stores } = yield* nodes()
    first.call(one, 503, 0)
    const own = first.resilience.check(one, 0)
    assert.deepInclude(own, { reason: "model-cooldown", soft: true, detail: "server_error (HTTP 503)" })
    const late = yield* start(stores, { feed: bus.node("c") })
    for (const node of [second, late]) {
      assert.deepStrictEqual(node.resilience.check(one, 0), own)
      assert.isNull(node.resilience.check(model, 0), "another model of the connection")
      assert.deepStrictEqual(node.control.lockouts(0), first.control.lockouts(0))
    }
    const end = first.control.lockouts(0)[0]?.until ?? 0
    yield* TestClock.setTime(end)
    second.call(one, 503, end)
    assert.deepInclude(first.control.lockouts(end)[0], { failureCount: 2, until: 3 * end })
    first.enter(one, end, true).release({ ok: true, status: 200, network: false, message: "", retryAfterMs: null, accountWide: false, ttftMs: 1, latencyMs: 1 }, end)
    assert.deepStrictEqual(first.control.lockouts(end), [], "the guess was wrong")
    yield* TestClock.setTime(3 * end)
    first.call(one, 503, 3 * end)
    assert.deepInclude(second.control.lockouts(3 * end)[0], { until: 3 * end + end })
  }))

  it.effect("models of two nodes that fail rest the connection on both", () => Effect.gen(function*() {
    const { first, second } = yield* nodes()
    first.call(one, 429, 0, { retryAfterMs: 9_000 })
    second.call(model, 429, 0, { retryAfterMs: 9_000 })
    for (const node of [first, second]) assert.deepInclude(node.resilience.check(target(record, { model: "other" }), 0), { reason: "connection-cooldown", until: 9_000 })
  }))
})
