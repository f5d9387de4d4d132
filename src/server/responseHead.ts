/** Pure helpers for response heads. */
import { STATUS_CODES } from "node:http"

const lines = new Map<number, string>()

/** `404` to `404 Not Found`. Interim and impossible statuses throw: a client would wait for ever for a final one. */
export const statusLine = (status: number): string => {
  const known = lines.get(status)
  if (known !== undefined) return known
  if (!Number.isInteger(status) || status < 200 || status > 599) {
    throw new RangeError(`Response status ${status} is not a final status: use 200 to 599`)
  }
  const line = `${status} ${STATUS_CODES[status] ?? "Status"}`
  lines.set(status, line)
  return line
}

/** Responses that never carry a body, whatever the route gives. */
export const isBodyless = (method: string, status: number): boolean =>
  status === 204 || status === 304 || status === 205 || method === "HEAD"

const breaksHead = /[\r\n\0]/

/** Throws for a value that would split the head into a second response. */
export const checkHeader = (name: string, value: string): void => {
  if (typeof value !== "string" || typeof name !== "string") {
    throw new TypeError(`Response header ${JSON.stringify(name)} is not text: give name and value as strings`)
  }
  if (breaksHead.test(value) || breaksHead.test(name)) {
    throw new TypeError(`Response header ${JSON.stringify(name)} contains a line break or NUL: remove it before start or respond`)
  }
}

/** Upper bound of the bytes that a head takes on the wire, framing and the native date header included. */
export const headBytes = (headers: ReadonlyArray<string>): number => {
  let chars = FIXED_HEAD_BYTES
  for (let i = 0; i < headers.length; i++) chars += headers[i]!.length + 2
  return chars
}

/** Status line, Date, Content-Length or Transfer-Encoding, Connection and the blank line. */
const FIXED_HEAD_BYTES = 192
