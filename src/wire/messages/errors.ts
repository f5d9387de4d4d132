/** Errors of the messages format: the vendor's vocabulary by status, with our code beside it. */
import type { UpstreamErrorBody } from "#actors/request/ports/Face.ts"
import { merged, type ClientError, vendorOf } from "#src/wire/errorObject.ts"
import * as Json from "#src/wire/json/json.ts"
import type { UpstreamCodec } from "#src/wire/WireFormat.ts"

/** The vendor's name of a status. */
const typeOfStatus = (status: number): string => {
  switch (status) {
    case 401: return "authentication_error"
    case 402: return "billing_error"
    case 403: return "permission_error"
    case 404: return "not_found_error"
    case 413: return "request_too_large"
    case 429: return "rate_limit_error"
    case 504: return "timeout_error"
    case 529: return "overloaded_error"
    default: return status < 500 ? "invalid_request_error" : "api_error"
  }
}

const statuses: Readonly<Record<string, number>> = {
  invalid_request_error: 400, authentication_error: 401, billing_error: 402, permission_error: 403, not_found_error: 404,
  request_too_large: 413, rate_limit_error: 429, api_error: 500, timeout_error: 504, overloaded_error: 529
}

export const errorBody = (error: ClientError): string => {
  const vendor = vendorOf(error, ["messages"])
  const requestId = vendor === null ? null : error.upstream?.requestId ?? null
  return JSON.stringify({
    type: "error",
    error: merged({ type: typeOfStatus(error.status), message: error.message, code: error.code }, vendor, error.extra),
    ...(requestId === null ? {} : { request_id: requestId })
  })
}

/** The one frame that ends a broken stream; nothing follows it, as with the vendor. */
export const errorFrames = (error: ClientError): string => `event: error\ndata: ${errorBody(error)}\n\n`

/** `{type:"error", error:{type, message}}`, and the looser `{error:{...}}` and `{error:"text"}` of compatible vendors. */
export const errorOf: UpstreamCodec["readError"] = (body): UpstreamErrorBody | null => {
  const error = body["error"]
  if (typeof error === "string" && error !== "") return { message: error, type: null, code: null, status: null }
  if (!Json.isRecord(error)) return null
  const { type, code, message, status } = error
  return {
    message: typeof message === "string" ? message : "The upstream reported an error without a message.",
    type: typeof type === "string" ? type : null,
    code: typeof code === "string" ? code : null,
    status: typeof status === "number" ? status : typeof code === "number" ? code : typeof type === "string" ? Json.ownValue(statuses, type) ?? null : null,
    ...(typeof message === "string" ? { own: error } : {}),
    ...(typeof body["request_id"] === "string" ? { requestId: body["request_id"] } : {})
  }
}
