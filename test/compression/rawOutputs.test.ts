/** How long whole outputs of tools are found, and when one that is sent again is stored anew. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as TestClock from "effect/testing/TestClock"
import { Configuration, type Snapshot } from "#actors/ports/Configuration.ts"
import { Secrets } from "#actors/ports/Secrets.ts"
import { BodyStore } from "#src/features/bodies/ports/BodyStore.ts"
import * as RawOutputs from "#src/features/compression/rawOutputs/RawOutputs.ts"
import * as Sealer from "#src/platform/secrets/Sealer.ts"
import * as MemoryBodies from "#test/support/memoryBodies.ts"

const configuration = Layer.succeed(Configuration, {
  current: () => ({ settings: new Map([["callLogBodyHours", 1]]) }) as unknown as Snapshot,
  commit: (write) => write,
  reload: Effect.void,
  onChange: () => () => {}
} as Configuration["Service"])

const world = RawOutputs.layer.pipe(Layer.provideMerge(Layer.mergeAll(
  configuration, MemoryBodies.layer, Layer.succeed(Secrets, Sealer.make({ current: Redacted.make("test master secret 0123456789"), previous: [] }))
)))
const output = { id: "01234567890123456789", text: "all of it", bytes: 9, cut: false }

describe("RawOutputs", () => {
  it.effect("an output that is sent again is found as long as a new one, before and after it grew too old", () => Effect.gen(function*() {
    const outputs = yield* RawOutputs.RawOutputs
    const found = Effect.map(outputs.find(output.id), (one) => one === null || one === "sealed" ? one : one.text)
    const send = Effect.andThen(Effect.sync(() => outputs.keep([output])), TestClock.adjust("1 second"))
    yield* send
    yield* TestClock.adjust("50 minutes")
    yield* send
    yield* TestClock.adjust("50 minutes")
    assert.strictEqual(yield* found, "all of it")
    yield* TestClock.adjust("20 minutes")
    assert.isNull(yield* found)
    yield* send
    assert.strictEqual(yield* found, "all of it")
  }).pipe(Effect.provide(world)))

  it.effect("an output that lost its room is stored anew when it is sent ten minutes later", () => Effect.gen(function*() {
    const outputs = yield* RawOutputs.RawOutputs
    const bodies = yield* BodyStore
    const send = Effect.andThen(Effect.sync(() => outputs.keep([output])), TestClock.adjust("1 second"))
    yield* send
    yield* bodies.removeBeyond(0)
    yield* send
    assert.isNull(yield* outputs.find(output.id))
    yield* TestClock.adjust("10 minutes")
    yield* send
    assert.deepInclude(yield* outputs.find(output.id), { text: "all of it" })
  }).pipe(Effect.provide(world)))
})
