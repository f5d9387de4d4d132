/** A connection that is refused without a reason, while flag AMBIGUOUS_401_SOFT_LOCKOUT is on. */
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"
import { ConnectionStore } from "#actors/ports/Stores.ts"
import { makeStores, start, target, verdict } from "./support.ts"
import { Bus } from "#test/support/memoryCooldownFeed.ts"
import { connection } from "#test/suites/records.ts"

const records = [connection({ id: "c-1" }), connection({ id: "c-2" })]
const [one, other] = records.map((record) => target(record))
if (one === undefined || other === undefined) throw new Error("two targets")
const unclear = { message: "Unauthorized", unclear: true }
const minutes = (count: number) => count * 60_000

const nodes = Effect.fnUntraced(function*(flags: ReadonlyArray<"AMBIGUOUS_401_SOFT_LOCKOUT"> = ["AMBIGUOUS_401_SOFT_LOCKOUT"]) {
  const clock = yield* Clock.Clock
  const bus = new Bus(() => clock.currentTimeMillisUnsafe())
  const stores = yield* makeStores
  for (const record of records) yield* Context.get(stores, ConnectionStore).insert(record)
  const first = yield* start(stores, { flags, feed: bus.node("a") })
  const second = yield* start(stores, { flags, feed: bus.node("b") })
  return { first, second, record: Context.get(stores, ConnectionStore).get("c-1") }
})

describe("a soft lockout", () => {
  it.effect("rests the connection on every node, three times in an hour wherever it is refused; the next refusal expires it", () => Effect.gen(function*() {
    const { first, record, second } = yield* nodes()
    let now = 0
    for (const [node, pause] of [[first, 5], [second, 10], [first, 20]] as const) {
      yield* TestClock.setTime(now)
      node.call(one, 401, now, unclear)
      // Calls that were under way, and those of a last resort, are no further evidence.
      node.enter(one, now, true).release(verdict(401, unclear), now)
      for (const each of [first, second]) {
        assert.deepInclude(each.resilience.check(one, now), { reason: "connection-cooldown", soft: true, until: now + minutes(pause), detail: "auth_error (HTTP 401)" })
        assert.isNull(each.resilience.check(other, now))
      }
      yield* first.written
      assert.notStrictEqual((yield* record)?.testStatus, "expired")
      now += minutes(pause)
    }
    yield* TestClock.setTime(now)
    second.call(one, 401, now, unclear)
    yield* second.written
    const stored = yield* record
    assert.deepInclude(stored, { testStatus: "expired", lastError: "Unauthorized", lastErrorType: "auth_error", errorCode: "401" })
    assert.deepInclude(second.resilience.check(target(stored), now), { reason: "inactive" })
  }))

  it.effect("begins anew after an answer, on every node, and after an hour", () => Effect.gen(function*() {
    const { first, second } = yield* nodes()
    first.call(one, 401, 0, unclear)
    first.enter(one, 1, true).release(verdict(200), 1)
    assert.isNull(first.resilience.check(one, 1))
    second.enter(one, minutes(5), true).release(verdict(401, unclear), minutes(5))
    assert.deepInclude(second.resilience.check(one, minutes(5)), { until: minutes(10) })
    second.call(one, 401, minutes(65), unclear)
    assert.deepInclude(second.resilience.check(one, minutes(65)), { until: minutes(70) })
  }))

  it.effect("is none after a clear refusal, or while the flag is off", () => Effect.gen(function*() {
    const on = yield* nodes()
    on.first.call(one, 401, 0, { message: "Invalid API key" })
    assert.isNull(on.first.resilience.check(one, 0))
    const off = yield* nodes([])
    for (let i = 0; i < 5; i++) off.first.call(one, 401, 0, unclear)
    yield* off.first.written
    assert.isNull(off.first.resilience.check(one, 0))
    assert.notStrictEqual((yield* off.record)?.testStatus, "expired")
  }))
})
