/** Effect's `HttpServerRequest` over one exchange. Everything but method and url is built when asked for. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Cookies from "effect/http/Cookies"
import * as Headers from "effect/http/Headers"
import * as HttpIncomingMessage from "effect/http/HttpIncomingMessage"
import { HttpServerError, RequestParseError } from "effect/http/HttpServerError"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as Multipart from "effect/http/Multipart"
import * as UrlParams from "effect/http/UrlParams"
import * as Inspectable from "effect/Inspectable"
import * as Option from "effect/Option"
import type * as Path from "effect/Path"
import type { ReadonlyRecord } from "effect/Record"
import type * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type * as Socket from "effect/socket/Socket"
import * as Stream from "effect/Stream"
import * as ContentCoding from "#src/platform/server/contentCoding.ts"
import { type BodyFailure, BodyUnread, NO_ROOM } from "#src/platform/server/Exchange.ts"
import type { UwsExchange } from "./UwsExchange.ts"
import type { Upgrade } from "./UwsSocket.ts"

/** What the request needs to know of its server. */
export interface RequestOrigin {
  readonly scheme: "http" | "https"
  /** Bytes of body accepted when effect's `MaxBodySize` is not set. */
  readonly maxBodyBytes: number
}

interface Overrides {
  readonly url?: string | undefined
  readonly headers?: Headers.Headers | undefined
  readonly remoteAddress?: Option.Option<string> | undefined
  readonly peerAddress?: Option.Option<string> | undefined
  readonly protocol?: "http" | "https" | undefined
}

const headersProto: object = Object.getPrototypeOf(Headers.empty)

const headersOf = (flat: ReadonlyArray<string>): Headers.Headers => {
  const out = Object.create(headersProto) as Record<string, string>
  for (let i = 0; i < flat.length; i += 2) {
    const name = flat[i]!
    const known = out[name]
    out[name] = known === undefined || !Object.hasOwn(out, name)
      ? flat[i + 1]!
      : `${known}${name === "cookie" ? "; " : ", "}${flat[i + 1]!}`
  }
  return out as Headers.Headers
}

const decoder = new TextDecoder()

export class UwsServerRequest extends Inspectable.Class implements HttpServerRequest.HttpServerRequest {
  readonly [HttpServerRequest.TypeId]: typeof HttpServerRequest.TypeId
  readonly [HttpIncomingMessage.TypeId]: typeof HttpIncomingMessage.TypeId
  readonly exchange: UwsExchange
  readonly origin: RequestOrigin
  readonly url: string
  readonly method: string
  readonly upgrading: Upgrade | undefined
  private readonly overrides: Overrides
  private headersCache: Headers.Headers | undefined
  private cookiesCache: ReadonlyRecord<string, string> | undefined
  private multipartCache: HttpServerRequest.HttpServerRequest["multipart"] | undefined

  constructor(exchange: UwsExchange, origin: RequestOrigin, upgrading: Upgrade | undefined, overrides: Overrides = NO_OVERRIDES) {
    super()
    this[HttpServerRequest.TypeId] = HttpServerRequest.TypeId
    this[HttpIncomingMessage.TypeId] = HttpIncomingMessage.TypeId
    this.exchange = exchange
    this.origin = origin
    this.upgrading = upgrading
    this.method = exchange.method
    this.url = overrides.url ?? (exchange.query === "" ? exchange.path : `${exchange.path}?${exchange.query}`)
    this.overrides = overrides
  }

  get source(): object {
    return this.exchange
  }

  get originalUrl(): string {
    const { exchange } = this
    const url = exchange.query === "" ? exchange.path : `${exchange.path}?${exchange.query}`
    const host = exchange.header("host")
    return host === undefined ? url : `${this.origin.scheme}://${host}${url}`
  }

  get headers(): Headers.Headers {
    return this.headersCache ??= this.overrides.headers ?? headersOf(this.exchange.headers)
  }

  get cookies(): ReadonlyRecord<string, string> {
    return this.cookiesCache ??= Cookies.parseHeader(this.headers["cookie"] ?? "")
  }

  get remoteAddress(): Option.Option<string> {
    const { overrides } = this
    if (overrides.remoteAddress !== undefined) return overrides.remoteAddress
    const address = this.exchange.remoteAddress
    return address === "" ? Option.none() : Option.some(address)
  }

  get peerAddress(): Option.Option<string> {
    const { overrides } = this
    if (overrides.peerAddress !== undefined) return overrides.peerAddress
    const address = this.exchange.peerAddress
    return address === "" ? Option.none() : Option.some(address)
  }

  get protocol(): "http" | "https" | undefined {
    return this.overrides.protocol
  }

  modify(options: Overrides): UwsServerRequest {
    return new UwsServerRequest(this.exchange, this.origin, this.upgrading, { headers: this.headersCache, ...this.overrides, ...options })
  }

  /** The body bytes; read once, handed out as often as asked. */
  private get bytes(): Effect.Effect<Uint8Array, HttpServerError> {
    return Effect.withFiber((fiber) => {
      const limit = fiber.getRef(HttpIncomingMessage.MaxBodySize)
      return Effect.callback<Uint8Array, HttpServerError>((resume) => {
        this.exchange.readBody(limit === undefined ? this.origin.maxBodyBytes : Number(limit), (body, failure) => {
          resume(failure === null ? Effect.succeed(body!) : Effect.fail(this.bodyError(failure)))
        })
      })
    })
  }

  get arrayBuffer(): Effect.Effect<ArrayBuffer, HttpServerError> {
    // Copied, because small bodies are views of a shared pool.
    return Effect.map(this.bytes, (bytes) => Uint8Array.from(bytes).buffer)
  }

  get text(): Effect.Effect<string, HttpServerError> {
    return Effect.map(this.bytes, (bytes) => decoder.decode(bytes))
  }

  get json(): Effect.Effect<Schema.Json, HttpServerError> {
    return Effect.flatMap(this.text, (text) =>
      Effect.try({
        try: () => text === "" ? null : JSON.parse(text) as Schema.Json,
        catch: (cause) => this.parseError({ cause })
      }))
  }

  get urlParamsBody(): Effect.Effect<UrlParams.UrlParams, HttpServerError> {
    return Effect.flatMap(this.text, (text) =>
      Effect.try({
        // A leading "?" is form data; URLSearchParams would drop it as a query prefix.
        try: () => UrlParams.fromInput(new URLSearchParams(text.replace(/^\?/, "%3F"))),
        catch: (cause) => this.parseError({ cause })
      }))
  }

  get stream(): Stream.Stream<Uint8Array, HttpServerError> {
    return Stream.fromPull(Effect.succeed(Effect.callback<readonly [Uint8Array], HttpServerError | Cause.Done>((resume) => {
      const unwait = this.exchange.pullBody((body, failure) => {
        if (failure !== null) resume(Effect.fail(this.bodyError(failure)))
        else resume(body === null ? Cause.done() : Effect.succeed([body]))
      })
      return Effect.sync(unwait)
    })))
  }

  get multipart(): Effect.Effect<Multipart.Persisted, Multipart.MultipartError, Scope.Scope | FileSystem.FileSystem | Path.Path> {
    return this.multipartCache ??= Effect.runSync(Effect.cached(Multipart.toPersisted(this.multipartStream)))
  }

  get multipartStream(): Stream.Stream<Multipart.Part, Multipart.MultipartError> {
    return Stream.pipeThroughChannel(
      Stream.mapError(this.stream, (cause) => Multipart.MultipartError.fromReason("InternalError", cause)),
      Multipart.makeChannel(this.headers)
    )
  }

  get upgrade(): Effect.Effect<Socket.Socket, HttpServerError> {
    return this.upgradeWith({})
  }

  upgradeWith(options: { readonly headers?: Headers.Input | undefined }): Effect.Effect<Socket.Socket, HttpServerError> {
    if (this.upgrading === undefined) {
      return Effect.fail(this.parseError({ description: "not an upgradeable request: send Upgrade: websocket with a Sec-WebSocket-Key" }))
    }
    if (Object.keys(Headers.fromInput(options.headers)).length > 0) {
      return Effect.fail(this.parseError({ description: "WebSocket upgrades do not support custom response headers" }))
    }
    return Effect.succeed(this.upgrading.socket)
  }

  private parseError(props: { readonly reason?: "Parse" | "BodyTooLarge"; readonly description?: string; readonly cause?: unknown }): HttpServerError {
    return new HttpServerError({ reason: new RequestParseError({ request: this, ...props }) })
  }

  private bodyError(failure: BodyFailure): HttpServerError {
    const cause = new BodyUnread(failure)
    switch (failure) {
      case "too-large":
        return this.parseError({ cause, reason: "BodyTooLarge", description: "the request body exceeds the limit (MaxBodySize, or maxBodyBytes of the server)" })
      case "timeout":
        return this.parseError({ cause, description: "the request body did not arrive within bodyTimeout" })
      case "aborted":
        return this.parseError({ cause, description: "the client closed the connection before its body was complete" })
      case "coding":
        return this.parseError({ cause, description: `the Content-Encoding is not accepted: send ${ContentCoding.accepted}` })
      case "no-room":
        return this.parseError({ cause, description: NO_ROOM })
      case "undecodable":
        return this.parseError({ cause, description: "the body is not compressed as its Content-Encoding says" })
    }
  }

  override toString(): string {
    return `ServerRequest(${this.method} ${UrlParams.redactUrl(this.url)})`
  }

  toJSON(): unknown {
    return HttpIncomingMessage.inspect(this, {
      _id: "HttpServerRequest",
      method: this.method,
      url: UrlParams.redactUrl(this.originalUrl)
    })
  }
}

const NO_OVERRIDES: Overrides = {}
