/** Sends one target a small test request through the request path: breakers, credentials, accounting. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Target } from "#actors/request/ports/Target.ts"

export interface TargetOutcome {
  /** HTTP status that a client would have been given. */
  readonly statusCode: number
  /** Null for an answer. */
  readonly error: string | null
  /** The answer, shortened; null without one. */
  readonly text: string | null
  /** ms. */
  readonly latencyMs: number
}

export class TargetTests extends Context.Service<TargetTests, {
  /** Never fails; at most `timeoutMs`. The call has a ledger row of its own request, under `endpoint`. */
  readonly test: (target: Target, endpoint: string, timeoutMs: number) => Effect.Effect<TargetOutcome>
}>()("gateway/ports/TargetTests") {}
