/** The beginning of a socket: who may open one, and the head that its requests get. */
import * as Standing from "#actors/lease/standing.ts"
import * as Errors from "#schemas/errors.ts"
import { PublicError } from "#schemas/errors.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import * as InferenceCall from "#src/inference/lane/InferenceCall.ts"
import * as LeaseErrors from "#src/inference/lane/leaseErrors.ts"
import type { Exchange } from "#src/platform/server/Exchange.ts"
import { findHeader } from "#src/platform/server/requestHead.ts"
import type { FramedHead } from "#src/platform/server/sockets/FramedExchange.ts"

/** Of the connection, or of one request: they say nothing about those that follow. */
const ownHeaders = new Set([
  "connection", "upgrade", "keep-alive", "content-type", "content-length", "content-encoding", "transfer-encoding", "accept", "accept-encoding",
  "idempotency-key", "x-request-id", "expect", "te"
])

/** The names under which vendors' clients put a key into the address. */
const queryNames = ["api_key", "token", "access_token", "apiKey", "key"]

const bearerOfQuery = (query: string): string | null => {
  if (query === "") return null
  const said = new URLSearchParams(query)
  for (const name of queryNames) {
    const value = said.get(name)
    if (value !== null) return value
  }
  return null
}

/** The head of every request of the socket: what the handshake said, as a request to `path`. */
export const headOf = (exchange: Exchange, path: string): FramedHead => {
  const headers: Array<string> = ["content-type", "application/json"]
  for (let i = 0; i < exchange.headers.length; i += 2) {
    const name = exchange.headers[i]!
    if (!ownHeaders.has(name) && !name.startsWith("sec-websocket-")) headers.push(name, exchange.headers[i + 1]!)
  }
  const { peerAddress, remoteAddress } = exchange
  const head: FramedHead = { method: "POST", path, query: "", headers, peerAddress, remoteAddress }
  const key = InferenceCall.presentedKey(callHeadOf(head)) === null ? bearerOfQuery(exchange.query) : null
  if (key !== null) headers.push("authorization", `Bearer ${key}`)
  return head
}

/** The request asks for a WebSocket; one that the server cannot open has no fitting key or version. */
export const isAsked = (exchange: Exchange): boolean => exchange.header("upgrade")?.toLowerCase() === "websocket"

export interface Admitted {
  /** Null for an anonymous caller. */
  readonly key: ApiKey | null
}

/**
 * Says at once or later whether the head may open a socket. Each of its requests is admitted again. `keyNeeded`: the settings ask for
 * a key beyond what the flags do.
 */
export const admit = (
  head: FramedHead, services: InferenceCall.AdmissionServices, keyNeeded: boolean, done: (admitted: Admitted | PublicError) => void
): void => {
  const said = callHeadOf(head)
  if (InferenceCall.presentedKey(said) === null && (keyNeeded || services.flags.isOn("REQUIRE_API_KEY"))) return done(required)
  InferenceCall.admit(said, "chat", services, (key) => {
    if (key instanceof PublicError) done(key)
    else if (key !== null && Standing.isManaged(key)) done(LeaseErrors.unsupportedTransport)
    else done({ key })
  })
}

const callHeadOf = (head: FramedHead): InferenceCall.CallHead => ({
  query: head.query,
  remoteAddress: head.remoteAddress,
  header: (name) => findHeader(head.headers, name)
})

/** The path of requests in frames has its own codes. */
export const inItsWords = (error: PublicError): PublicError => error.code !== "invalid_api_key" ? error : Errors.make(error === required ? "ws_auth_required" : "ws_auth_invalid", error.message)

/** What a request for a WebSocket is told that lacks what one needs. */
export const incomplete = Errors.make("bad_websocket_handshake", "This is no complete handshake of a WebSocket: it needs Sec-WebSocket-Version 13 and a Sec-WebSocket-Key of 16 bytes in base64.")

const required = Errors.make("invalid_api_key", "A WebSocket needs an API key: send 'Authorization: Bearer <key>' with the handshake.")
