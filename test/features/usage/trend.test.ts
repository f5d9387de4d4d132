/** What questions about use over time cost the database. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import type { Configuration } from "#actors/ports/Configuration.ts"
import { StoreError } from "#actors/ports/StoreError.ts"
import type { UsageStore } from "#actors/ports/UsageStore.ts"
import * as Trends from "#src/features/usage/trend/Trends.ts"

/** A store whose sums take `ms`, twice an answer: of the time, and of the time before. */
const slow = (ms: number) => {
  const world = { asked: 0, broken: false }
  const trend = () => Effect.suspend(() => {
    world.asked++
    return Effect.delay(world.broken
      ? Effect.fail(new StoreError({ store: "UsageStore", operation: "trend", reason: "unavailable", message: "gone" }))
      : Effect.succeed({ slices: new Map(), total: { requests: world.asked } }), ms)
  })
  return Effect.map(
    Trends.make({ trend } as unknown as UsageStore["Service"], { current: () => ({ nodeByPrefix: new Map() }) } as unknown as Configuration["Service"]),
    (ask) => ({ ask, world })
  )
}
const hour = { from: "1970-01-01T00:00:00.000Z", bucket: "hour" } as const

describe("an answer about use over time", () => {
  it.effect("that took long is given again for ten times as long, to all who ask the same", () => Effect.gen(function*() {
    yield* TestClock.adjust("1 hour")
    const { ask, world } = yield* slow(1_000)
    const first = yield* Effect.forkChild(ask(hour))
    const second = yield* Effect.forkChild(ask(hour))
    yield* TestClock.adjust("2 seconds")
    assert.strictEqual((yield* Fiber.join(first)).total, (yield* Fiber.join(second)).total)
    assert.strictEqual(world.asked, 2)
    yield* TestClock.adjust("19 seconds")
    yield* ask(hour)
    assert.strictEqual(world.asked, 2)
    const other = yield* Effect.forkChild(ask({ ...hour, bucket: "day" }))
    yield* TestClock.adjust("2 seconds")
    yield* Fiber.join(other)
    const again = yield* Effect.forkChild(ask(hour))
    yield* TestClock.adjust("2 seconds")
    yield* Fiber.join(again)
    assert.strictEqual(world.asked, 6)
  }))

  it.effect("that took no time is always new, and so is one after a failure", () => Effect.gen(function*() {
    yield* TestClock.adjust("1 hour")
    const { ask, world } = yield* slow(0)
    yield* ask(hour)
    yield* ask(hour)
    assert.strictEqual(world.asked, 4)
    world.broken = true
    assert.isTrue(Exit.isFailure(yield* Effect.exit(ask(hour))))
    world.broken = false
    yield* ask(hour)
    assert.strictEqual(world.asked, 7)
  }))

  it.effect("comes to the others when the first who asked has left", () => Effect.gen(function*() {
    yield* TestClock.adjust("1 hour")
    const { ask, world } = yield* slow(1_000)
    const first = yield* Effect.forkChild(ask(hour))
    yield* TestClock.adjust("1 second")
    const second = yield* Effect.forkChild(ask(hour))
    const leaving = yield* Effect.forkChild(Fiber.interrupt(first))
    yield* TestClock.adjust("3 seconds")
    yield* Fiber.join(leaving)
    assert.isDefined((yield* Fiber.join(second)).total)
    assert.isAtMost(world.asked, 4)
  }))
})
