/**
 * A simulator for a test, in this process, on a free loopback port.
 *
 *     const sim = await startSim()
 *     afterAll(sim.stop)
 *     await sim.rule({ match: { model: "echo" }, times: 1, script: { status: 503 } })
 *     const [entry] = await sim.ended({ model: "echo" })
 *
 * Tests written as effects provide `Simulator.layer()` instead.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as Simulator from "#src/simulator/Simulator.ts"

export interface Sim {
  /** `http://127.0.0.1:<port>`; the base URL of a vendor SDK is this with `/v1`. */
  readonly url: string
  readonly port: number
  readonly rule: (rule: Simulator.Rule) => Promise<string>
  readonly entries: (filter?: Simulator.TruthFilter) => Promise<ReadonlyArray<Simulator.TruthEntry>>
  /** Waits until `count` matching requests have ended; with outcome "open", until they have arrived. */
  readonly ended: (filter?: Simulator.TruthFilter, count?: number) => Promise<ReadonlyArray<Simulator.TruthEntry>>
  readonly idle: () => Promise<void>
  readonly summary: () => Promise<Simulator.Summary>
  /** Forgets rules, log and totals: call it between tests that share a simulator. */
  readonly reset: () => Promise<void>
  readonly stop: () => Promise<void>
}

export const startSim = async (options?: Simulator.Options): Promise<Sim> => {
  const scope = Scope.makeUnsafe()
  const sim = await Effect.runPromise(Scope.provide(Simulator.make(options), scope))
  return {
    url: sim.url,
    port: sim.port,
    rule: (rule) => Effect.runPromise(sim.rule(rule)),
    entries: (filter) => Effect.runPromise(sim.entries(filter)),
    ended: (filter, count) => Effect.runPromise(sim.ended(filter, count)),
    idle: () => Effect.runPromise(sim.idle),
    summary: () => Effect.runPromise(sim.summary),
    reset: () => Effect.runPromise(sim.reset),
    stop: () => Effect.runPromise(Scope.close(scope, Exit.void))
  }
}
