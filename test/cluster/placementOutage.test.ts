import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as RunnerAddress from "effect/cluster/RunnerAddress"
import * as RunnerStorage from "effect/cluster/RunnerStorage"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as TestClock from "effect/testing/TestClock"
import * as PlacementOutage from "#src/platform/cluster/PlacementOutage.ts"

/** What an operator reads while the engine speaks: level, text, and whether a stack came along. */
const world = () => {
  const lines: Array<string> = []
  const logger = Logger.make<unknown, void>(({ cause, logLevel, message }) => {
    lines.push(`${logLevel}: ${String(Array.isArray(message) ? message[0] : message)}${cause.reasons.length > 0 ? " + stack" : ""}`)
  })
  const layer = PlacementOutage.layer.pipe(Layer.provideMerge(RunnerStorage.layerMemory), Layer.provideMerge(Logger.layer([logger])))
  return { lines, layer }
}

const tries = Effect.forEach([1, 2, 3], () => Effect.andThen(Effect.logWarning("Shard lock storage is still unhealthy", Cause.fail(new Error("gone"))), TestClock.adjust(2_000)))
const answer = Effect.flatMap(RunnerStorage.RunnerStorage, (storage) => storage.refresh(RunnerAddress.make("a", 0), []))

describe("an outage of the records of placed work", () => {
  it.effect("is told once, without a stack, and its end once; the next one is told again", () => {
    const { layer, lines } = world()
    return Effect.gen(function*() {
      yield* Effect.logDebug("Starting")
      yield* answer
      for (const round of [1, 2]) {
        yield* Effect.logError("Shard lock storage is unhealthy", Cause.fail(new Error("gone")))
        yield* tries
        // Some answer between complaints is no end.
        yield* Effect.logWarning("Could not acquire/release shards")
        yield* answer
        yield* Effect.logInfo("Shard lock storage has recovered")
        yield* TestClock.adjust(5_000)
        yield* answer
        yield* answer
        const told = lines.filter((line) => !line.startsWith("Debug"))
        assert.strictEqual(told.length, 2 * round, told.join("; "))
        assert.match(told[2 * round - 2] ?? "", /^Warn: Placed work stands still .*unhealthy \(gone\)$/)
        assert.match(told[2 * round - 1] ?? "", /^Info: Placed work goes on/)
      }
    }).pipe(Effect.provide(layer))
  })
})
