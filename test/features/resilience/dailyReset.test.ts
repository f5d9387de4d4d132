/** A connection of a provider node whose daily quota is spent. */
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"
import { ConnectionStore, NodeStore } from "#actors/ports/Stores.ts"
import { makeStores, start, target, verdict } from "./support.ts"
import { Bus } from "#test/support/memoryCooldownFeed.ts"
import { connection, node } from "#test/suites/records.ts"

const spent = { message: "You have exceeded your daily quota" }
const record = connection({ id: "c-1", provider: "n-1" })
const quiet = connection({ id: "c-2", provider: "n-2" })
const [one, other] = [target(record), target(quiet)]
const now = Date.parse("2024-03-30T12:00:00Z")
/** Two in the morning of the night in which Berlin skips that hour. */
const reset = Date.parse("2024-03-31T01:00:00Z")

const nodes = Effect.gen(function*() {
  yield* TestClock.setTime(now)
  const clock = yield* Clock.Clock
  const bus = new Bus(() => clock.currentTimeMillisUnsafe())
  const stores = yield* makeStores
  for (const each of [record, quiet]) yield* Context.get(stores, ConnectionStore).insert(each)
  yield* Context.get(stores, NodeStore).insert(node({ id: "n-1", prefix: "one", dailyQuotaResetTimezone: "Europe/Berlin", dailyQuotaResetHour: 2 }))
  yield* Context.get(stores, NodeStore).insert(node({ id: "n-2", prefix: "two" }))
  const first = yield* start(stores, { feed: bus.node("a") })
  const second = yield* start(stores, { feed: bus.node("b") })
  return { first, second, stores, record: Context.get(stores, ConnectionStore).get("c-1") }
})

describe("a spent daily quota", () => {
  it.effect("rests the connection until the node's reset, on every gateway node, and on one that starts later", () => Effect.gen(function*() {
    const all = yield* nodes
    all.first.call(one, 429, now, { ...spent, retryAfterMs: 30_000 })
    for (const each of [all.first, all.second]) {
      for (const at of [now, reset - 1]) assert.deepInclude(each.resilience.check(one, at), { reason: "connection-cooldown", until: reset, soft: false, detail: "quota_exhausted (HTTP 429)" })
      assert.deepInclude(each.resilience.check(target(record, { model: "another" }), now), { until: reset })
      assert.isNull(each.resilience.check(one, reset))
    }
    yield* all.first.written
    assert.deepInclude(yield* all.record, { rateLimitedUntil: new Date(reset).toISOString(), testStatus: "unavailable" })
    const later = yield* start(all.stores)
    assert.deepInclude(later.resilience.check(one, now), { until: reset })
  }))

  it.effect("is believed beside a shorter cooldown that runs already", () => Effect.gen(function*() {
    const { first } = yield* nodes
    const [early, late] = [first.enter(one, now), first.enter(one, now)]
    early.release(verdict(429, { message: "quota exceeded", retryAfterMs: 30_000 }), now)
    assert.deepInclude(first.resilience.check(one, now), { until: now + 30_000 })
    late.release(verdict(403, spent), now + 1_000)
    assert.deepInclude(first.resilience.check(one, now), { until: reset })
  }))

  it.effect("follows the upstream's hint where the node names no reset, and where another limit is meant", () => Effect.gen(function*() {
    const { first } = yield* nodes
    first.call(other, 429, now, { ...spent, retryAfterMs: 30_000 })
    assert.deepInclude(first.resilience.check(other, now), { until: now + 30_000 })
    first.call(one, 429, now, { message: "Rate limit reached on tokens per minute", retryAfterMs: 20_000, accountWide: true })
    assert.deepInclude(first.resilience.check(one, now), { until: now + 20_000 })
  }))

  it.effect("rests nothing of a connection that never cools down", () => Effect.gen(function*() {
    const { first } = yield* nodes
    const warm = target({ ...record, providerSpecificData: { disableCooling: true } })
    first.call(warm, 429, now, spent)
    assert.isNull(first.resilience.check(warm, now))
  }))
})
