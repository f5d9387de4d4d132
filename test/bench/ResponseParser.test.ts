import { describe, expect, it } from "vitest"
import { ResponseParser } from "#bench/http/ResponseParser.ts"
import { randomPieces } from "./splits.ts"

interface Seen {
  readonly status: number
  readonly body: string
  readonly complete: boolean
}

const parse = (pieces: ReadonlyArray<Buffer>, close = false): ReadonlyArray<Seen> => {
  const seen: Array<Seen> = []
  let current = { status: 0, body: "" }
  const parser = new ResponseParser({
    head: (status) => current = { status, body: "" },
    body: (bytes, start, end) => current.body += bytes.toString("latin1", start, end),
    end: () => seen.push({ ...current, complete: true })
  })
  for (const piece of pieces) {
    // The reader's buffer is reused and larger than what was read.
    const reused = Buffer.concat([Buffer.from("\n\r"), piece, Buffer.from("\r\n0\r\n\r\n")])
    parser.feed(reused, 2, 2 + piece.length)
  }
  if (close) parser.close()
  return seen
}

const bytes = (text: string): Buffer => Buffer.from(text, "latin1")

const conversation = bytes(
  "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n{\"a\":\"\r\n\"}\n" +
    "HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n5\r\nhello\r\n1A;ext=1\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\nx-trailer: 1\r\n\r\n" +
    "HTTP/1.1 204 No Content\r\n\r\n" +
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 429 Too Many Requests\r\ncontent-length:0\r\n\r\n"
)

const expected: ReadonlyArray<Seen> = [
  { status: 200, body: "{\"a\":\"\r\n\"}\n", complete: true },
  { status: 200, body: "helloabcdefghijklmnopqrstuvwxyz", complete: true },
  { status: 204, body: "", complete: true },
  { status: 429, body: "", complete: true }
]

describe("ResponseParser", () => {
  it("reads counted, chunked and empty responses of one connection", () => {
    expect(parse([conversation])).toEqual(expected)
  })

  it("one cut anywhere changes nothing", () => {
    for (let cut = 1; cut < conversation.length; cut++) {
      expect(parse([conversation.subarray(0, cut), conversation.subarray(cut)]), `cut at ${cut}`).toEqual(expected)
    }
  })

  it("random cuts change nothing", () => {
    for (let seed = 1; seed <= 300; seed++) {
      expect(parse(randomPieces(conversation, seed, 1 + (seed % 12))), `seed ${seed}`).toEqual(expected)
    }
  })

  it("a body without a length ends with its connection", () => {
    expect(parse([bytes("HTTP/1.1 200 OK\r\n\r\nall of it")], true)).toEqual([{ status: 200, body: "all of it", complete: true }])
  })

  it("a connection that closes inside a response is an error", () => {
    expect(() => parse([bytes("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nabc")], true)).toThrow(/inside a response/)
    expect(() => parse([bytes("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n")], true)).toThrow(/inside a response/)
  })

  it("broken framing is an error: no chunk size, a chunk longer than its size, no HTTP", () => {
    const chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
    expect(() => parse([bytes(`${chunked}zz\r\n`)])).toThrow(/no chunk size/)
    expect(() => parse([bytes(`${chunked}2\r\nabc\r\n`)])).toThrow(/longer than its size/)
    expect(() => parse([bytes("SSH-2.0-x\r\n\r\n")])).toThrow(/no HTTP/)
    expect(() => parse([Buffer.alloc(20_000, "a")])).toThrow(/head over/)
  })
})
