/** Writes effect's `HttpServerResponse` to an exchange. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Cookies from "effect/http/Cookies"
import { causeResponse, HttpServerError, ResponseError } from "effect/http/HttpServerError"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as Response from "effect/http/HttpServerResponse"
import * as Stream from "effect/Stream"
import { Readable } from "node:stream"
import { isDirectBody } from "#src/platform/server/DirectBody.ts"
import type { UwsExchange } from "./UwsExchange.ts"
import type { UwsServerRequest } from "./UwsServerRequest.ts"

const upgradedResponse = Response.empty({ status: 101 })

export const handleResponse = (
  request: HttpServerRequest,
  response: Response.HttpServerResponse
): Effect.Effect<unknown, HttpServerError> => {
  const { exchange, upgrading } = request as UwsServerRequest
  if (upgrading?.upgraded === true) return Effect.succeed(upgradedResponse)
  if (exchange.closed) return cancelBody(response)
  try {
    return write(exchange, request, response)
  } catch (defect) {
    return Effect.andThen(cancelBody(response), handleCause(exchange, response)(Cause.die(defect)))
  }
}

/** The flat head. Length, framing and connection are the front end's own business. */
const flatHeaders = (exchange: UwsExchange, response: Response.HttpServerResponse): Array<string> => {
  const flat: Array<string> = []
  const { headers } = response
  for (const name in headers) {
    switch (name) {
      case "content-length":
      case "transfer-encoding":
      case "keep-alive":
        break
      case "connection":
        if (headers[name]!.toLowerCase() === "close") exchange.closeConnection = true
        break
      default:
        flat.push(name, headers[name]!)
    }
  }
  if (!Cookies.isEmpty(response.cookies)) {
    for (const cookie of Cookies.toSetCookieHeaders(response.cookies)) flat.push("set-cookie", cookie)
  }
  return flat
}

const write = (
  exchange: UwsExchange,
  request: HttpServerRequest,
  response: Response.HttpServerResponse
): Effect.Effect<unknown, HttpServerError> => {
  const { body, status } = response
  const flat = flatHeaders(exchange, response)
  if (request.method === "HEAD") {
    const length = response.headers["content-length"]
    exchange.respondHead(status, flat, length === undefined || Response.omitsBody(response) ? undefined : Number(length))
    return cancelBody(response)
  }
  if (Response.omitsBody(response)) {
    exchange.respond(status, flat, "")
    return cancelBody(response)
  }
  switch (body._tag) {
    case "Empty":
      exchange.respond(status, flat, "")
      return Effect.void
    case "Uint8Array":
      exchange.respond(status, flat, body.text ?? body.body)
      return exchange.finished ? Effect.void : awaitFinish(exchange)
    case "Stream":
      return writeStream(exchange, response, flat, Stream.orDie(body.stream), body.contentLength)
    case "FormData": {
      const web = new globalThis.Response(body.formData)
      web.headers.forEach((value, name) => flat.push(name, value))
      return writeStream(exchange, response, flat, fromWeb(request, response, web.body))
    }
    case "Raw":
      return writeRaw(exchange, request, response, flat, body.body)
  }
}

const writeRaw = (
  exchange: UwsExchange,
  request: HttpServerRequest,
  response: Response.HttpServerResponse,
  flat: Array<string>,
  raw: unknown
): Effect.Effect<unknown, HttpServerError> => {
  if (isDirectBody(raw)) {
    return Effect.tapCause(Effect.interruptible(raw.writeTo(exchange, response.status, flat)), handleCause(exchange, response))
  }
  if (raw === null || raw === undefined || typeof raw === "string" || raw instanceof Uint8Array) {
    exchange.respond(response.status, flat, raw ?? "")
    return exchange.finished ? Effect.void : awaitFinish(exchange)
  }
  if (raw instanceof globalThis.Response) {
    raw.headers.forEach((value, name) => {
      if (!ownHeaders.has(name)) flat.push(name, value)
    })
    return writeStream(exchange, response, flat, fromWeb(request, response, raw.body))
  }
  if (raw instanceof ReadableStream) {
    return writeStream(exchange, response, flat, fromWeb(request, response, raw as ReadableStream<Uint8Array>))
  }
  if (raw instanceof Readable) {
    return writeStream(exchange, response, flat, fromWeb(request, response, Readable.toWeb(raw) as ReadableStream<Uint8Array>))
  }
  throw new TypeError("This raw response body cannot be sent: give text, bytes, a stream, a Response or a DirectBody")
}

const ownHeaders = new Set(["content-length", "transfer-encoding", "keep-alive", "connection"])

const fromWeb = (
  request: HttpServerRequest,
  response: Response.HttpServerResponse,
  body: ReadableStream<Uint8Array> | null
): Stream.Stream<Uint8Array, never> =>
  body === null ? Stream.empty : Stream.orDie(Stream.fromReadableStream({
    evaluate: () => body,
    onError: (cause) => new HttpServerError({
      reason: new ResponseError({ request, response, description: "the response body failed while it was sent", cause })
    })
  }))

/** Runs the body into the exchange. A cut stream ends as interrupted: success here would be billed as complete. */
const writeStream = (
  exchange: UwsExchange,
  response: Response.HttpServerResponse,
  flat: ReadonlyArray<string>,
  stream: Stream.Stream<Uint8Array, never>,
  length?: number
): Effect.Effect<unknown, HttpServerError> => {
  if (length === undefined) exchange.start(response.status, flat)
  else exchange.startSized(response.status, flat, length)
  let waiting: ((effect: Effect.Effect<void>) => void) | undefined
  exchange.onDrain(() => {
    const resume = waiting
    waiting = undefined
    resume?.(Effect.void)
  })
  const drained = Effect.callback<void>((resume) => {
    waiting = resume
  })
  return stream.pipe(
    Stream.runForEachArray((chunks) => {
      let taken = true
      for (const chunk of chunks) taken = exchange.write(chunk)
      if (taken) return Effect.void
      // Closed: the abort has interrupted this fiber or is about to.
      return exchange.closed ? Effect.interrupt : drained
    }),
    Effect.interruptible,
    Effect.matchCauseEffect({
      onFailure: handleCause(exchange, response),
      onSuccess: () => {
        if (exchange.closed) return Effect.interrupt
        exchange.end()
        return exchange.finished ? Effect.void : awaitFinish(exchange)
      }
    })
  )
}

/** Waits until the client has taken everything; the abort of the exchange interrupts it. */
const awaitFinish = (exchange: UwsExchange): Effect.Effect<void> =>
  Effect.interruptible(Effect.callback<void>((resume) => {
    exchange.onFinish(() => resume(exchange.aborted ? Effect.interrupt : Effect.void))
  }))

const cancelBody = (response: Response.HttpServerResponse): Effect.Effect<void> => {
  const raw = response.body._tag === "Raw" ? response.body.body : undefined
  if (raw instanceof Readable) return Effect.sync(() => void raw.destroy())
  if (raw instanceof ReadableStream) return Effect.ignore(Effect.promise(() => raw.cancel()))
  return Effect.void
}

const handleCause = (exchange: UwsExchange, original: Response.HttpServerResponse) => <E>(cause: Cause.Cause<E>) =>
  Effect.flatMap(causeResponse(cause), ([response, reported]) => {
    const started = exchange.started
    if (!exchange.closed) {
      // Ending a started response normally would make a partial body look complete.
      if (started) exchange.close()
      else exchange.respond(response.status, [], "")
    }
    return Effect.failCause(started ? Cause.combine(cause, Cause.die(original)) : reported)
  })
