/** Responses as bytes, and what the parser makes of them when they arrive in given pieces. */
import { ResponseParser } from "#src/platform/upstream/ResponseParser.ts"

export interface Parsed {
  readonly status: number
  readonly headers: ReadonlyArray<string>
  /** Latin-1. */
  readonly body: string
  /** `open`: more must come. */
  readonly outcome: "complete" | "protocol" | "cut" | "open"
  readonly keepAlive: boolean
  readonly surplus: boolean
  readonly failure: string | null
  /** Pieces of body that were handed over. */
  readonly bodies: number
}

export const maxHeadBytes = 2_048

const shared = Buffer.alloc(256 * 1024)

/**
 * Feeds `pieces` through one reused buffer that is full of other things, as a connection does, for a receiver that sometimes does not
 * take what is there; `eof`: the peer closes then.
 */
export const parse = (pieces: ReadonlyArray<Buffer>, eof: boolean, parser = new ResponseParser(maxHeadBytes), bodiless = false): Parsed => {
  const bodies: Array<Buffer> = []
  let status = 0
  let headers: ReadonlyArray<string> = []
  const take = () => {
    if (parser.headReady) {
      if (status !== 0) throw new Error("a second head")
      parser.headReady = false
      status = parser.head.status
      headers = parser.head.headers
    }
    if (parser.body !== null) {
      bodies.push(Buffer.from(parser.body))
      parser.body = null
    }
  }
  parser.reset(bodiless)
  for (const [index, piece] of pieces.entries()) {
    shared.fill("HTTP/1.1 500 Stale\r\n\r\n0\r\n\r\n", 0, piece.length + 64)
    piece.copy(shared)
    parser.feed(shared, piece.length)
    if (index % 3 !== 2) take()
    parser.own()
    shared.fill(0, 0, piece.length)
  }
  if (eof) parser.eof()
  take()
  return {
    status,
    headers,
    body: Buffer.concat(bodies).toString("latin1"),
    outcome: parser.complete ? "complete" : parser.failure !== null ? "protocol" : parser.cut ? "cut" : "open",
    keepAlive: status !== 0 && parser.head.keepAlive,
    surplus: parser.surplus,
    failure: parser.failure,
    bodies: bodies.length
  }
}

export const whole = (text: string, eof = false): Parsed => parse([Buffer.from(text, "latin1")], eof)

/** A repeatable source of whole numbers below `below`. */
export const randomFrom = (start: number): (below: number) => number => {
  let seed = start
  return (below) => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor(seed / 4_294_967_296 * below)
  }
}

/** Cuts `bytes` at random places, small pieces more often than large ones. */
export const cutAtRandom = (bytes: Buffer, random: (below: number) => number): Array<Buffer> => {
  const out: Array<Buffer> = []
  for (let at = 0; at < bytes.length;) {
    const next = Math.min(bytes.length, at + 1 + random([1, 3, 20, 400][random(4)] ?? 1))
    out.push(bytes.subarray(at, next))
    at = next
  }
  return out
}

const event = (text: string): string => `data: {"delta":"${text}"}\n\n`
const chunk = (text: string): string => `${Buffer.byteLength(text, "latin1").toString(16)}\r\n${text}\r\n`
const stream = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

/** Name, bytes, and whether we refuse on purpose what node:http takes. */
export interface Case {
  readonly name: string
  readonly text: string
  readonly stricter?: string
  /** It merely ends too early. */
  readonly cut?: boolean
}

/** Responses that are in order; the peer closes after each. */
export const valid: ReadonlyArray<Case> = [
  { name: "a length", text: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello" },
  { name: "no body", text: "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n" },
  { name: "no reason", text: "HTTP/1.1 200\r\ncontent-length: 2\r\n\r\nok" },
  { name: "an empty reason", text: "HTTP/1.1 200 \r\ncontent-length: 2\r\n\r\nok" },
  { name: "a reason with blanks and high bytes", text: "HTTP/1.1 429 Zu viele\t\xe4\r\ncontent-length: 2\r\n\r\nno" },
  { name: "a status of three odd digits", text: "HTTP/1.1 999 Request denied\r\ncontent-length: 2\r\n\r\nno" },
  { name: "until the connection ends", text: "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\nall of it" },
  { name: "HTTP/1.0", text: "HTTP/1.0 200 OK\r\n\r\nold" },
  { name: "HTTP/1.0 kept alive", text: "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 3\r\n\r\nold" },
  { name: "HTTP/1.0 with chunks", text: "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nold\r\n0\r\n\r\n" },
  { name: "one event", text: `${stream}${chunk(event("a"))}0\r\n\r\n` },
  { name: "many events", text: `${stream}${["a", "b\xe9", "c".repeat(300)].map((text) => chunk(event(text))).join("")}0\r\n\r\n` },
  { name: "upper-case and padded sizes", text: `${stream}0A\r\n0123456789\r\n000\r\n\r\n` },
  { name: "extensions", text: `${stream}3;a\r\nabc\r\n3;b=c;d="e\\"\xe9;"\r\ndef\r\n0;last\r\n\r\n` },
  { name: "trailers", text: `${stream}3\r\nabc\r\n0\r\nX-Sum: 1\r\nX-Other:\r\n\r\n` },
  { name: "a body of line ends", text: `${stream}8\r\n\r\n\r\n\r\n\r\n\r\n0\r\n\r\n` },
  { name: "a coding in capitals", text: "HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n" },
  { name: "blanks around values", text: "HTTP/1.1 200 OK\r\nx-a: \t one two \t\r\nx-b:\r\nx-c:c\r\ncontent-length: 0 \r\n\r\n" },
  { name: "latin-1 and odd names", text: "HTTP/1.1 200 OK\r\nX!#$%&'*+-.^_`|~9: caf\xe9 \xff\r\ncontent-length: 1\r\n\r\nx" },
  { name: "repeated names", text: "HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nset-cookie: b=2\r\nVary: a\r\nvary: b\r\ncontent-length: 1\r\n\r\nx" },
  { name: "204", text: "HTTP/1.1 204 No Content\r\nx-a: 1\r\n\r\n" },
  { name: "304 with a length", text: "HTTP/1.1 304 Not Modified\r\ncontent-length: 10\r\n\r\n" },
  { name: "hints first", text: "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok" },
  { name: "close", text: "HTTP/1.1 200 OK\r\nConnection: close\r\ncontent-length: 2\r\n\r\nok" }
]

const head = "HTTP/1.1 200 OK\r\n"

/** Responses that are not; the peer closes after each. */
export const invalid: ReadonlyArray<Case> = [
  { name: "another protocol", text: "SSH-2.0-x\r\n\r\n" },
  { name: "an empty line first", text: "\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", stricter: "nothing may come before the status line" },
  { name: "HTTP/2.0", text: "HTTP/2.0 200 OK\r\ncontent-length: 0\r\n\r\n", stricter: "a version we do not speak" },
  { name: "HTTP/1.2", text: "HTTP/1.2 200 OK\r\ncontent-length: 0\r\n\r\n" },
  { name: "HTTP/0.9", text: "HTTP/0.9 200 OK\r\ncontent-length: 0\r\n\r\n", stricter: "a version we do not speak" },
  { name: "a small status line", text: "http/1.1 200 OK\r\ncontent-length: 0\r\n\r\n" },
  { name: "no status", text: "HTTP/1.1 OK\r\ncontent-length: 0\r\n\r\n" },
  { name: "a status of two digits", text: "HTTP/1.1 20 OK\r\ncontent-length: 0\r\n\r\n" },
  { name: "a status of four digits", text: "HTTP/1.1 2000 OK\r\ncontent-length: 0\r\n\r\n" },
  { name: "a status below 100", text: "HTTP/1.1 099 OK\r\ncontent-length: 0\r\n\r\n", stricter: "RFC 9110, 15: the first digit says the class" },
  { name: "two blanks before the status", text: "HTTP/1.1  200 OK\r\ncontent-length: 0\r\n\r\n" },
  { name: "a NUL in the reason", text: "HTTP/1.1 200 O\0K\r\ncontent-length: 0\r\n\r\n", stricter: "RFC 9112, 4: no control characters in a reason" },
  { name: "101", text: "HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n" },
  { name: "LF alone after the status line", text: "HTTP/1.1 200 OK\ncontent-length: 0\r\n\r\n" },
  { name: "LF alone after a header", text: `${head}x-a: 1\ncontent-length: 0\r\n\r\n` },
  { name: "LF alone after the head", text: `${head}content-length: 0\r\n\n` },
  { name: "LF alone everywhere", text: "HTTP/1.1 200 OK\ncontent-length: 2\n\nok" },
  { name: "CR alone in a value", text: `${head}x-a: 1\r2\r\ncontent-length: 0\r\n\r\n` },
  { name: "CR alone in the status line", text: "HTTP/1.1 200 O\rK\r\ncontent-length: 0\r\n\r\n" },
  { name: "a NUL in a value", text: `${head}x-a: 1\0\r\ncontent-length: 0\r\n\r\n` },
  { name: "DEL in a value", text: `${head}x-a: 1\x7f\r\ncontent-length: 0\r\n\r\n` },
  { name: "a control character in a value", text: `${head}x-a: 1\x01\r\ncontent-length: 0\r\n\r\n` },
  { name: "a blank before the colon", text: `${head}x-a : 1\r\ncontent-length: 0\r\n\r\n` },
  { name: "a blank in a name", text: `${head}x a: 1\r\ncontent-length: 0\r\n\r\n` },
  { name: "a high byte in a name", text: `${head}x\xe9: 1\r\ncontent-length: 0\r\n\r\n` },
  { name: "an empty name", text: `${head}: 1\r\ncontent-length: 0\r\n\r\n` },
  { name: "no colon", text: `${head}x-a\r\ncontent-length: 0\r\n\r\n` },
  { name: "a folded line", text: `${head}x-a: 1\r\n 2\r\ncontent-length: 0\r\n\r\n` },
  { name: "a folded first line", text: `${head} x-a: 1\r\ncontent-length: 0\r\n\r\n` },
  { name: "a length and chunks", text: `${head}content-length: 3\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n` },
  { name: "chunks and a length", text: `${head}transfer-encoding: chunked\r\ncontent-length: 3\r\n\r\n1\r\nx\r\n0\r\n\r\n` },
  { name: "two lengths", text: `${head}content-length: 1\r\ncontent-length: 2\r\n\r\nxx` },
  { name: "the same length twice", text: `${head}content-length: 1\r\ncontent-length: 1\r\n\r\nx` },
  { name: "a list of lengths", text: `${head}content-length: 1, 1\r\n\r\nx` },
  { name: "an empty length", text: `${head}content-length:\r\n\r\nx` },
  { name: "a signed length", text: `${head}content-length: +1\r\n\r\nx` },
  { name: "a negative length", text: `${head}content-length: -1\r\n\r\nx` },
  { name: "a hex length", text: `${head}content-length: 0x1\r\n\r\nx` },
  { name: "a length with a fraction", text: `${head}content-length: 1.0\r\n\r\nx` },
  { name: "a length beyond any number", text: `${head}content-length: 99999999999999999999\r\n\r\nx` },
  { name: "an unknown coding", text: `${head}transfer-encoding: gzip\r\n\r\nx`, stricter: "a body in a coding we cannot undo" },
  { name: "a coding before chunked", text: `${head}transfer-encoding: gzip, chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n`, stricter: "a body in a coding we cannot undo" },
  { name: "chunked twice", text: `${head}transfer-encoding: chunked, chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n`, stricter: "RFC 9112, 6.1: chunked is applied once" },
  { name: "two codings", text: `${head}transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n`, stricter: "RFC 9112, 6.1: chunked is applied once" },
  { name: "identity", text: `${head}transfer-encoding: identity\r\n\r\nx`, stricter: "RFC 9112 has no such coding" },
  { name: "a coding that only begins like chunked", text: `${head}transfer-encoding: chunkedd\r\n\r\n1\r\nx\r\n0\r\n\r\n`, stricter: "a body in a coding we do not know" },
  { name: "a chunk size that is no number", text: `${stream}zz\r\n` },
  { name: "an empty chunk size", text: `${stream}\r\nabc\r\n0\r\n\r\n` },
  { name: "a signed chunk size", text: `${stream}+3\r\nabc\r\n0\r\n\r\n` },
  { name: "a chunk size with a prefix", text: `${stream}0x3\r\nabc\r\n0\r\n\r\n` },
  { name: "a blank after the chunk size", text: `${stream}3 \r\nabc\r\n0\r\n\r\n` },
  { name: "a chunk size beyond any number", text: `${stream}fffffffffffffffff\r\nabc` },
  { name: "a chunk size beyond exact numbers", text: `${stream}fffffffffffffff\r\nabc` },
  { name: "LF alone after the chunk size", text: `${stream}3\nabc\r\n0\r\n\r\n` },
  { name: "CR alone after the chunk size", text: `${stream}3\rabc\r\n0\r\n\r\n` },
  { name: "LF alone after a chunk", text: `${stream}3\r\nabc\n0\r\n\r\n` },
  { name: "a chunk longer than its size", text: `${stream}3\r\nabcd\r\n0\r\n\r\n` },
  { name: "an extension without name", text: `${stream}3;\r\nabc\r\n0\r\n\r\n` },
  { name: "a control character in an extension", text: `${stream}3;a\x01\r\nabc\r\n0\r\n\r\n` },
  { name: "an extension with an open quote", text: `${stream}3;a="b\r\nabc\r\n0\r\n\r\n` },
  { name: "a trailer without name", text: `${stream}0\r\n: 1\r\n\r\n` },
  { name: "a folded trailer", text: `${stream}0\r\nx: 1\r\n 2\r\n\r\n` },
  { name: "a length in the trailer", text: `${stream}0\r\ncontent-length: 5\r\n\r\n` },
  { name: "bytes after the last chunk", text: `${stream}0\r\nabc\r\n\r\n` },
  { name: "a body cut short", text: `${head}content-length: 5\r\n\r\nabc`, cut: true },
  { name: "a chunk cut short", text: `${stream}5\r\nabc`, cut: true },
  { name: "chunks without end", text: `${stream}3\r\nabc\r\n`, cut: true },
  { name: "a head cut short", text: `${head}content-le`, cut: true },
  { name: "nothing", text: "", cut: true }
]
