/** Runs a handler in a process of its own (`SandboxProcess.ts`), which ends with the run, the caller or the gateway. */
import * as Effect from "effect/Effect"
import * as SandboxProcess from "./SandboxProcess.ts"
import type * as Seal from "./seal.ts"

export const OUTPUT_MAX = SandboxProcess.OUTPUT_MAX
export type Outcome = SandboxProcess.Outcome

export interface Job extends SandboxProcess.Job {
  readonly code: string
}

/** `begun` runs when the process is closed, just before the handler starts. The outcome is hostile: its JSON must be checked. */
export const run = <E>(job: Job, timeoutMs: number, begun: Effect.Effect<void, E>): Effect.Effect<Outcome, Seal.Unsealed | E> => Effect.scoped(Effect.gen(function*() {
  const process = yield* SandboxProcess.open(Math.ceil(timeoutMs / 1_000) + 30)
  yield* begun
  return yield* Effect.timeoutOrElse(process.ask(job), { duration: timeoutMs, orElse: () => Effect.succeed<Outcome>({ _tag: "TimedOut" }) })
}))
