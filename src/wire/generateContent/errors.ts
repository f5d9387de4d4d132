/** How errors are written for a client of this format. */
import { type Members, type ClientError, vendorOf } from "#src/wire/errorObject.ts"

/** google.rpc.Code names by HTTP status. */
const statuses: Readonly<Record<number, string>> = {
  400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 402: "FAILED_PRECONDITION", 403: "PERMISSION_DENIED", 404: "NOT_FOUND",
  408: "DEADLINE_EXCEEDED", 409: "ABORTED", 412: "FAILED_PRECONDITION", 416: "OUT_OF_RANGE", 429: "RESOURCE_EXHAUSTED", 499: "CANCELLED",
  500: "INTERNAL", 501: "UNIMPLEMENTED", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED", 529: "UNAVAILABLE"
}

const statusWord = (status: number): string => statuses[status] ?? (status < 500 ? "INVALID_ARGUMENT" : "INTERNAL")

export const errorBody = (error: ClientError): string => {
  const vendor = vendorOf(error, ["generateContent"])
  return JSON.stringify({ error: vendor === null ? ours(error) : withDetails(vendor, error) })
}

const ours = (error: ClientError): Members => ({
  code: error.status,
  message: error.message,
  status: statusWord(error.status),
  details: [infoOf(error), ...retryOf(error)]
})

/** The vendor's own error; what the gateway knows beside it is one more detail. */
const withDetails = (vendor: Members, error: ClientError): Members => {
  const { details } = vendor
  const known: ReadonlyArray<unknown> = Array.isArray(details) ? details : []
  const added = [
    ...(error.extra === null ? [] : [infoOf(error)]),
    ...(known.some((detail) => JSON.stringify(detail).includes("RetryInfo")) ? [] : retryOf(error))
  ]
  return {
    code: error.status, status: statusWord(error.status), ...vendor,
    ...(added.length === 0 ? {} : { details: [...known, ...added] })
  }
}

/** The vendor's ErrorInfo maps text to text. */
const infoOf = ({ code, extra }: ClientError): Members => {
  const said = Object.entries(extra ?? {}).map(([name, value]): [string, string] => [name, typeof value === "string" ? value : JSON.stringify(value) ?? ""])
  return {
    "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: code, domain: "gateway",
    ...(said.length === 0 ? {} : { metadata: Object.fromEntries(said) })
  }
}

const retryOf = ({ retryAfterSeconds }: ClientError): ReadonlyArray<Members> =>
  retryAfterSeconds === null ? [] : [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: `${retryAfterSeconds}s` }]

/** An error object and nothing after it: the format has no terminator. */
export const errorFrames = (error: ClientError): string => `data: ${errorBody(error)}\n\n`
