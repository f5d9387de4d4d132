/** Asks a model or combo the question of an eval or an assessment through the request path: key policy, limits, breakers, accounting. */
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
  /** What the call is called in the ledger; default `/api/evals`. */
  readonly endpoint?: EvalEndpoint
}

export type EvalEndpoint = "/api/evals" | "/api/assess"

export interface EvalAnswer {
  /** Null without an answer. */
  readonly text: string | null
  /** Null for an answer. */
  readonly error: string | null
  /** HTTP status, as a client would have got it; 0 without any. */
  readonly status: number
  /** Canonical id of the model that answered; null without one, and where several had a part in it. */
  readonly answeredBy: string | null
  readonly latencyMs: number
}

export class EvalCalls extends Context.Service<EvalCalls, {
  /** Never fails; interrupting it ends the call. */
  readonly ask: (question: EvalQuestion) => Effect.Effect<EvalAnswer>
}>()("gateway/ports/EvalCalls") {}
