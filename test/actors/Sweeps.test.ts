/** Sweeps run at their own pace, and a failed run costs only itself. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"
import { StoreError } from "#actors/ports/StoreError.ts"
import * as Sweeps from "#actors/Sweeps.ts"

describe("a sweep", () => {
  it.effect("waits for its first turn, runs at its pace, and goes on after a failure", () => Effect.gen(function*() {
    let runs = 0
    yield* Effect.forkScoped(Sweeps.loop({
      loop: "sweep/usage", name: "dust", everyMs: 1_000,
      run: Effect.suspend(() => ++runs === 2
        ? Effect.fail(new StoreError({ store: "Dust", operation: "sweep", reason: "unavailable", message: "Dust.sweep: nobody is there" }))
        : Effect.succeed(runs))
    }, 500), { startImmediately: true })
    yield* TestClock.adjust(499)
    assert.strictEqual(runs, 0)
    yield* TestClock.adjust(1)
    assert.strictEqual(runs, 1)
    yield* TestClock.adjust(1_000)
    assert.strictEqual(runs, 2)
    yield* TestClock.adjust(1_000)
    assert.strictEqual(runs, 3)
  }))
})
