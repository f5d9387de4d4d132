/** Asks a model or combo an eval's question through the request path: key policy, limits, breakers, accounting. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { ApiKey } from "#schemas/records/ApiKey.ts"

export interface EvalQuestion {
  /** As a client would name it. */
  readonly model: string
  readonly messages: ReadonlyArray<{ readonly role: string; readonly content: string }>
  readonly maxTokens: number
  /** In whose name; null for the operator's. */
  readonly key: ApiKey | null
  readonly timeoutMs: number
}

export interface EvalAnswer {
  /** Null without an answer. */
  readonly text: string | null
  /** Null for an answer. */
  readonly error: string | null
  /** Canonical id of the model that answered; null without one, and where several had a part in it. */
  readonly answeredBy: string | null
  readonly latencyMs: number
}

export class EvalCalls extends Context.Service<EvalCalls, {
  /** Never fails; interrupting it ends the call. */
  readonly ask: (question: EvalQuestion) => Effect.Effect<EvalAnswer>
}>()("gateway/ports/EvalCalls") {}
