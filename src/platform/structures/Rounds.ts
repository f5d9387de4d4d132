/** Work that is repeated only while there is some: no timer runs for a feature that is not in use. */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Supervisor from "#actors/Supervisor.ts"

export interface Rounds {
  /** Begins when rounds are needed and none run; to be called after everything that may have made it so. */
  readonly wake: () => void
}

/** Each round begins `every` after the one before it ended, the first this long after the wake; they end with the scope. */
export const make = Effect.fnUntraced(function*(
  loop: "agent tasks" | "cache writes" | "call bodies" | "compression statistics" | "connection tests" | "memory vectors" | "model lists" | "proxy health" | "raw outputs" | "search statistics" | "token refresh", needed: () => boolean, every: Duration.Input, round: Effect.Effect<void>
) {
  const fork = yield* FiberSet.makeRuntime<never, void, never>()
  let awake = false
  const rounds = Supervisor.supervised(loop, Effect.delay(Effect.suspend(() => needed() ? round : Effect.void), every), {
    while: () => awake = needed()
  })
  const wake = (): void => {
    if (awake || !needed()) return
    awake = true
    fork(rounds)
  }
  wake()
  return { wake } satisfies Rounds
})
