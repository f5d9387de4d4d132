/** Fire drills and time: one ends by itself, its fault with it, and the end is audited as its starter's. */
import { assert, describe, it } from "@effect/vitest"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"
import { Configuration } from "#actors/ports/Configuration.ts"
import { Nodes } from "#actors/ports/Nodes.ts"
import { ManagementCall } from "#schemas/api/Management.ts"
import * as Drills from "#src/features/drills/Drills.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import { SimulatorFaults } from "#src/platform/configuration/SimulatorFaults.ts"
import * as Management from "#test/support/management.ts"

const call = ManagementCall.of({ requestId: "r-1", caller: { kind: "session", sessionId: "s-1" }, ip: null, loopback: true, secure: false, userAgent: null })

const world = Effect.gen(function*() {
  const seen = { playing: 0, noted: [] as Array<string> }
  const layer = Drills.layer.pipe(Layer.provide(Layer.mergeAll(
    Layer.mock(Configuration, { onChange: () => () => {}, current: () => ({ simulatorUrl: "http://127.0.0.1:9/v1" }) as ReturnType<Configuration["Service"]["current"]> }),
    Layer.mock(Nodes, { self: { id: "node-a", incarnation: "i-1", host: "a", address: "", pid: 1, worker: 0, release: "1", startedAt: 0 } }),
    Layer.succeed(Audit, { note: ({ action, details }) => Effect.map(ManagementCall, ({ requestId }) => void seen.noted.push(`${action} ${requestId} ${String(details?.["endedBy"] ?? "")}`)) }),
    Layer.succeed(SimulatorFaults, {
      play: () => Effect.as(
        Effect.acquireRelease(Effect.sync(() => void seen.playing++), () => Effect.sync(() => void seen.playing--)),
        { struck: () => 3 }
      )
    }),
    SecureRandom.layerWebCrypto
  )))
  return { seen, context: yield* Layer.build(layer) }
})

describe("a fire drill in time", () => {
  it.effect("ends by itself after its seconds, and the next one may start", () => Effect.gen(function*() {
    const { context, seen } = yield* world
    yield* Effect.gen(function*() {
      const drills = yield* Drills.Drills
      const { id } = yield* drills.start({ fault: "stall", seconds: 30 })
      yield* TestClock.adjust("29 seconds")
      assert.strictEqual(seen.playing, 1)
      assert.strictEqual((yield* Effect.flip(drills.start({ fault: "stall", seconds: 5 }))).reason, "another-runs")
      yield* TestClock.adjust("1 second")
      assert.strictEqual(seen.playing, 0)
      assert.deepInclude(drills.list()[0], { id, endedBy: "time", endedAt: "1970-01-01T00:00:30.000Z", struck: 3 })
      assert.deepStrictEqual(seen.noted, ["drill.started r-1 ", "drill.ended r-1 time"])
      assert.strictEqual((yield* Effect.flip(drills.stop(id))).reason, "not-here")
      yield* drills.start({ fault: "half-stream", seconds: 5 })
      assert.strictEqual(seen.playing, 1)
    }).pipe(Effect.provideContext(context), Effect.provideService(ManagementCall, call))
  }))

  it.effect("cannot start while the simulator is turned off", () => Effect.gen(function*() {
    const { ask, login } = yield* Management.make()
    const cookie = yield* login()
    const refused = yield* ask("/api/drills", { cookie, body: { fault: "stall", seconds: 5 } })
    assert.deepStrictEqual([refused.status, Management.at(refused.json, "error", "code")], [409, "simulator_off"])
    assert.strictEqual(Management.at((yield* ask("/api/drills", { cookie })).json, "available"), false)
  }))
})
