/** GET /v1/ws, and the responses format over WebSocket on its three paths. */
import * as Effect from "effect/Effect"
import { Configuration } from "#actors/ports/Configuration.ts"
import { Flags } from "#actors/ports/Flags.ts"
import * as Errors from "#schemas/errors.ts"
import { PublicError } from "#schemas/errors.ts"
import * as GatewayHeaders from "#src/inference/lane/gatewayHeaders.ts"
import * as InferenceCall from "#src/inference/lane/InferenceCall.ts"
import * as Endpoint from "#src/inference/lane/services/Endpoint.ts"
import { Forks } from "#src/inference/lane/services/Forks.ts"
import { Inference } from "#src/inference/lane/services/Inference.ts"
import type { Exchange } from "#src/platform/server/Exchange.ts"
import { FrontEnd } from "#src/platform/server/FrontEnd.ts"
import type { ServerSocket, SocketHandler, SocketRoute } from "#src/platform/server/sockets/ServerSocket.ts"
import type { FramedExchange, FramedHead } from "#src/platform/server/sockets/FramedExchange.ts"
import * as ChatCompletionsErrors from "#src/wire/chatCompletions/errors.ts"
import * as Handshake from "./handshake.ts"
import { RequestSocket } from "./RequestSocket.ts"
import { ResponsesSocket } from "./ResponsesSocket.ts"

const requestsPath = "/v1/ws"
const responsesPaths = ["/v1/responses", "/responses", "/api/v1/responses"]

/** Largest frame, bytes; a request in it has the limit of request bodies beside. */
const maxMessageBytes = 16 * 1024 * 1024

/** What a frame of a client looks like. */
const protocol = {
  request: { type: "request", id: "1", payload: { model: "provider/model", messages: [{ role: "user", content: "Hello" }], stream: true } },
  cancel: { type: "cancel", id: "1" }
} as const

export const endpoints: ReadonlyArray<Endpoint.Endpoint> = [requestsPath, ...responsesPaths].map((path) => Endpoint.make("GET", path, "chat"))

export const routes = Effect.gen(function*() {
  const configuration = yield* Configuration
  const flags = yield* Flags
  const { now } = yield* Forks
  const frontEnd = yield* FrontEnd
  const services = yield* Inference
  const { admission } = services
  // A socket stays open while its address becomes one that is not served.
  const serve = (exchange: FramedExchange): void => {
    if (!admission.addresses.guard(exchange)) frontEnd.serveFramed(exchange)
  }
  const own = { held: services.held, serve, makeResponseId: services.makeResponseId, now }
  const keyNeeded = (): boolean => configuration.current().settings.get("wsAuth") === true

  const answer = (exchange: Exchange, status: number, body: string): void =>
    exchange.respond(status, [...GatewayHeaders.common(InferenceCall.tagsOf(exchange, admission)), "Content-Type", "application/json"], body)

  const refuse = (exchange: Exchange, error: PublicError): void => {
    const tags = InferenceCall.tagsOf(exchange, admission)
    services.refused(exchange.path, tags, error)
    const headers = GatewayHeaders.ofError(tags, error, 0)
    const more = error.code === "upgrade_required" ? ["Upgrade", "websocket"] : error === Handshake.incomplete ? ["Sec-WebSocket-Version", "13"] : []
    exchange.respond(error.status, [...headers, ...more], ChatCompletionsErrors.errorBody(error))
  }

  /** Admits, then opens the socket or answers the plain request. */
  const route = (
    target: string, open: (socket: ServerSocket, head: FramedHead) => SocketHandler, plain: (exchange: Exchange, admitted: Handshake.Admitted) => void
  ): SocketRoute => (exchange, accept) => {
    exchange.onAbort(() => undefined)
    const head = Handshake.headOf(exchange, target)
    Handshake.admit(head, admission, keyNeeded(), (admitted) => {
      if (exchange.closed) return
      if (admitted instanceof PublicError) refuse(exchange, exchange.path === requestsPath ? Handshake.inItsWords(admitted) : admitted)
      else if (accept === null && Handshake.isAsked(exchange)) refuse(exchange, Handshake.incomplete)
      else if (accept === null) plain(exchange, admitted)
      else accept({ maxMessageBytes }, (socket) => open(socket, head))
    })
  }

  const requests = route("/v1/chat/completions", (socket, head) => new RequestSocket(socket, head, own), (exchange, { key }) => {
    if (new URLSearchParams(exchange.query).get("handshake") === "1") {
      return answer(exchange, 200, JSON.stringify({
        ok: true, path: requestsPath, wsAuth: keyNeeded(), authenticated: key !== null, authType: key === null ? "none" : "api_key", protocol
      }))
    }
    refuse(exchange, Errors.make("upgrade_required", "This path takes WebSockets: connect with ws:// or wss://.", { extra: { protocol } }))
  })

  const responses = route("/v1/responses", (socket, head) => new ResponsesSocket(socket, head, own), (exchange) =>
    refuse(exchange, Errors.make("upgrade_required", "A GET of this path takes WebSockets: connect with ws:// or wss://, or send a POST.")))

  /** A client of the vendor's that reads 426 goes on over HTTP. */
  const responsesIfOn: SocketRoute = (exchange, accept) => {
    if (accept === null || flags.isOn("GATEWAY_CODEX_WS_ENABLED")) responses(exchange, accept)
    else refuse(exchange, Errors.make("upgrade_required", "Responses over WebSocket are switched off (GATEWAY_CODEX_WS_ENABLED): send a POST."))
  }

  return endpoints.map((endpoint): Endpoint.Mounted => ({ endpoint, socket: endpoint.path === requestsPath ? requests : responsesIfOn }))
})
