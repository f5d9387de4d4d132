/** The Accounting port: the cost formula over the ledger's token fields, and the tokenizer. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Supervisor from "#actors/Supervisor.ts"
import { Accounting } from "#actors/request/ports/Accounting.ts"
import * as Cost from "./cost.ts"
import { TokenEstimate } from "./tokens/TokenEstimate.ts"

/** `estimate` counts the tokens of a text (`TokenEstimate`). */
export const make = (estimate: (text: string) => number) => Accounting.of({
  cost: (target, usage, units) => Cost.cost({
    tokensIn: usage.input,
    tokensOut: usage.output,
    tokensCacheRead: usage.cacheRead,
    tokensCacheCreation: usage.cacheCreation,
    tokensCacheCreationHour: usage.cacheCreationHour,
    tokensReasoning: usage.reasoning,
    tier: usage.tier
  }, target.price, units),
  estimate
})

export const layer = (estimate: (text: string) => number) => Layer.effect(Accounting, Effect.sync(() => make(estimate)))

/** With a tokenizer in a thread of its own. */
export const layerTokenizer = Layer.unwrap(Effect.gen(function*() {
  const clock = yield* Clock.Clock
  const onLost = yield* Supervisor.reporter("tokenizer")
  const tokens = yield* Effect.acquireRelease(
    Effect.sync(() => new TokenEstimate({ onLost, now: () => Number(clock.monotonicTimeNanosUnsafe()) / 1e6 })),
    (estimate) => Effect.sync(() => estimate.close())
  )
  return layer((text) => tokens.estimate(text))
}))
