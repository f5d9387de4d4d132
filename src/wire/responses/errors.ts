/** Errors of the responses format: the common body, `response.failed` in a stream (decisions 9), and the vendor's own in any of their shapes. */
import type { UpstreamErrorBody } from "#actors/ports/Face.ts"
import type { PublicError } from "#schemas/errors.ts"
import * as Json from "#src/wire/json.ts"

/** What of an error a client's stream is told. */
export interface StreamError {
  readonly code: string
  readonly message: string
}

/** The common error object; extra members follow message, type and code. */
export const errorBody = (error: PublicError): string =>
  JSON.stringify({ error: { message: error.message, type: error.type, code: error.code, ...error.extra } })

/** The one terminal event of a stream that broke. `response` is the JSON text of the failed response. */
export const failedEvent = (sequence: number, response: string): string =>
  `event: response.failed\ndata: {"type":"response.failed","sequence_number":${sequence},"response":${response}}\n\n`

/** A failed response of which nothing is known but its id. */
export const failedResponse = (id: string, error: StreamError): string =>
  JSON.stringify({
    id, object: "response", status: "failed", error: { code: error.code, message: error.message }, incomplete_details: null, output: [], usage: null
  })

export const errorFrames = (error: PublicError): string => failedEvent(0, failedResponse("resp_failed", error))

/** The error of a body, a failed response or an event of type `error` (flat or nested); null when there is none. */
export const errorOf = (value: Readonly<Record<string, unknown>>): UpstreamErrorBody | null => {
  const error = value["error"]
  if (typeof error === "string" && error !== "") return { message: error, type: null, code: null, status: statusOf(value) }
  if (Json.isRecord(error)) return read(error, statusOf(value))
  if (value["type"] === "error") return read(value, null)
  const response = value["response"]
  if (value["type"] === "response.failed" || value["type"] === "response.cancelled") {
    return (Json.isRecord(response) ? errorOf(response) : null) ?? { message: "The upstream reported a failed response.", type: null, code: null, status: null }
  }
  return value["status"] === "failed" || value["status"] === "cancelled"
    ? { message: `The upstream reported a ${value["status"]} response.`, type: null, code: null, status: null }
    : null
}

const read = (error: Readonly<Record<string, unknown>>, outer: number | null): UpstreamErrorBody => {
  const { code, message, type } = error
  return {
    message: typeof message === "string" && message !== "" ? message : "The upstream reported an error without a message.",
    type: typeof error["error_type"] === "string" ? error["error_type"] : typeof type === "string" && type !== "error" ? type : null,
    code: typeof code === "string" ? code : null,
    status: typeof code === "number" ? code : statusOf(error) ?? outer
  }
}

const statusOf = (value: Readonly<Record<string, unknown>>): number | null =>
  typeof value["status_code"] === "number" ? value["status_code"] : typeof value["status"] === "number" ? value["status"] : null
