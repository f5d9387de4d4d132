/** The Accounting port: the cost formula over the ledger's conventions, and the tokenizer. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Accounting } from "#actors/request/ports/Accounting.ts"
import * as Cost from "./cost.ts"

/** `estimate` counts the tokens of a text (`TokenEstimate`). */
export const make = (estimate: (text: string) => number) => Accounting.of({
  cost: (target, usage, units) => Cost.cost({
    tokensIn: usage.input,
    tokensOut: usage.output,
    tokensCacheRead: usage.cacheRead,
    tokensCacheCreation: usage.cacheCreation,
    tokensReasoning: usage.reasoning
  }, target.price, Cost.LEDGER_CONVENTION, units),
  estimate
})

export const layer = (estimate: (text: string) => number) => Layer.effect(Accounting, Effect.sync(() => make(estimate)))
