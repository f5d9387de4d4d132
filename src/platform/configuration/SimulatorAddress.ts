/** Where the built-in simulator listens; it stands on loopback, and is asked over HTTP as every upstream. */
import * as Context from "effect/Context"

export class SimulatorAddress extends Context.Service<SimulatorAddress, {
  /** Its origin, without a path. */
  readonly url: string
}>()("gateway/ports/SimulatorAddress") {}
