/** Pure helpers for request heads, which are flat arrays: lower-case name, value, name, value. */

/** The value by lower-case name; repeated headers joined with `, `. */
export const findHeader = (headers: ReadonlyArray<string>, name: string): string | undefined => {
  let found: string | undefined
  for (let i = 0; i < headers.length; i += 2) {
    if (headers[i] !== name) continue
    const value = headers[i + 1]!
    found = found === undefined ? value : `${found}${name === "cookie" ? "; " : ", "}${value}`
  }
  return found
}

/** How the names of the gateway's own headers begin. */
export const OWN_HEADERS = "x-gateway-"

export const hasOwnHeader = (headers: ReadonlyArray<string>): boolean => {
  for (let i = 0; i < headers.length; i += 2) if (headers[i]!.startsWith(OWN_HEADERS)) return true
  return false
}

/** A body of chunks, in the place of a length. */
export const CHUNKED = -1

/**
 * Bytes of body that the head promises, or `CHUNKED`; a text says why the head is invalid. The native parser reads only the first of
 * several lengths and takes any transfer encoding for chunked: a proxy that reads another one would see other requests than we do.
 */
export const framing = (method: string, path: string, query: string, headers: ReadonlyArray<string>): number | string => {
  let host = false
  let length: number | undefined
  let chunked = false
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!
    // The length of the name spares most string comparisons.
    switch (name.length) {
      case 0:
        return "A header has no name"
      case 4:
        if (name !== "host") break
        if (host) return "The Host header came twice"
        host = true
        if (!isHost(headers[i + 1]!)) return "The Host header is not a host name or address with an optional port"
        break
      case 14:
        if (name !== "content-length") break
        if (length !== undefined) return "The Content-Length header came twice"
        length = lengthIn(headers[i + 1]!)
        if (length === -1) return "The Content-Length header is not a number of bytes"
        break
      case 17:
        if (name !== "transfer-encoding") break
        if (chunked) return "The Transfer-Encoding header came twice"
        if (headers[i + 1]!.toLowerCase() !== "chunked") return "The only supported Transfer-Encoding is chunked"
        chunked = true
        break
    }
  }
  if (!host) return "The Host header is missing"
  if (chunked && length !== undefined) return "A request has a Content-Length or a Transfer-Encoding, not both"
  if (method !== "POST" && method !== "GET" && !token.test(method)) return "The method is not a token"
  if (!isPath(path) || query !== "" && beyondTarget.test(query)) return "The request target has a character that must be percent-encoded"
  return chunked ? CHUNKED : length ?? 0
}

/** More digits than any real length has, and few enough for an exact number. */
const LENGTH_DIGITS = 15

/** The number that decimal digits spell; -1 when they do not. */
const lengthIn = (text: string): number => {
  if (text.length === 0 || text.length > LENGTH_DIGITS) return -1
  let length = 0
  for (let i = 0; i < text.length; i++) {
    const digit = text.charCodeAt(i) - 48
    if (digit < 0 || digit > 9) return -1
    length = length * 10 + digit
  }
  return length
}

const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const beyondTarget = /[^!-~]|#/
const hostName = /^(?:[A-Za-z0-9._~%-]+|\[[0-9A-Fa-f:.]+\])(?::\d{0,5})?$/

/** Requests of one client repeat their host. */
let knownHost = ""
const isHost = (value: string): boolean => {
  if (value === knownHost) return value !== ""
  if (!hostName.test(value)) return false
  knownHost = value
  return true
}

/** And their path. */
let knownPath = ""
const isPath = (path: string): boolean => {
  if (path === knownPath) return true
  if (beyondTarget.test(path)) return false
  knownPath = path
  return true
}

const mapped = /^(?:0{1,4}:){5}ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/i

/** The usual spelling of an address that the native server writes in full: `::1`, and IPv4 where IPv6 carries it. */
export const shortAddress = (text: string): string => {
  if (!text.includes(":")) return text
  const v4 = mapped.exec(text)
  if (v4 === null) return URL.parse(`http://[${text}]`)?.hostname.slice(1, -1) ?? text
  const [high, low] = [Number.parseInt(v4[1]!, 16), Number.parseInt(v4[2]!, 16)]
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`
}
