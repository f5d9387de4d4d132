/** How a client of this format is told of an error (decisions 5 and 9). */
import type { PublicError } from "#schemas/errors.ts"

/** google.rpc.Code names by HTTP status. */
const statuses: Readonly<Record<number, string>> = {
  400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 409: "ABORTED", 412: "FAILED_PRECONDITION",
  416: "OUT_OF_RANGE", 429: "RESOURCE_EXHAUSTED", 499: "CANCELLED", 500: "INTERNAL", 501: "UNIMPLEMENTED", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED"
}

type Failure = Pick<PublicError, "status" | "code" | "message"> & { readonly retryAfterSeconds: number | null; readonly extra?: PublicError["extra"] }

export const errorBody = (error: Failure): string => {
  const extra = Object.entries(error.extra ?? {})
  // The vendor's ErrorInfo maps text to text.
  const metadata = extra.length === 0
    ? {}
    : { metadata: Object.fromEntries(extra.map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value) ?? ""])) }
  return JSON.stringify({
    error: {
      code: error.status,
      message: error.message,
      status: statuses[error.status] ?? (error.status < 500 ? "INVALID_ARGUMENT" : "INTERNAL"),
      details: [
        { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: error.code, domain: "gateway", ...metadata },
        ...(error.retryAfterSeconds === null ? [] : [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: `${error.retryAfterSeconds}s` }])
      ]
    }
  })
}

/** An error object and nothing after it: the format has no terminator. */
export const errorFrames = (error: Failure): string => `data: ${errorBody(error)}\n\n`
