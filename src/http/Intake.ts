/** How every inference endpoint with a JSON body begins: draining, key and policy, body, JSON. Synchronous where it can be. */
import * as Standing from "#actors/lease/standing.ts"
import * as Errors from "#schemas/errors.ts"
import { PublicError } from "#schemas/errors.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import * as GatewayHeaders from "#src/http/GatewayHeaders.ts"
import type { RequestTags } from "#src/http/GatewayHeaders.ts"
import * as InferenceCall from "#src/http/InferenceCall.ts"
import * as LeaseErrors from "#src/http/leaseErrors.ts"
import * as RouteReport from "#src/http/RouteReport.ts"
import { Blocked } from "#src/routing/unavailable.ts"
import type { Exchange } from "#src/server/Exchange.ts"
import * as JsonBounds from "#src/structures/jsonBounds.ts"
import * as Json from "#src/wire/json.ts"

export interface IntakeServices {
  readonly admission: InferenceCall.AdmissionServices
  /** Largest body in bytes. */
  readonly maxBodyBytes: () => number
  /** True once a shutdown began: new work is refused. */
  readonly draining: () => boolean
  readonly refused: (endpoint: string, tags: RequestTags, error: PublicError) => void
}

/** Where a request came in, as far as its beginning depends on it. */
export interface Gate {
  /** Path for the ledger and metrics. */
  readonly endpoint: string
  /** What a key's `allowedEndpoints` calls it. */
  readonly category: string
  readonly errorBody: (error: PublicError) => string
  /** The key that stands in the path. */
  readonly token?: ((path: string) => string | null) | undefined
  /** True where the lease of a managed key is confirmed before each upstream call; elsewhere such a key is refused. */
  readonly fenced?: boolean | undefined
}

/** An admitted request. */
export interface Taken {
  readonly tags: RequestTags
  readonly key: ApiKey | null
  readonly body: Buffer
  readonly parsed: Record<string, unknown>
  /** Ends the exchange with an error in the client's words, and counts it. */
  readonly refuse: (error: PublicError) => void
}

/** Calls `done` once, with a request that may be served; what may not is answered here. Register `onAbort` first. */
export const take = (exchange: Exchange, services: IntakeServices, gate: Gate, done: (taken: Taken) => void): void => {
  const tags = InferenceCall.tagsOf(exchange, services.admission)
  const refuse = (error: PublicError): void => {
    services.refused(gate.endpoint, tags, error)
    if (exchange.closed) return
    const headers = GatewayHeaders.ofError(tags, error, 0)
    const explains = error instanceof Blocked && exchange.header("x-gateway-explain") === "true"
    exchange.respond(error.status, explains ? [...headers, "X-Gateway-Trace", RouteReport.headerOfBlocked(error)] : headers, gate.errorBody(error))
  }
  if (services.draining()) {
    refuse(Errors.make("shutting_down", "The gateway is shutting down; repeat the request.", { retryAfterSeconds: 1 }))
    return
  }
  const head = gate.token === undefined ? exchange : withToken(exchange, gate.token(exchange.path))
  InferenceCall.admit(head, gate.category, services.admission, (key) => {
    if (key instanceof PublicError) {
      refuse(key)
      return
    }
    if (gate.fenced !== true && key !== null && Standing.isManaged(key)) {
      refuse(LeaseErrors.unsupportedRoute)
      return
    }
    const encoding = exchange.header("content-encoding")
    if (encoding !== undefined && encoding !== "identity") {
      refuse(Errors.make("unsupported_media_type", `Content-Encoding '${encoding.slice(0, 40)}' is not accepted: send the body uncompressed.`))
      return
    }
    exchange.readBody(services.maxBodyBytes(), (bytes, failure) => {
      if (bytes === null) {
        if (failure !== "aborted") refuse(bodyError(failure, services.maxBodyBytes()))
        return
      }
      const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
      const parsed = parse(body)
      if (parsed instanceof PublicError) refuse(parsed)
      else done({ tags, key, body, parsed, refuse })
    })
  })
}

/** Why a body may not be parsed at all; null for all but hostile ones. */
export const excessive = (body: Buffer): PublicError | null => {
  const excess = JsonBounds.excessOf(body)
  return excess === null ? null : Errors.make("bad_request", `The request body is refused: ${JsonBounds.describe(excess)}.`, { extra: { param: "body" } })
}

const parse = (body: Buffer): Record<string, unknown> | PublicError => {
  const refusal = excessive(body)
  if (refusal !== null) return refusal
  let value: unknown
  try {
    value = JSON.parse(body.toString("utf8"))
  } catch (cause) {
    return Errors.make("invalid_json", `The request body is not valid JSON: ${cause instanceof Error ? cause.message.slice(0, 200) : ""}`, { extra: { param: "body" } })
  }
  return Json.isRecord(value) ? value : Errors.make("bad_request", "The request body must be a JSON object.", { extra: { param: "body" } })
}

/** The same head with the path's token as its key; a broken token is a wrong key. */
export const withToken = (head: InferenceCall.CallHead, token: string | null): InferenceCall.CallHead => ({
  query: "",
  remoteAddress: head.remoteAddress,
  header: (name) => name === "authorization" ? `Bearer ${token ?? ""}` : head.header(name)
})

const bodyError = (failure: "too-large" | "timeout" | "aborted" | null, limit: number): PublicError =>
  failure === "too-large"
    ? Errors.make("payload_too_large", `The request body is larger than ${limit} bytes (setting maxBodySizeMb, MAX_BODY_SIZE_BYTES).`)
    : Errors.make("request_timeout", "The request body did not arrive in time.")
