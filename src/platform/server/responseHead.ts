/** Pure helpers for response heads. */
import { http } from "#src/platform/structures/nodeHttp.ts"

const lines = new Map<number, string>()

/** `404` to `404 Not Found`. Interim and impossible statuses throw: a client would wait for ever for a final one. */
export const statusLine = (status: number): string => {
  const known = lines.get(status)
  if (known !== undefined) return known
  if (!Number.isInteger(status) || status < 200 || status > 599) {
    throw new RangeError(`Response status ${status} is not a final status: use 200 to 599`)
  }
  const line = `${status} ${http.STATUS_CODES[status] ?? "Status"}`
  lines.set(status, line)
  return line
}

/** Responses that never carry a body, whatever the route gives. */
export const isBodyless = (method: string, status: number): boolean =>
  status === 204 || status === 304 || status === 205 || method === "HEAD"

/** False for statuses that never have a length. */
export const hasLength = (status: number): boolean => status !== 204 && status !== 205 && status !== 304

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

/** Pieces of the head that is being joined; kept, so that a head allocates nothing but its text. */
const pieces: Array<string> = []

/** Beginnings of header lines by their names, which come again and again. */
const beginnings = new Map<string, string>()
const MOST_BEGINNINGS = 512

/** A line end and the name: half as many pieces are joined as with each of them alone. */
const beginningOf = (name: string): string => {
  const known = beginnings.get(name)
  if (known !== undefined) return known
  const made = `\r\n${name}: `
  if (beginnings.size < MOST_BEGINNINGS) beginnings.set(name, made)
  return made
}

/** Line ends in a text whose lines are ended by \r\n alone; -1 when it holds a NUL, or half of a line end. */
const lineEnds = (text: string): number => {
  if (text.includes("\0")) return -1
  let count = 0
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) {
    if (text.charCodeAt(at - 1) !== 13) return -1
    count++
  }
  for (let at = text.indexOf("\r"); at !== -1; at = text.indexOf("\r", at + 1)) if (text.charCodeAt(at + 1) !== 10) return -1
  return count
}

/**
 * All headers for one native call: the value of the first one carries the rest of the head in its own lines. Each call into the
 * native side costs as much as ten concatenations, and a head has up to twenty headers. Throws for a header that would split the head.
 * `from`: where the list begins; what stands before it leaves by another call.
 */
export const headTail = (headers: ReadonlyArray<string>, from = 0): string => {
  const { length } = headers
  if (length === from) return ""
  if (length % 2 === 1) return refuse(headers)
  let count = 0
  for (let i = from; i < length; i += 2) {
    const name = headers[i]!
    const value = headers[i + 1]!
    if (typeof name !== "string" || typeof value !== "string") return refuse(headers)
    if (i > from) pieces[count++] = beginningOf(name)
    pieces[count++] = value
  }
  pieces.length = count
  const text = pieces.join("")
  if (lineEnds(text) !== (length - from) / 2 - 1 || breaksHead.test(headers[from]!)) refuse(headers)
  return text
}

/** An upper bound of the bytes that a head takes on the wire. */
export const headBytes = (headers: ReadonlyArray<string>, tail: string): number =>
  headers.length === 0 ? FIXED_HEAD_BYTES : FIXED_HEAD_BYTES + headers[0]!.length + tail.length + 4

/** Most bytes of one response head, so that a head and its first bytes fit one cork. */
const MAX_HEAD_BYTES = 12 * 1024

/** `headBytes` of a list that begins at `from`, and the bytes of what stands before it; throws where a head is too long. */
export const boundedHeadBytes = (headers: ReadonlyArray<string>, from: number, tail: string, before: number): number => {
  const bytes = FIXED_HEAD_BYTES + before + (headers[from] ?? "").length + tail.length + 4
  if (bytes <= MAX_HEAD_BYTES) return bytes
  throw new RangeError(`Response head of ${bytes} bytes exceeds the limit of ${MAX_HEAD_BYTES}: send fewer or shorter headers`)
}

/** Status line, Date, Content-Length or Transfer-Encoding, Connection and the blank line. */
const FIXED_HEAD_BYTES = 192
