/** The simulator of newcomers: a real upstream on loopback, never a shortcut inside the pipeline; and the faults of its fire drills. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SimulatorAddress } from "#src/platform/configuration/SimulatorAddress.ts"
import { type SimulatorFault, SimulatorFaults } from "#src/platform/configuration/SimulatorFaults.ts"
import type { Match, Script } from "#src/simulator/Script.ts"
import * as Simulator from "#src/simulator/Simulator.ts"

/** Header `x-api-key` of the provider `sim`: a drill strikes calls with it, and none of another connection that points here. */
const OWN_KEY = "simulator"
/** What a struck client is told to wait, seconds; shorter than any drill. */
const STORM_RETRY_S = 2
/** A stream breaks off behind its first words; one body in its middle. */
const HALF_FRAMES = 3
const HALF_BYTES = 40

type Part = readonly [match: Match, script: Script]

const parts: Readonly<Record<SimulatorFault, ReadonlyArray<Part>>> = {
  "rate-limit-storm": [[{}, {
    status: 429, retryAfter: STORM_RETRY_S,
    error: { type: "rate_limit_error", code: "rate_limit_exceeded", message: "Rate limit of the fire drill" }
  }]],
  stall: [[{}, { neverHead: true }]],
  "half-stream": [
    [{ stream: true }, { closeAfter: { frames: HALF_FRAMES } }],
    [{ stream: false }, { closeAfter: { bytes: HALF_BYTES } }]
  ]
}

const faults = Effect.map(Simulator.Simulator, ({ scopedRules }) => SimulatorFaults.of({
  play: (fault, share) => Effect.map(
    // A call that names no model, such as the list of models, is never struck.
    Effect.orDie(scopedRules(parts[fault].map(([match, script]) => ({ match: { ...match, model: "*", key: OWN_KEY, share }, script })))),
    ({ used }) => ({ struck: used })
  )
}))

export const layer = Layer.merge(
  Layer.effect(SimulatorAddress, Effect.map(Simulator.Simulator, ({ url }) => ({ url }))),
  Layer.effect(SimulatorFaults, faults)
).pipe(Layer.provideMerge(Simulator.layer({ defaults: { paceMs: 30 } })))
