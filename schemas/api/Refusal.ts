/**
 * The body of a refused management call: always `{error:{message, type, code, details?}, requestId}`. Services never build
 * bodies; the Management middleware renders this.
 */
import * as Schema from "effect/Schema"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"

/** One wrong field: dotted path, `body` when the body as a whole is meant. */
export const FieldIssue = Schema.Struct({ field: Schema.String, message: Schema.String })
export interface FieldIssue extends Schema.Schema.Type<typeof FieldIssue> {}

export const ErrorBody = Schema.Struct({
  error: Schema.Struct({
    message: Schema.String,
    type: Schema.Literals(["invalid_request", "not_found", "conflict", "server_error"]),
    code: Schema.String,
    details: Schema.optionalKey(Schema.Array(FieldIssue))
  }),
  requestId: Schema.String
})
export interface ErrorBody extends Schema.Schema.Type<typeof ErrorBody> {}

const errorAt = (status: number, description: string) => ErrorBody.annotate({ identifier: `ManagementError${status}`, description }).pipe(HttpApiSchema.status(status))

/** The refusals every endpoint may answer, for the API description. */
export const errorResponses = [
  errorAt(400, "The body, the query or a rule of this endpoint was not met; `details` names the fields."),
  errorAt(401, "Authentication required."),
  errorAt(403, "The credential does not allow this call, or a browser sent it from another origin (AUTH_CSRF)."),
  errorAt(404, "No such record or route."),
  errorAt(405, "The path exists, but not for this method; see the Allow header."),
  errorAt(409, "The record stands in conflict with another one."),
  errorAt(410, "The value existed once and cannot be recovered."),
  errorAt(413, "The body is larger than 1 MiB."),
  errorAt(415, "The body is not application/json."),
  errorAt(422, "What is asked for cannot be done on this machine."),
  errorAt(429, "Too many attempts; see the Retry-After header."),
  errorAt(500, "Unexpected failure; the log holds the request id."),
  errorAt(503, "A store cannot be reached, or the gateway is starting or draining.")
]

type ErrorType = ErrorBody["error"]["type"]

interface Options {
  readonly code?: string
  readonly details?: ReadonlyArray<FieldIssue>
  readonly headers?: Readonly<Record<string, string>>
  /** Members beside `error` at the top of the body, such as `needsSetup`. */
  readonly extra?: Readonly<Record<string, Schema.Json>>
  /** More members of the error object, such as `path`. */
  readonly errorExtra?: Readonly<Record<string, Schema.Json>>
}

/** An expected refusal; plain for the reason of `PublicError`. `requestId` is filled by the renderer. */
export class Refusal implements ErrorBody {
  readonly _tag = "Refusal"
  readonly status: number
  readonly error: ErrorBody["error"]
  readonly requestId = ""
  readonly headers: Readonly<Record<string, string>>
  readonly extra: Readonly<Record<string, Schema.Json>>
  readonly errorExtra: Readonly<Record<string, Schema.Json>>
  constructor(status: number, type: ErrorType, defaultCode: string, message: string, options?: Options) {
    this.status = status
    this.error = {
      message, type, code: options?.code ?? defaultCode,
      ...(options?.details === undefined ? {} : { details: options.details })
    }
    this.headers = options?.headers ?? {}
    this.extra = options?.extra ?? {}
    this.errorExtra = options?.errorExtra ?? {}
  }
}

export const badRequest = (message: string, options?: Options): Refusal =>
  new Refusal(400, "invalid_request", "bad_request", message, options)

/** The form of a failed schema, for rules that a schema cannot say. */
export const invalidFields = (details: ReadonlyArray<FieldIssue>): Refusal => badRequest("Invalid request", { details })

/** Fields that are known and do not act in this release: nothing is stored, so that no client relies on them. */
export const notSupportedYet = (details: ReadonlyArray<FieldIssue>): Refusal =>
  badRequest(`Not supported yet: ${details.map(({ field }) => field).join(", ")}; see GET /api/system/capabilities`, { code: "not_supported_yet", details })

export const invalidField = (field: string, message: string): Refusal => invalidFields([{ field, message }])

export const unauthorized = (message = "Authentication required", options?: Options): Refusal =>
  new Refusal(401, "invalid_request", "AUTH_001", message, options)

export const forbidden = (message: string, options?: Options): Refusal =>
  new Refusal(403, "invalid_request", "AUTH_004", message, options)

export const notFound = (message: string, options?: Options): Refusal =>
  new Refusal(404, "not_found", "not_found", message, options)

export const methodNotAllowed = (method: string, allow: ReadonlyArray<string>): Refusal =>
  new Refusal(405, "invalid_request", "method_not_allowed", `${method} is not supported here; use ${allow.join(", ")}`, {
    headers: { allow: allow.join(", ") }
  })

export const conflict = (message: string, options?: Options): Refusal =>
  new Refusal(409, "conflict", "conflict", message, options)

export const gone = (message: string, options?: Options): Refusal =>
  new Refusal(410, "invalid_request", "gone", message, options)

export const payloadTooLarge = (limitBytes: number): Refusal =>
  new Refusal(413, "invalid_request", "payload_too_large", `The body is larger than ${limitBytes} bytes`, {
    headers: { connection: "close" }
  })

/** The request is right, and what it asks for cannot be done here. */
export const unprocessable = (message: string, options?: Options): Refusal =>
  new Refusal(422, "invalid_request", "unprocessable", message, options)

export const unsupportedMediaType = (message = "Send the body as content-type application/json"): Refusal =>
  new Refusal(415, "invalid_request", "unsupported_media_type", message)

/** `retryAfterSeconds` is rounded up and at least 1. */
export const tooManyRequests = (message: string, retryAfterSeconds: number, options?: Options): Refusal =>
  new Refusal(429, "invalid_request", "rate_limit_exceeded", message, {
    ...options,
    headers: { ...options?.headers, "retry-after": String(Math.max(1, Math.ceil(retryAfterSeconds))) }
  })

export const internal = (): Refusal =>
  new Refusal(500, "server_error", "internal_server_error", "Internal error; the log holds the request id")

export const unavailable = (message: string, options?: Options): Refusal =>
  new Refusal(503, "server_error", "service_unavailable", message, options)

export const unknownRoute = (method: string, path: string): Refusal =>
  new Refusal(404, "not_found", "unknown_route", `Unknown route: ${method} ${path.slice(0, 512)}`, {
    errorExtra: { path: path.slice(0, 2048) }
  })
