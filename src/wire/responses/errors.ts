/** Errors of the responses format: the common body, `response.failed` in a stream, and the vendor's own in any of their shapes. */
import type { UpstreamErrorBody } from "#actors/request/ports/Face.ts"
import type { PublicError } from "#schemas/errors.ts"
import { common, commonInStream, type ClientError } from "#src/wire/errorObject.ts"
import * as Json from "#src/wire/json/json.ts"
import { failed } from "#src/wire/responses/wholeResponse.ts"
import type { Progress } from "#src/wire/WireFormat.ts"

/** The common error object; extra members follow message, type and code. */
export const errorBody = (error: PublicError): string => JSON.stringify({ error: common(error) })

/** The one terminal event of a stream that broke. `response` is the JSON text of the failed response. */
export const failedEvent = (sequence: number, response: string): string =>
  `event: response.failed\ndata: {"type":"response.failed","sequence_number":${sequence},"response":${response}}\n\n`

/** The id of a response that never named itself. */
export const unknownId = "resp_failed"

/** A failed response of which nothing is known. */
const unknownResponse = (error: ClientError): string =>
  JSON.stringify({
    id: unknownId, object: "response", status: "failed", error: commonInStream(error), incomplete_details: null, output: [], usage: null
  })

export const errorFrames = (error: PublicError, after: Progress | null = null): string => {
  if (after === null) return failedEvent(0, unknownResponse(error))
  const { id } = after.answer
  return failedEvent(after.next, failed(typeof id === "string" ? id : unknownId, after.answer, error, null, null))
}

/** The error of a body, a failed response or an event of type `error` (flat or nested); null when there is none. */
export const errorOf = (value: Readonly<Record<string, unknown>>): UpstreamErrorBody | null => {
  const error = value["error"]
  if (typeof error === "string" && error !== "") return { message: error, type: null, code: null, status: statusOf(value) }
  if (Json.isRecord(error)) return read(error, statusOf(value))
  if (value["type"] === "error") {
    // The flat event: what belongs to the frame is no part of the error.
    const { sequence_number: _sequence, type: _type, ...flat } = value
    return { ...read(value, null), ...ownOf(flat) }
  }
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
    status: typeof code === "number" ? code : statusOf(error) ?? outer,
    ...(typeof error["param"] === "string" ? { param: error["param"] } : {}),
    ...ownOf(error)
  }
}

const ownOf = (error: Readonly<Record<string, unknown>>): Pick<UpstreamErrorBody, "own"> => typeof error["message"] === "string" ? { own: error } : {}

const statusOf = (value: Readonly<Record<string, unknown>>): number | null =>
  typeof value["status_code"] === "number" ? value["status_code"] : typeof value["status"] === "number" ? value["status"] : null
