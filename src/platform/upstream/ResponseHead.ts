/** The head of one HTTP/1.x response, read strictly from its bytes (RFC 9112): status line, fields, framing and persistence. */

const cr = 13
const lf = 10
const tab = 9
const space = 32
const colon = 58
const zero = 48

const isToken = 1
const isValue = 2

/** Per byte: whether it may stand in a field name (RFC 9110, 5.6.2) and in a field value (5.5). */
const classes = new Uint8Array(256)
for (const char of "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") classes[char.charCodeAt(0)] = isToken
for (let code = space; code < 256; code++) if (code !== 127) classes[code] = (classes[code] ?? 0) | isValue
classes[tab] = isValue

/** A header name as it stands on the wire, with its colon, and in lower case. */
interface FieldName {
  readonly wire: string
  readonly lower: string
}

/** By their spelling on the wire; a look-up is cheaper than a new string. */
const names = new Map<string, FieldName>()
for (
  const name of [
    "Content-Type", "Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "Date", "Server", "Content-Encoding",
    "Cache-Control", "Set-Cookie", "Vary", "Retry-After", "X-Request-Id", "Request-Id", "Strict-Transport-Security", "Via",
    "Access-Control-Allow-Origin", "Access-Control-Expose-Headers", "Alt-Svc", "CF-Ray", "CF-Cache-Status", "ETag", "Age", "Pragma",
    "X-Content-Type-Options", "OpenAI-Processing-Ms", "OpenAI-Version", "OpenAI-Organization", "Location", "Last-Modified", "Link"
  ]
) {
  const lower = name.toLowerCase()
  names.set(name, { wire: `${name}:`, lower })
  names.set(lower, { wire: `${lower}:`, lower })
}
/** Spellings that are remembered, and the longest of them in characters. */
const maxNames = 512
const maxNameLength = 48

const fieldName = (name: string): FieldName => {
  const known = names.get(name)
  if (known !== undefined) return known
  // Copied: a slice would keep the whole head it was cut from.
  const copy = Buffer.from(name, "latin1").toString("latin1")
  const made = { wire: `${copy}:`, lower: copy.toLowerCase() }
  if (names.size < maxNames && name.length <= maxNameLength) names.set(copy, made)
  return made
}

/** More digits than any real length has, and few enough for an exact number. */
const maxLengthDigits = 15
const hintPattern = /(?:^|[\s,;])timeout\s*=\s*(\d{1,9})/i

/** Body length in bytes as the head announces it; the two others are below 0. */
export const chunked = -1
export const untilClose = -2

const hasToken = (value: string, token: string): boolean => value.toLowerCase().split(",").some((part) => part.trim() === token)

/** True for a byte that may stand in a field value. */
export const isValueByte = (byte: number): boolean => ((classes[byte] ?? 0) & isValue) !== 0

/** The number that the bytes spell in decimal digits; -1 when they do not. */
const lengthIn = (bytes: Buffer, start: number, end: number): number => {
  if (end === start || end - start > maxLengthDigits) return -1
  let length = 0
  for (let at = start; at < end; at++) {
    const digit = (bytes[at] ?? 0) - zero
    if (digit < 0 || digit > 9) return -1
    length = length * 10 + digit
  }
  return length
}

/** The fields of the head that is being read; kept, because a list that grows takes more room than the fields need. */
const found: Array<string> = []
const none: Array<string> = []

/** Fields whose names are expected again. */
const maxExpected = 32

/** Filled by `read`; one object per connection, with a fresh `headers` list for each response. */
export class ResponseHead {
  status = 0
  /** Flat: lower-case name, value; repeated names stay repeated. */
  headers: Array<string> = none
  /** Bytes of the body, or `chunked`, or `untilClose`. */
  length: number = untilClose
  /** Whether the server lets the connection serve another request. */
  keepAlive = false
  /** `keep-alive: timeout=` in ms; -1 when there is none. */
  keepAliveMs = -1
  /** The names of the response before, in their order: a server mostly sends the same ones again. */
  readonly #expected: Array<FieldName> = []

  /**
   * Reads the lines of `bytes` from `start` to `end`, which stands after the last line's CRLF (the empty line is not included).
   * Answers what is wrong with them, or null.
   */
  read(bytes: Buffer, start: number, end: number): string | null {
    const text = bytes.toString("latin1", start, end)
    if (!text.startsWith("HTTP/1.") || bytes[start + 8] !== space) return "the status line does not begin with HTTP/1.0 or HTTP/1.1"
    const minor = (bytes[start + 7] ?? 0) - zero
    if (minor !== 0 && minor !== 1) return "the status line does not begin with HTTP/1.0 or HTTP/1.1"
    let status = 0
    for (let at = start + 9; at < start + 12; at++) {
      const digit = (bytes[at] ?? 0) - zero
      if (digit < 0 || digit > 9) return "the status is not a number of three digits"
      status = status * 10 + digit
    }
    if (status < 100) return "the status is below 100"
    let at = start + 12
    if (bytes[at] === space) {
      at++
      while (((classes[bytes[at] ?? 0] ?? 0) & isValue) !== 0) at++
    }
    if (bytes[at] !== cr || bytes[at + 1] !== lf) return "the status line holds a character that is not allowed"
    this.status = status
    this.headers = none
    this.length = untilClose
    this.keepAlive = minor === 1
    this.keepAliveMs = -1
    return this.#fields(bytes, start, at + 2, end, text, minor)
  }

  /** Reads the fields after a chunked body, which are checked and dropped; answers what is wrong with them, or null. */
  readTrailers(bytes: Buffer, start: number, end: number): string | null {
    for (let at = start; at < end;) {
      const from = at
      while (((classes[bytes[at] ?? 0] ?? 0) & isToken) !== 0) at++
      if (at === from || bytes[at] !== colon) return "a trailer field has no valid name"
      const name = bytes.toString("latin1", from, at).toLowerCase()
      if (name === "content-length" || name === "transfer-encoding") return `the trailer holds the field ${name}`
      at++
      while (((classes[bytes[at] ?? 0] ?? 0) & isValue) !== 0) at++
      if (bytes[at] !== cr || bytes[at + 1] !== lf) return "a trailer field holds a character that is not allowed"
      at += 2
    }
    return null
  }

  #fields(bytes: Buffer, start: number, first: number, end: number, text: string, minor: number): string | null {
    const expected = this.#expected
    let count = 0
    let close = false
    let persist = false
    let transfer = false
    let length = -1
    // Every loop ends at a CR at the latest, and the last two bytes are CRLF: no index leaves the lines.
    for (let at = first; at < end;) {
      const from = at
      let known = expected[count >> 1]
      if (known !== undefined && text.startsWith(known.wire, from - start)) at += known.wire.length
      else {
        while (((classes[bytes[at] ?? 0] ?? 0) & isToken) !== 0) at++
        if (at === from || bytes[at] !== colon) return from === at ? "a header line is folded or has no name" : "a header name holds a character that is not allowed"
        known = fieldName(text.slice(from - start, at - start))
        if (count >> 1 < maxExpected) expected[count >> 1] = known
        at++
      }
      const name = known.lower
      while (bytes[at] === space || bytes[at] === tab) at++
      const valueFrom = at
      while (((classes[bytes[at] ?? 0] ?? 0) & isValue) !== 0) at++
      if (bytes[at] !== cr || bytes[at + 1] !== lf) return `the value of the header ${name.slice(0, 64)} holds a character that is not allowed`
      let valueEnd = at
      while (valueEnd > valueFrom && (bytes[valueEnd - 1] === space || bytes[valueEnd - 1] === tab)) valueEnd--
      at += 2
      const value = text.slice(valueFrom - start, valueEnd - start)
      found[count++] = name
      found[count++] = value
      switch (name) {
        case "content-length":
          if (length !== -1) return "there is more than one content-length"
          length = lengthIn(bytes, valueFrom, valueEnd)
          if (length === -1) return "the content-length is not a number"
          break
        case "transfer-encoding":
          if (transfer) return "there is more than one transfer-encoding"
          if (value !== "chunked" && value.toLowerCase() !== "chunked") return `the transfer-encoding "${value.slice(0, 40)}" is not known`
          transfer = true
          break
        case "connection":
          if (hasToken(value, "close")) close = true
          if (hasToken(value, "keep-alive")) persist = true
          break
        case "keep-alive": {
          const seconds = hintPattern.exec(value)?.[1]
          if (seconds !== undefined) this.keepAliveMs = Number(seconds) * 1_000
          break
        }
      }
    }
    if (transfer && length !== -1) return "there is a content-length beside the transfer-encoding"
    this.headers = found.slice(0, count)
    this.length = transfer ? chunked : length === -1 ? untilClose : length
    // RFC 9112, 6.1: chunks in an HTTP/1.0 message are faulty framing; the connection ends with the message.
    this.keepAlive = !close && (minor === 1 || (persist && !transfer))
    return null
  }
}
