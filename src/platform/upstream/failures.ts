/** What can go wrong on the wire, as values: error codes of node and breaches of HTTP become one `UpstreamFailure` with fault and retry safety. */
import type { Phase, UpstreamFailure } from "#actors/request/ports/Upstream.ts"
import { codeOf, messageOf } from "#actors/thrown.ts"

export type Reason = UpstreamFailure["reason"]

/** A connection could not be made; carries its reason so that nothing has to be guessed from a code later. */
export class DialError extends Error {
  readonly reason: Reason
  /** A proxy is well and says that it cannot, or may not, reach the target. */
  readonly ofTarget: boolean
  constructor(reason: Reason, message: string, cause?: unknown, ofTarget = false) {
    super(message, cause === undefined ? undefined : { cause })
    this.reason = reason
    this.ofTarget = ofTarget
  }
}

/** The peer closed its side before the response was complete. */
export class ClosedEarly extends Error {}

/** The rest of the request's body, which is not in memory, cannot be read. */
export class BodyLost extends Error {}

/** The peer broke the rules of HTTP/1.1; the message says how. */
export class BadResponse extends Error {}

const tlsHints: ReadonlyArray<readonly [RegExp, string]> = [
  [/SELF_SIGNED|UNABLE_TO_VERIFY|UNABLE_TO_GET_ISSUER|UNTRUSTED/, "its certificate is not signed by a known authority; add the authority's file to NODE_EXTRA_CA_CERTS"],
  [/ALTNAME_INVALID/, "its certificate is for another host name"],
  [/CERT_HAS_EXPIRED/, "its certificate has expired"],
  [/CERT_NOT_YET_VALID/, "its certificate is not valid yet; check the clock of this machine"],
  [/WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST/, "the port does not speak TLS; should the base URL start with http://?"],
  [/PROTOCOL_VERSION|NO_PROTOCOLS|UNSUPPORTED_PROTOCOL/, "no TLS version in common"],
  [/HANDSHAKE_FAILURE|ALERT/, "the server refused the handshake"],
  [/ECONNRESET/, "the server closed the connection during the handshake"]
]

/** One sentence for an operator about a failed TLS handshake with `peer` (`host:port`). */
const tlsMessage = (peer: string, error: unknown): string => {
  const code = codeOf(error)
  const hint = tlsHints.find(([pattern]) => pattern.test(code))?.[1] ?? messageOf(error)
  return `TLS with ${peer} failed: ${hint}${code === "" ? "" : ` (${code})`}`
}

/** The failure of a TCP connect to `peer`; `tcp`: TCP was up already, so that TLS failed. */
export const dialError = (error: unknown, peer: string, tcp: boolean): DialError => {
  if (error instanceof DialError) return error
  if (tcp) return new DialError("tls", tlsMessage(peer, error), error)
  const code = codeOf(error)
  switch (code) {
    case "ECONNREFUSED":
      return new DialError("connect-refused", `nothing listens on ${peer} (ECONNREFUSED)`, error)
    case "ETIMEDOUT":
    case "ERR_SOCKET_CONNECTION_TIMEOUT":
      return new DialError("timeout", `${peer} did not answer the connection request (${code})`, error)
    case "ECONNRESET":
      return new DialError("reset", `${peer} closed the connection while it was being made (ECONNRESET)`, error)
    default:
      return new DialError("connect-refused", `cannot connect to ${peer}: ${code === "" ? messageOf(error) : code}`, error)
  }
}

/** What a call knows of itself when something fails. */
export interface Progress {
  readonly phase: Phase
  /** True once the request was written on the socket. */
  readonly sent: boolean
  /** True once the response head was handed to the receiver. */
  readonly head: boolean
  /** True once content reached the receiver: `useful()` was called, or body bytes came and no first event was awaited. */
  readonly useful: boolean
  /** `host:port` of the upstream. */
  readonly peer: string
}

/**
 * Whether the same request may be made again, seen from the wire.
 *
 * - `safe`: no byte of the request can have been processed (nothing was written yet).
 * - `before-first-byte`: the upstream may have worked (and may bill), but no content reached the receiver.
 * - `never`: content reached the receiver.
 */
export const retryOf = (progress: Progress): UpstreamFailure["retry"] =>
  progress.useful ? "never" : progress.sent ? "before-first-byte" : "safe"

export const make = (
  reason: Reason,
  progress: Progress,
  message: string,
  over: { readonly source?: UpstreamFailure["source"]; readonly retry?: UpstreamFailure["retry"] } = {}
): UpstreamFailure => ({
  _tag: "UpstreamFailure",
  reason,
  phase: progress.phase,
  // Egress proxies and the queue are the operator's own: they must not count against the provider.
  source: over.source ?? (reason === "blocked-url" || reason === "proxy" || progress.phase === "queue" ? "gateway" : "upstream"),
  retry: over.retry ?? (reason === "blocked-url" ? "never" : retryOf(progress)),
  message
})

/** The failure of a running call from the error that its connection (or its receiver) raised. */
export const fromError = (error: unknown, progress: Progress): UpstreamFailure => {
  const { peer } = progress
  if (error instanceof DialError) return make(error.reason, progress, error.message)
  if (error instanceof BadResponse) return make("protocol", progress, `${peer} does not speak HTTP/1.1: ${error.message}`)
  if (error instanceof BodyLost) return make("lost-body", progress, `the request's body cannot be read: ${error.message}`, { source: "gateway", retry: "never" })
  if (error instanceof ClosedEarly) {
    return progress.head
      ? make("truncated", progress, `${peer} closed before the body had ended`)
      : make("reset", progress, `${peer} closed the connection before it had answered`)
  }
  const code = codeOf(error)
  switch (code) {
    case "ECONNRESET":
    case "EPIPE":
    case "ECONNABORTED":
    case "ETIMEDOUT":
    case "EHOSTUNREACH":
    case "ENETUNREACH":
      return make("reset", progress, `the connection to ${peer} was cut (${code})`)
    default:
      if (/^ERR_(TLS|SSL|OSSL)/.test(code) || code === "EPROTO") return make("tls", progress, tlsMessage(peer, error))
      return make("protocol", progress, `the call to ${peer} broke: ${messageOf(error)}${code === "" ? "" : ` (${code})`}`, {
        source: "gateway"
      })
  }
}

/** What decides whether a request whose reused socket closed without an answer may be sent again by itself. */
export interface StaleSocket {
  readonly method: string
  /** True when the request carries an `idempotency-key` header. */
  readonly idempotencyKey: boolean
  /** True when the socket had served a request before. */
  readonly reused: boolean
}

/**
 * Servers close idle keep-alive sockets, sometimes just while a request is on its way.
 *
 * A first response byte never came, so the only question is whether the server can have acted. An idempotent request may be acted
 * on twice (RFC 9110, 9.2.2) and is sent again on a new socket. A POST is not: from here a server that closed too early and one that
 * crashed over the request look the same (a round-trip time that would tell them apart cannot be measured through a busy event
 * loop), so the caller gets `before-first-byte` and decides within its own budget.
 */
export const maySendAgain = (stale: StaleSocket): boolean =>
  stale.reused && (stale.method === "GET" || stale.method === "PUT" || stale.method === "DELETE" || stale.idempotencyKey)
