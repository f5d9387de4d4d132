/**
 * A response body that writes itself by callback instead of through a stream: give it to
 * `HttpServerResponse.raw(body)`. Status and headers are those of the response.
 */
import type * as Effect from "effect/Effect"
import type { Exchange } from "./Exchange.ts"

export interface DirectBody {
  /**
   * Starts the exchange and runs until the body was written; interrupted when the client goes. A failure after `start`
   * cuts the connection.
   */
  readonly writeTo: (exchange: Exchange, status: number, headers: ReadonlyArray<string>) => Effect.Effect<void>
}

export const isDirectBody = (u: unknown): u is DirectBody =>
  typeof u === "object" && u !== null && "writeTo" in u && typeof u.writeTo === "function"
