import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { optionsOf, runCli } from "#src/simulator/cli.ts"
import * as Simulator from "#src/simulator/Simulator.ts"

describe("gateway sim", () => {
  it("bench turns the log off and shares replies; pace is laid under every script", () => {
    assert.deepStrictEqual(optionsOf({ bench: true, pace: 20, port: 4000, quiet: true }), {
      shareReplies: true,
      logSize: 0,
      port: 4000,
      defaults: { paceMs: 20 }
    })
  })

  it.live("runs until interrupted and then leaves its port", () =>
    Effect.gen(function*() {
      // A port that was free a moment ago.
      const port = yield* Effect.scoped(Effect.map(Simulator.make(), (sim) => sim.port))
      const fiber = yield* Effect.forkChild(runCli({ port, quiet: true }))
      const up = Effect.tryPromise(() => fetch(`http://127.0.0.1:${port}/__sim/health`))
      const reply = yield* Effect.eventually(up)
      assert.strictEqual(reply.status, 200)
      yield* Fiber.interrupt(fiber)
      assert.isTrue(Exit.isFailure(yield* Effect.exit(up)))
    }))

  it.live("a port that is taken is an error that names it; a wrong default script names its field", () =>
    Effect.scoped(Effect.gen(function*() {
      const sim = yield* Simulator.make()
      const taken = yield* Effect.flip(Simulator.make({ port: sim.port }))
      assert.strictEqual(taken.reason._tag, "ListenFailed")
      assert.include(taken.message, String(sim.port))
      const bad = yield* Effect.flip(Simulator.make({ models: { mine: { tokens: -1 } } }))
      assert.strictEqual(bad.reason._tag, "BadScript")
      assert.include(bad.message, "tokens")
    })))
})
