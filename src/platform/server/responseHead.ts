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

/** Names the header that would split the head into a second response; off the fast path. */
const refuse = (headers: ReadonlyArray<string>): never => {
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]
    const value = headers[i + 1]
    if (typeof value !== "string" || typeof name !== "string") {
      throw new TypeError(`Response header ${JSON.stringify(name)} is not text: give name and value as strings`)
    }
    if (breaksHead.test(value) || breaksHead.test(name)) {
      throw new TypeError(`Response header ${JSON.stringify(name)} contains a line break or NUL: remove it before start or respond`)
    }
  }
  throw new TypeError("Response headers must be pairs of name and value")
}

const isText = (value: unknown): boolean => typeof value === "string"

/** Throws for a header that would split the head; answers an upper bound of the bytes that the head takes on the wire. */
export const checkHead = (headers: ReadonlyArray<string>): number => {
  const text = headers.join("")
  if (breaksHead.test(text) || headers.length % 2 === 1 || !headers.every(isText)) refuse(headers)
  return FIXED_HEAD_BYTES + text.length + 2 * headers.length
}

/**
 * All headers as one native call: the value of the first one carries the rest of the head in its own lines. Each call into the
 * native side costs as much as ten concatenations, and a head has up to twenty headers.
 */
export const headTail = (headers: ReadonlyArray<string>): string => {
  let text = headers[1]!
  for (let i = 2; i < headers.length; i += 2) text += `\r\n${headers[i]!}: ${headers[i + 1]!}`
  return text
}

/** Status line, Date, Content-Length or Transfer-Encoding, Connection and the blank line. */
const FIXED_HEAD_BYTES = 192
