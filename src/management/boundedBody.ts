/** Bodies of the management API: JSON, bounded in bytes and depth. */
import * as ByteSize from "effect/ByteSize"
import * as Effect from "effect/Effect"
import * as HttpIncomingMessage from "effect/http/HttpIncomingMessage"
import type * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as Refusal from "#schemas/api/Refusal.ts"
import * as Render from "#src/management/render.ts"
import * as ContentCoding from "#src/platform/server/contentCoding.ts"

const isJson = (contentType: string | undefined): boolean =>
  contentType === undefined || (contentType.split(";")[0] as string).trim().toLowerCase() === "application/json"

/** The text of a request's body, bounded in bytes and depth. */
export const boundedBody = Effect.fnUntraced(function*(request: HttpServerRequest.HttpServerRequest) {
  if (Number(request.headers["content-length"] ?? "0") > Render.BODY_MAX) return yield* Effect.fail(Refusal.payloadTooLarge(Render.BODY_MAX))
  if (!isJson(request.headers["content-type"])) return yield* Effect.fail(Refusal.unsupportedMediaType())
  const coded = request.headers["content-encoding"]
  if (coded !== undefined && ContentCoding.parse(coded) === null) {
    return yield* Effect.fail(Refusal.unsupportedMediaType(`Content-Encoding '${coded.slice(0, 40)}' is not accepted: send ${ContentCoding.accepted}`))
  }
  const text = yield* request.text
  if (Render.isTooDeep(text)) {
    return yield* Effect.fail(Refusal.invalidField("body", `Nested deeper than ${Render.DEPTH_MAX} levels`))
  }
  return text
}, Effect.provideService(HttpIncomingMessage.MaxBodySize, ByteSize.bytes(Render.BODY_MAX)))

/** The request with this text as its body. */
export const withBody = (request: HttpServerRequest.HttpServerRequest, text: string): HttpServerRequest.HttpServerRequest =>
  Object.create(request, { text: { value: Effect.succeed(text) } }) as HttpServerRequest.HttpServerRequest
