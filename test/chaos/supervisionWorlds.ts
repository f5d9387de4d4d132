/** Where a loop meets its defect, and how what it did is seen. */
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as Metric from "effect/Metric"
import * as Supervisor from "#actors/Supervisor.ts"
import type { InProcess } from "#test/support/gateway.ts"
import * as Http from "#test/support/http.ts"

/** Throws in the first round of each loop, and remembers all of them. */
export class Faults {
  readonly rounds = new Map<string, number>()
  ended: Array<Supervisor.Loop> = []
  readonly probe = {
    round: (loop: Supervisor.Loop): void => {
      const round = (this.rounds.get(loop) ?? 0) + 1
      this.rounds.set(loop, round)
      if (round === 1) throw new Error(`injected into ${loop}`)
    },
    ended: (loop: Supervisor.Loop): void => void this.ended.push(loop)
  }
}

/** Where a loop runs, and how what it did is seen. */
export interface World {
  readonly faults: Faults
  readonly output: () => string
  readonly metrics: () => Promise<string>
}

export const gatewayWorld = (faults: Faults, gateway: () => InProcess): World => ({
  faults,
  output: () => gateway().output(),
  metrics: async () => (await Http.send(gateway().url, { path: "/metrics" })).text
})

/** A part of the gateway alone: what no gateway of this process runs. */
export const partWorld = () => {
  const faults = new Faults()
  const lines: Array<string> = []
  const registry = new Map()
  const logger = Logger.make<unknown, void>(({ cause, message }) => {
    lines.push(`${String(message)} ${cause.reasons.map((reason) => reason._tag === "Die" ? String(reason.defect) : "").join()}`)
  })
  const run = <A, E>(effect: Effect.Effect<A, E>): Promise<A> => Effect.runPromise(effect.pipe(
    Effect.provide(Logger.layer([logger])),
    Effect.provideService(Metric.MetricRegistry, registry),
    Effect.provideService(Supervisor.Probe, faults.probe)
  ))
  const world: World = {
    faults,
    output: () => lines.join("\n"),
    metrics: () => run(Effect.contextWith((context) => Effect.sync(() => Metric.snapshotUnsafe(context).map(({ attributes, id, state }) =>
      `${id}{loop="${attributes?.["loop"]}"} ${"count" in state ? state.count : ""}`).join("\n"))))
  }
  return { world, run }
}
