/** Faults that the built-in simulator plays to calls of the provider `sim`, and to no others. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

export type SimulatorFault = "rate-limit-storm" | "stall" | "half-stream"

export class SimulatorFaults extends Context.Service<SimulatorFaults, {
  /** Until the scope ends, which cuts the calls that the fault still holds. `share` of the calls, above 0 and up to 1, are struck. */
  readonly play: (fault: SimulatorFault, share: number) => Effect.Effect<{ readonly struck: () => number }, never, Scope.Scope>
}>()("gateway/ports/SimulatorFaults") {}
