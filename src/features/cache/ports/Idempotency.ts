/**
 * Serves duplicate requests once over all nodes: a claim on the idempotency key, held by one node at a time, and the
 * finished reply for the rest of the window. A claim that its node stops renewing expires, so a dead node blocks no key.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { StoreError } from "#actors/ports/StoreError.ts"

/** A finished whole reply, as it may be given again. */
export interface KeptReply {
  /** HTTP status; only successes are kept. */
  readonly status: number
  /** Response headers that belong to the answer, flat. */
  readonly headers: ReadonlyArray<string>
  readonly body: Uint8Array
}

export type IdempotencyClaim =
  /** The caller answers, and must `finish`, `abandon` or keep renewing. */
  | { readonly _tag: "Mine" }
  /** Another request holds the claim. */
  | { readonly _tag: "Running" }
  | { readonly _tag: "Finished"; readonly reply: KeptReply }
  /** The key stands for another body. */
  | { readonly _tag: "Reused" }

type Op<A> = Effect.Effect<A, StoreError>

/** `owner` is a fence: what an owner whose claim was lost says later changes nothing. Times in ms. */
export class IdempotencyStore extends Context.Service<IdempotencyStore, {
  readonly claim: (key: string, digest: string, owner: string, leaseMs: number) => Op<IdempotencyClaim>
  /** False when the claim is not the owner's any more. */
  readonly renew: (key: string, owner: string, leaseMs: number) => Op<boolean>
  readonly finish: (key: string, owner: string, reply: KeptReply, windowMs: number) => Op<boolean>
  readonly abandon: (key: string, owner: string) => Op<void>
}>()("gateway/ports/IdempotencyStore") {}

/** What idempotency does on this node, for the cache views. */
export class IdempotencyView extends Context.Service<IdempotencyView, {
  /** Keys in flight or within their window. */
  readonly activeKeys: () => number
  readonly windowMs: () => number
}>()("gateway/ports/IdempotencyView") {}

/** What idempotency does while Redis or Postgres fails. */
export const degradation = {
  feature: "idempotency",
  redis: "fail-open: each node drops duplicates among its own requests; two nodes may both call upstream",
  postgres: "not used",
  stalenessMs: 0,
  addedLatencyMs: 50
} as const
