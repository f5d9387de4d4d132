/** From whatever a management call ended with to the bytes of its reply. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import { HttpApiSchemaError } from "effect/http-api/HttpApiError"
import * as HttpBody from "effect/http/HttpBody"
import * as HttpServerError from "effect/http/HttpServerError"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as SchemaIssue from "effect/SchemaIssue"
import * as Refusal from "#schemas/api/Refusal.ts"
import { PublicError } from "#schemas/errors.ts"
import * as StatusReason from "#schemas/statusReason.ts"
import * as ContentCoding from "#src/platform/server/contentCoding.ts"
import { NO_ROOM } from "#src/platform/server/Exchange.ts"
import { errorBody } from "#src/wire/chatCompletions/errors.ts"

/** Bytes of a management request body. */
export const BODY_MAX = 1024 * 1024
/** Levels of nesting of a management request body. */
export const DEPTH_MAX = 64

export const body = (refusal: Refusal.Refusal, requestId: string): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.jsonUnsafe(
    { error: { ...refusal.error, ...refusal.errorExtra }, ...refusal.extra, requestId },
    { status: refusal.status, headers: refusal.headers }
  )

/** What a refusal is called in a JSON-RPC frame. */
const frameCode = (status: number): number => {
  switch (StatusReason.of(status)) {
    case "credential":
    case "forbidden":
      return -32003
    case "rate-limit":
      return -32004
    case "unavailable":
      return -32000
    case "failed":
      return -32603
    default:
      return -32600
  }
}

/** The same refusal for clients that read JSON-RPC frames; which request it answers is not known. */
const frame = ({ error, headers, status }: Refusal.Refusal, requestId: string): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.jsonUnsafe(
    { jsonrpc: "2.0", id: null, error: { code: frameCode(status), message: error.message, data: { code: error.code, requestId, ...(error.details === undefined ? {} : { details: error.details.map((detail) => ({ ...detail })) }) } } },
    { status, headers }
  )

const typeOf = (status: number): string => {
  switch (StatusReason.of(status)) {
    case "credential":
      return "authentication_error"
    case "forbidden":
      return "permission_error"
    case "rate-limit":
      return "rate_limit_error"
    default:
      return StatusReason.isServers(status) ? "server_error" : "invalid_request_error"
  }
}

/** The same refusal for clients of the inference surface, which show the message alone: it names each wrong field. */
const client = ({ error: { code, details = [], message, type }, errorExtra, headers, status }: Refusal.Refusal): HttpServerResponse.HttpServerResponse => {
  const [first] = details
  const said = first === undefined ? message : details.map((issue) => `Field '${issue.field}': ${issue.message}`).join("; ")
  // An unknown route has the same words on every path.
  const error = new PublicError(code, status, code === "unknown_route" ? type : typeOf(status), said, null, first === undefined ? errorExtra : { param: first.field })
  return HttpServerResponse.text(errorBody(error), { status, headers, contentType: "application/json" })
}

/** How errors are written: for the management API, for frames of a protocol, for clients of inference. */
export const forms = { management: body, frames: frame, client }

const format = SchemaIssue.makeFormatterStandardSchemaV1()
const messages: Readonly<Record<string, string>> = { "Expected no excess property": "Unknown field", "Missing key": "Required" }

/** `details` of a failed schema: dotted path, `body` (or `query`) when the whole is meant; never the offending value. */
const ofSchema = (error: HttpApiSchemaError): Refusal.Refusal => {
  const whole = error.kind === "Query" ? "query" : "body"
  const byField = new Map<string, string>()
  for (const issue of format(error.cause.issue).issues) {
    const path = (issue.path ?? []).map((part) => String(typeof part === "object" ? part.key : part)).join(".")
    const field = path === "" ? whole : path
    if (!byField.has(field)) byField.set(field, messages[issue.message] ?? issue.message)
  }
  const details = Array.from(byField, ([field, message]) => ({ field, message }))
  const badJson = error.kind === "Payload" && details.length === 1 && details[0]?.message === "Expected a valid JSON body"
  return Refusal.badRequest("Invalid request", badJson ? { code: "invalid_json", details } : { details })
}

/** The client's error for a failed call; `defect` is set when an operator must read the log. */
export const ofCause = (cause: Cause.Cause<unknown>): { readonly refusal: Refusal.Refusal; readonly defect: boolean } => {
  for (const reason of cause.reasons) {
    const error = Cause.isFailReason(reason) ? reason.error : Cause.isDieReason(reason) ? reason.defect : undefined
    if (error instanceof Refusal.Refusal) return { refusal: error, defect: error.status === 500 }
    if (HttpApiSchemaError.is(error) && error.kind !== "Body" && error.kind !== "ResponseHeaders") {
      return { refusal: ofSchema(error), defect: false }
    }
    if (HttpServerError.isHttpServerError(error) && error.reason._tag === "RequestParseError") {
      if (error.reason.description === NO_ROOM) {
        return { refusal: Refusal.unavailable(`Repeat the request in a moment: ${NO_ROOM}`, { headers: { "retry-after": "1" } }), defect: false }
      }
      return error.reason.reason === "BodyTooLarge"
        ? { refusal: Refusal.payloadTooLarge(BODY_MAX), defect: false }
        : { refusal: Refusal.badRequest(`The request body could not be read${error.reason.description === undefined ? "" : `: ${error.reason.description}`}`), defect: false }
    }
  }
  return { refusal: Refusal.internal(), defect: true }
}

/** What a change that was made says beside its answer: each node that acts on this version, or a later one, acts on the change. */
export const receipt = ({ status }: HttpServerResponse.HttpServerResponse, version: number): Readonly<Record<string, string>> =>
  StatusReason.isOk(status) ? { "x-gateway-configuration-version": String(version) } : {}

/** A large answer in the coding that its client takes. What a handler encoded itself, or streams, stays as it is. */
export const compressed = (response: HttpServerResponse.HttpServerResponse, accepted: string | undefined): Effect.Effect<HttpServerResponse.HttpServerResponse> => {
  const { body } = response
  if (body._tag !== "Uint8Array" || body.contentLength < ContentCoding.COMPRESSED_FROM || response.headers["content-encoding"] !== undefined) return Effect.succeed(response)
  const coding = ContentCoding.wanted(accepted)
  const varied = HttpServerResponse.setHeader(response, "vary", "accept-encoding")
  if (coding === null) return Effect.succeed(varied)
  return Effect.callback((resume) => ContentCoding.compress(body.body, coding, (bytes) => resume(Effect.succeed(bytes === null ? varied
    : HttpServerResponse.setHeader(HttpServerResponse.setBody(varied, HttpBody.uint8Array(bytes, body.contentType)), "content-encoding", coding)))))
}

/** True when a JSON text nests deeper than DEPTH_MAX; looks at brackets only, so that no parser has to survive it first. */
export const isTooDeep = (text: string): boolean => {
  let depth = 0
  let quoted = false
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (quoted) {
      if (code === 92) i++
      else if (code === 34) quoted = false
    } else if (code === 34) quoted = true
    else if (code === 123 || code === 91) {
      if (++depth > DEPTH_MAX) return true
    } else if (code === 125 || code === 93) depth--
  }
  return false
}
