/** The request side of HTTP/1.1: a head is checked and formatted once, and leaves with a small body in one write. */
import { Buffer } from "node:buffer"
import type { Socket } from "node:net"
import type { UpstreamRequest } from "#actors/request/ports/Upstream.ts"
import { extend, hopsHeader } from "#schemas/hops.ts"

/** Largest body in bytes that is copied behind its head; a larger one is handed over beside it. */
const maxCopiedBytes = 16 * 1024

const namePattern = /^[\w!#$%&'*+.^`|~-]+$/
const valuePattern = /^[\t\x20-\x7e\x80-\xff]*$/
const pathPattern = /^\/[\x21-\x7e]*$/

/** Decided here alone: a caller that sets one of them would break the framing, the connection or the origin. */
const reserved: ReadonlySet<string> = new Set([
  "host", "connection", "keep-alive", "proxy-connection", "content-length", "transfer-encoding", "te", "trailer", "upgrade", "expect"
])

const methods: ReadonlySet<string> = new Set(["GET", "POST", "DELETE", "PUT", "PATCH"])

/** Names whose check is kept: few come again and again, and a client may send any. */
const MOST_NAMES = 256
const checkedNames = new Map<string, string | null>()

/** The name in lower case; null for one that no header has. */
const checked = (name: string): string | null => {
  const kept = checkedNames.get(name)
  if (kept !== undefined) return kept
  const lower = namePattern.test(name) ? name.toLowerCase() : null
  if (checkedNames.size < MOST_NAMES) checkedNames.set(name, lower)
  return lower
}

/** A checked head, complete but for the length of its body. */
export interface RequestHead {
  readonly method: UpstreamRequest["method"]
  readonly path: string
  /** The list that was formatted; a request with the same one (by identity) needs no second look. */
  readonly headers: ReadonlyArray<string>
  readonly bytes: Buffer
  /** True for a method that says nothing about a body it does not have. */
  readonly optionalBody: boolean
}

/** Formats a head for `host` (`name[:port]`), sent by the gateway `hop`; a string says what cannot be sent. */
export const format = (
  method: UpstreamRequest["method"], path: string, headers: ReadonlyArray<string>, host: string, hop: string | null = null
): RequestHead | string => {
  if (!methods.has(method)) return "the method is not known"
  if (!pathPattern.test(path)) return "the path holds a character that is not allowed"
  let text = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n`
  let passed: string | undefined
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]
    const value = headers[i + 1]
    const lower = name === undefined || value === undefined ? null : checked(name)
    if (value === undefined || lower === null) return "a header has no valid name"
    if (reserved.has(lower)) return `the header ${lower} is not the caller's to set`
    if (!valuePattern.test(value)) return `the value of the header ${lower} holds a character that is not allowed`
    if (lower === hopsHeader) {
      passed = value
      continue
    }
    // A compressed stream would arrive in blocks, and cost a decoder.
    if (lower !== "accept-encoding") text += `${name}: ${value}\r\n`
  }
  if (hop !== null) text += `${hopsHeader}: ${extend(passed, hop)}\r\n`
  return {
    method,
    path,
    headers,
    bytes: Buffer.from(`${text}accept-encoding: identity\r\n`, "latin1"),
    optionalBody: method === "GET" || method === "DELETE"
  }
}

/** Heads that are remembered per origin: the busiest credentials and endpoints of it. */
const remembered = 16

/**
 * The latest heads of one origin, by the identity of their header list.
 *
 * A few slots that are overwritten in turn: a map keyed by lists that come and go with each request would cost the garbage collector
 * more than the formatting does.
 */
export class RequestHeads {
  readonly #host: string
  readonly #hop: string | null
  readonly #slots: Array<RequestHead> = []
  #next = 0

  constructor(host: string, hop: string | null = null) {
    this.#host = host
    this.#hop = hop
  }

  /** The head of a request; a string says what cannot be sent. */
  of(method: UpstreamRequest["method"], path: string, headers: ReadonlyArray<string>): RequestHead | string {
    for (const slot of this.#slots) if (slot.headers === headers && slot.path === path && slot.method === method) return slot
    const head = format(method, path, headers, this.#host, this.#hop)
    if (typeof head === "string") return head
    this.#slots[this.#next] = head
    this.#next = (this.#next + 1) % remembered
    return head
  }
}

/** Writes the head of a request whose body of `length` bytes follows. */
export const writeHead = (socket: Socket, { bytes }: RequestHead, length: number): void => {
  socket.write(Buffer.concat([bytes, Buffer.from(`content-length: ${length}\r\n\r\n`, "latin1")]))
}

/** Ends of heads by the length of their body; those of small bodies come again and again. */
const tails: Array<string> = []
const MOST_TAILS = 4_096

const tailOf = (length: number): string => {
  if (length >= MOST_TAILS) return `content-length: ${length}\r\n\r\n`
  while (tails.length <= length) tails.push(`content-length: ${tails.length}\r\n\r\n`)
  return tails[length] as string
}

/** Writes a request on a connected socket. */
export const write = (socket: Socket, head: RequestHead, body: Uint8Array | string | null): void => {
  const length = body === null ? 0 : typeof body === "string" ? Buffer.byteLength(body) : body.length
  const tail = body === null && head.optionalBody ? "\r\n" : tailOf(length)
  const { bytes } = head
  const headLength = bytes.length + tail.length
  const copied = length <= maxCopiedBytes ? length : 0
  const out = Buffer.allocUnsafe(headLength + copied)
  bytes.copy(out, 0, 0, bytes.length)
  out.write(tail, bytes.length, "latin1")
  if (copied > 0) {
    if (typeof body === "string") out.write(body, headLength, "utf8")
    else if (body !== null) out.set(body, headLength)
  }
  if (body === null || copied === length) {
    socket.write(out)
    return
  }
  socket.cork()
  socket.write(out)
  socket.write(body)
  socket.uncork()
}
