/**
 * One HTTP exchange as the front end hands it to a direct route: the request's copied head, its body on demand, and a
 * response that is written by callback with honest backpressure.
 *
 * A direct route is the thin lane of the few hot endpoints: a plain callback instead of effect's router. Everything
 * else is served through effect's `HttpServer`. Both lanes stand on this one interface.
 */

import type { BodyFlow, BodySink } from "./body/bodySink.ts"

/** Why an exchange ended before its response did. */
export type AbortReason = "client-closed" | "slow-reader" | "shutdown"

/**
 * Why a request body could not be handed over. `coding`: its Content-Encoding is not accepted; `undecodable`: it is not what that says;
 * `no-room`: this process holds as many bytes of bodies as it may.
 */
export type BodyFailure = "too-large" | "aborted" | "timeout" | "coding" | "undecodable" | "no-room"

/** On effect's lane the cause of the error that says it in words. */
export class BodyUnread extends Error {
  readonly failure: BodyFailure
  constructor(failure: BodyFailure) {
    super(`The request body was not read: ${failure}`)
    this.failure = failure
  }
}

/** How effect's lane words `no-room`. */
export const NO_ROOM = "this process holds as many bytes of request bodies as it may (GATEWAY_MAX_HELD_BODY_BYTES)"

/** In whose name the gateway asks itself; null: in its own, without a key. */
export interface ActsAs {
  /** SHA-256 of the key, hexadecimal. */
  readonly keyHash: string | null
  /** This process asks each of these requests once: only another node could repeat it. */
  readonly asksOnce?: boolean
  /** It asks what a picture shows: nothing else is asked for it. */
  readonly describes?: boolean
}

/** What a request of the responses format goes on with, where the gateway put what went before into its body. */
export interface Continues {
  /** Id of the response before it. */
  readonly previous?: string
  /** The kept conversation, and how many of the input's items stand there already. */
  readonly conversation?: { readonly id: string; readonly known: number } | null
  /** Id of the response in the background that it makes. */
  readonly makes?: string
}

export interface Exchange {
  /** Set for a request that the gateway makes itself; never for one that came over a socket. */
  readonly actsAs?: ActsAs | undefined
  /** What its body goes on with and holds already; never set for one that came over HTTP. */
  readonly continues?: Continues | undefined
  /** Upper-case method. */
  readonly method: string
  /** Path without the query string, exactly as the client sent it. */
  readonly path: string
  /** Query string without `?`, still percent-encoded; empty when absent. */
  readonly query: string
  /** Value of a request header by lower-case name, or undefined. Repeated ones are joined with `, `, cookies with `; `. */
  readonly header: (lowerCaseName: string) => string | undefined
  /** Every request header, lower-case name then value, flat, in the order of arrival. */
  readonly headers: ReadonlyArray<string>
  /** Textual address of the transport peer. Read it first while the exchange lives: it is empty when only asked for afterwards. */
  readonly peerAddress: string
  /** Textual address of the client, as trusted proxies name it; empty when it is not known, and as `peerAddress` is. */
  readonly remoteAddress: string
  /** True after the client has gone, the response has ended, or it was closed by us. */
  readonly closed: boolean
  /**
   * Collects the request body and calls back exactly once, at once or later. The bytes belong to the caller.
   * A compressed body is handed over as what it holds. `limit` is in bytes, before and after that; a declared content-length above it fails before the first body byte. Once the body is complete
   * every reader gets the same bytes; a second reader while the first waits is a defect. After every failure but `aborted`
   * the route still has to answer.
   */
  readonly readBody: (limit: number, done: (body: Uint8Array | null, failure: BodyFailure | null) => void) => void
  /**
   * Gives the body to a sink while it arrives, within `limit` bytes, and keeps none of it; a compressed one as what it holds. It excludes
   * `readBody`.
   */
  readonly streamBody: (limit: number, sink: BodySink) => BodyFlow
  /** Registers the one listener for the moment at which the exchange gives the body up: at `releaseBody`, or at its end. */
  readonly onRelease: (listener: () => void) => void
  /** The body has a new owner: the exchange neither keeps nor counts it any more. */
  readonly releaseBody: () => void
  /**
   * Registers the one listener of an abort, also of one after `end` or `respond` before the client took everything; called at
   * once when the exchange is already aborted. Not called for `close`.
   */
  readonly onAbort: (listener: (reason: AbortReason) => void) => void
  /** Puts headers before those of the coming response, whichever route gives it. Flat: name, value. */
  readonly addHeaders: (headers: ReadonlyArray<string>) => void
  /**
   * Starts the response. `headers` is flat: name, value, name, value; at most 12 KiB. Never contains content-length,
   * transfer-encoding or connection. The head leaves together with the first bytes of the body, not before: to send it
   * early, write something, such as a comment of the event stream.
   */
  readonly start: (status: number, headers: ReadonlyArray<string>) => void
  /**
   * The same for a body of so many bytes, with its content-length. A body of another length is cut, so that no client takes it for whole.
   */
  readonly startSized: (status: number, headers: ReadonlyArray<string>, length: number) => void
  /**
   * Appends body bytes; they are sent once per turn and must not be changed until then. Returns false when the client is
   * behind: stop producing until the drain listener runs. Bytes given to `write` are never dropped while the exchange
   * lives; a producer that continues regardless is cut as a slow reader at `maxPendingBytes`. After the end of the
   * exchange it answers false and no drain follows: `onAbort` tells.
   */
  readonly write: (chunk: Uint8Array) => boolean
  /**
   * As `write`, for borrowed bytes: sends them at once, and copies what the client does not take, so that the caller may reuse
   * them as soon as it returns. It must not be called inside a callback that the front end makes, but in a turn of the producer's
   * own.
   */
  readonly relay: (chunk: Uint8Array) => boolean
  /** Registers the one listener for when a `write` or `relay` that returned false has been sent entirely. */
  readonly onDrain: (listener: () => void) => void
  /** Bytes accepted by `write` that the kernel has not taken yet. */
  readonly pendingBytes: number
  /** Sends what is left and completes the response. */
  readonly end: (chunk?: Uint8Array | string) => void
  /**
   * Sends a whole response with its content-length; `body` empty for 204 and 304. For HEAD only the length is sent. The bytes must not be
   * changed any more: a small response leaves at the end of the turn, together with the others of that turn.
   */
  readonly respond: (status: number, headers: ReadonlyArray<string>, body: Uint8Array | string) => void
  /** Cuts the connection: the client sees a broken response, never a completed one. */
  readonly close: () => void
}

/** Handler of a direct route. It must answer, or register `onAbort`, before it returns. A throw is answered with 500. */
export type DirectRoute = (exchange: Exchange) => void

/** Looks at a request before its route does; true when it has answered. Called for every request, so it must be cheap. */
export type ExchangeGuard = (exchange: Exchange) => boolean
