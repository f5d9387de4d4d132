/**
 * `gateway sim`: a simulator that runs until the process gets a signal.
 */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { make, type Options, Simulator, type SimulatorError } from "./Simulator.ts"

export interface CliOptions extends Options {
  /** Milliseconds per token of every stream that does not say otherwise. */
  readonly pace?: number
  /** For load tests: replies are shared and the truth log is off; totals stay exact. */
  readonly bench?: boolean
  /** Print nothing. */
  readonly quiet?: boolean
}

export const optionsOf = (options: CliOptions): Options => {
  const { bench, pace, quiet: _, ...rest } = options
  return {
    ...(bench === true ? { shareReplies: true, logSize: 0 } : {}),
    ...rest,
    ...(pace === undefined ? {} : { defaults: { ...rest.defaults, paceMs: pace } })
  }
}

const banner = (sim: Simulator["Service"]): string =>
  [
    `simulator listening on ${sim.url}`,
    "",
    "  a first stream:",
    `    curl -N ${sim.url}/v1/chat/completions -H 'content-type: application/json' \\`,
    `      -d '{"model":"tokens-50@40","stream":true,"messages":[{"role":"user","content":"hello"}]}'`,
    `  what it can be:  curl ${sim.url}/v1/models`,
    `  what it sent:    curl ${sim.url}/__sim/requests`
  ].join("\n")

const run = Effect.fnUntraced(function*(options: CliOptions): Effect.fn.Return<never, SimulatorError, Scope.Scope> {
  const sim = yield* make(optionsOf(options))
  if (options.quiet !== true) yield* Console.log(banner(sim))
  return yield* Effect.never
})

/** Listens, says where, and never ends by itself; interrupt it to stop. */
export const runCli = (options: CliOptions = {}): Effect.Effect<never, SimulatorError> => Effect.scoped(run(options))
