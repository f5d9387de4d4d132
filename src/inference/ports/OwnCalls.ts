/** A request of the gateway to one of its own inference endpoints in the name of a key: as that key's own request, from admission to the ledger. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import { headerOf } from "#actors/request/ports/Upstream.ts"

export interface OwnQuestion {
  /** Path of the endpoint, such as `/v1/search`. */
  readonly path: string
  /** JSON, as text or in UTF-8. */
  readonly body: string | Uint8Array
  /** What the request asks of the gateway, such as `x-gateway-task`: lower-case names and values in turn; none by default. */
  readonly headers?: ReadonlyArray<string>
  /** It asks what a picture shows: its own pictures stay as they are. */
  readonly describes?: boolean
  /** SHA-256 of the key, hexadecimal; null: without a key. */
  readonly keyHash: string | null
  /** The caller's, for the key's rules of addresses. */
  readonly address: string
  /** Told once what all its calls cost in USD, when the request is over: also when it failed, or the one that asked had left. */
  readonly billed?: ((costUsd: number) => void) | undefined
}

export interface OwnAnswer {
  readonly status: number
  /** Names and values in turn, as a client would have got them. */
  readonly headers: ReadonlyArray<string>
  /** JSON text; empty when the answer broke off. */
  readonly body: string
}

const COST = "x-gateway-response-cost"

/** What the calls of the request cost, USD; 0 where the answer does not say it. */
export const costOf = ({ headers }: OwnAnswer): number => {
  const cost = Number(headerOf(headers.map((value, i) => i % 2 === 0 ? value.toLowerCase() : value), COST))
  return Number.isFinite(cost) && cost > 0 ? cost : 0
}

export class OwnCalls extends Context.Service<OwnCalls, {
  /** Never fails; interrupting it is the client leaving. */
  readonly ask: (question: OwnQuestion) => Effect.Effect<OwnAnswer>
}>()("gateway/ports/OwnCalls") {}
