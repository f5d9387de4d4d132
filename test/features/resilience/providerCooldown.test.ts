/** The cooldown of a whole provider: a guess after its own breakdowns, known to all nodes. */
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"
import { OwnFailures } from "#actors/request/OwnFailures.ts"
import { ConnectionStore, DocumentStore } from "#actors/ports/Stores.ts"
import { isPass, makeStores, start, target, verdict } from "./support.ts"
import { Bus } from "#test/support/memoryCooldownFeed.ts"
import { connection } from "#test/suites/records.ts"

const records = [connection({ id: "c-1" }), connection({ id: "c-2" }), connection({ id: "c-3", provider: "groq" })]
const [first, second, other] = records.map((record) => target(record))
const setting = (change: object = {}) => ({ resilience: { providerCooldown: { enabled: true, minMs: 10_000, maxMs: 30_000, ...change }, connectionCooldown: { apikey: { baseCooldownMs: 0 } } } })
const rest = { reason: "connection-cooldown", soft: true } as const

if (first === undefined || second === undefined || other === undefined) throw new Error("three targets")

const nodes = Effect.fnUntraced(function*(settings: Readonly<Record<string, unknown>> = setting()) {
  const clock = yield* Clock.Clock
  const bus = new Bus(() => clock.currentTimeMillisUnsafe())
  const stores = yield* makeStores
  for (const record of records) yield* Context.get(stores, ConnectionStore).insert(record)
  for (const [name, value] of Object.entries(settings)) yield* Context.get(stores, DocumentStore).put("setting", name, value)
  return { one: yield* start(stores, { feed: bus.node("a") }), two: yield* start(stores, { feed: bus.node("b") }), stores, bus }
})

describe("providerCooldown", () => {
  it.effect("rests all accounts and models of the provider on every node, twice as long each time, and no other provider", () => Effect.gen(function*() {
    const { bus, one, stores, two } = yield* nodes()
    let now = 0
    for (const pause of [10_000, 20_000, 30_000, 30_000]) {
      one.call(first, 503, now)
      for (const node of [one, two, yield* start(stores, { feed: bus.node("late") })]) {
        for (const to of [first, second, target(records[0], { model: "n" })]) assert.deepInclude(node.resilience.check(to, now + pause - 1), { ...rest, until: now + pause })
        assert.isNull(node.resilience.check(other, now))
        assert.isNull(node.resilience.check(second, now + pause))
      }
      now += pause
      yield* TestClock.setTime(now)
    }
    assert.deepInclude(two.control.lockouts(now - 1)[0], { provider: "openai", connectionId: null, model: "*", reason: "server_error (HTTP 503)", failureCount: 4 })
    one.call(second, 200, now)
    one.call(first, 0, now)
    assert.deepInclude(two.resilience.check(first, now), { until: now + 10_000 }, "an answer forgets the failures before it")
  }))

  it.effect("is passed over by the last resort, and by the request whose failure began it", () => Effect.gen(function*() {
    const { one } = yield* nodes()
    const own = new OwnFailures()
    one.enter(first, 0, false, own).release(verdict(503), 0, own)
    assert.isNull(one.resilience.check(second, 0, own))
    assert.isNotNull(one.resilience.check(second, 0, new OwnFailures()))
    const pass = one.resilience.enter(second, 0, true)
    assert.isTrue(isPass(pass))
    if (isPass(pass)) pass.release(verdict(200), 5)
    assert.isNull(one.resilience.check(first, 5), "its answer shows that the guess was wrong")
  }))

  it.effect("counts a request once, and nothing that is not the provider's own breakdown", () => Effect.gen(function*() {
    const { one } = yield* nodes()
    for (const status of [400, 401, 404, 429]) one.call(target(records[0], { model: `m-${status}` }), status, 0)
    assert.isNull(one.resilience.check(second, 0))
    const own = new OwnFailures()
    for (const to of [first, second]) one.enter(to, 0, false, own).release(verdict(503), 0, own)
    assert.deepInclude(one.resilience.check(first, 0), { until: 10_000 })
    for (const to of [first, second]) one.enter(to, 10_000, false, own).release(verdict(503), 10_000, own)
    assert.isNull(one.resilience.check(first, 10_000, null))
  }))

  it.effect("ends on every node by a reset, by a clearing, and when it is switched off", () => Effect.gen(function*() {
    const { one, two } = yield* nodes()
    const isFree = () => [one, two].map((node) => node.resilience.check(second, 0) === null)
    one.call(first, 503, 0)
    assert.strictEqual(two.control.clearLockouts("openai", "*", null, 0), 1)
    assert.deepStrictEqual(isFree(), [true, true])
    one.call(first, 503, 0)
    assert.deepStrictEqual(isFree(), [false, false])
    two.control.resetBreakers("groq", 0)
    assert.deepStrictEqual(isFree(), [false, false])
    two.control.resetBreakers("openai", 0)
    assert.deepStrictEqual(isFree(), [true, true])
    one.call(first, 503, 0)
    yield* one.configuration.commit(one.documents.put("setting", "resilience", setting({ enabled: false }).resilience))
    assert.isNull(one.resilience.check(second, 0))
  }))

  it.effect("does nothing unless it is enabled", () => Effect.gen(function*() {
    const { one } = yield* nodes({ resilience: { providerCooldown: { minMs: 10_000 } } })
    one.call(first, 503, 0)
    assert.isNull(one.resilience.check(second, 0))
  }))
})
