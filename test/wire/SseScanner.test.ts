import { afterEach, describe, expect, it, vi } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { upstream } from "#src/wire/chatCompletions/index.ts"
import { dataOf, SseScanner } from "#src/wire/stream/SseScanner.ts"
import { held, maxEventBytes, maxTotalBytes } from "#src/wire/stream/EventMemory.ts"
import { passBorrowed, pushBorrowed } from "#test/support/wire/borrowed.ts"

/** Data payloads that a scanner reports for the given segments. */
const scan = (segments: ReadonlyArray<Buffer>): ReadonlyArray<string> => {
  const found: Array<string> = []
  const scanner = new SseScanner({
    event: (bytes, start, end) => {
      const data = dataOf(bytes, start, end)
      if (data !== null) found.push(data)
    }
  })
  for (const segment of segments) pushBorrowed(scanner, segment)
  scanner.flush()
  return found
}

/** Bytes that some work searches or copies by Buffer's own means. */
const looksAt = (work: () => void): number => {
  let bytes = 0
  const { copy, indexOf } = Buffer.prototype
  const from = Buffer.from.bind(Buffer) as (source: Uint8Array) => Buffer<ArrayBuffer>
  const spies = [
    vi.spyOn(Buffer.prototype, "indexOf").mockImplementation(function(this: Buffer, ...args: Parameters<typeof indexOf>) {
      const at = indexOf.apply(this, args)
      const start = typeof args[1] === "number" ? args[1] : 0
      bytes += (at === -1 ? this.length : at) - start
      return at
    }),
    vi.spyOn(Buffer.prototype, "copy").mockImplementation(function(this: Buffer, ...args: Parameters<typeof copy>) {
      const copied = copy.apply(this, args)
      bytes += copied
      return copied
    }),
    vi.spyOn(Buffer, "from").mockImplementation((source: unknown) => {
      bytes += (source as Uint8Array).length
      return from(source as Uint8Array)
    })
  ]
  try {
    work()
  } finally {
    for (const spy of spies) spy.mockRestore()
  }
  return bytes
}

const cut = (bytes: Buffer, at: ReadonlyArray<number>): ReadonlyArray<Buffer> => {
  const points = [...new Set(at.map((n) => n % (bytes.length + 1)))].sort((a, b) => a - b)
  const segments: Array<Buffer> = []
  let from = 0
  for (const point of [...points, bytes.length]) {
    // Each segment is a copy: the scanner must not depend on neighbours in memory.
    if (point > from) segments.push(Buffer.from(bytes.subarray(from, point)))
    from = point
  }
  return segments
}

const frame = (content: string) => JSON.stringify({ id: "x", choices: [{ index: 0, delta: { content } }] })
const payloads = [
  JSON.stringify({ choices: [{ index: 0, delta: { role: "assistant" } }] }),
  frame("Grüße 🌍 "), frame("a \"quoted\" \\ back\nslash"), frame("data: [DONE]"), frame(""),
  JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }),
  JSON.stringify({ choices: [], usage: { prompt_tokens: 9, completion_tokens: 4, prompt_tokens_details: { cached_tokens: 2 } } }),
  "[DONE]"
]

const fixtures: Record<string, string> = {
  "LF": payloads.map((p) => `data: ${p}\n\n`).join(""),
  "CRLF": payloads.map((p) => `data: ${p}\r\n\r\n`).join(""),
  "CR": payloads.map((p) => `data: ${p}\r\r`).join(""),
  "no space": payloads.map((p) => `data:${p}\n\n`).join(""),
  "BOM and comments": `\ufeff: hello\n\n${payloads.map((p) => `: keep\nevent: message\ndata: ${p}\nid: 7\n\n`).join("")}`,
  "missing last newline": payloads.map((p) => `data: ${p}\n\n`).join("").trimEnd(),
  "mixed line ends": payloads.map((p, i) => `data: ${p}${["\n\n", "\r\n\r\n", "\r\n\n"][i % 3]}`).join("")
}

describe("SSE scanner", () => {
  for (const [name, text] of Object.entries(fixtures)) {
    it(`${name}: the same events for a cut at every byte`, () => {
      const bytes = Buffer.from(text)
      expect(scan([bytes])).toEqual(payloads)
      for (let at = 1; at < bytes.length; at++) expect(scan(cut(bytes, [at]))).toEqual(payloads)
      expect(scan([...bytes].map((byte) => Buffer.from([byte])))).toEqual(payloads)
    })
  }

  it.prop("the same events for any split", { at: Arbitrary.schema(Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 5000 })))) }, ({ at }) => {
    for (const text of Object.values(fixtures)) expect(scan(cut(Buffer.from(text), at))).toEqual(payloads)
  })

  it("multi-line data is joined by a newline", () => {
    expect(scan([Buffer.from("data: {\ndata: \"a\":1}\n\n")])).toEqual(["{\n\"a\":1}"])
  })

  it("the short rest of a large read lives by itself: the read may be used again", () => {
    const found: Array<string> = []
    const scanner = new SseScanner({ event: (bytes, start, end) => void found.push(dataOf(bytes, start, end) ?? "") })
    const long = "x".repeat(60_000)
    const read = Buffer.from(`data: ${long}\n\ndata: {"begin`)
    scanner.push(read)
    read.fill(0)
    scanner.push(Buffer.from(`ning":1}\n\ndata: ${long}\n\n`))
    expect(found).toEqual([long, '{"beginning":1}', long])
  })

  it("an event that lacks its last newline is handed over with it, wherever it was cut; one that was cut in its data is none", () => {
    const ended = (text: string, at: number): string => {
      let out = ""
      const scanner = new SseScanner({ event: (bytes, start, end) => void (out += bytes.toString("utf8", start, end)) })
      for (const segment of cut(Buffer.from(text), [at])) pushBorrowed(scanner, segment)
      scanner.flush()
      return out
    }
    for (const eol of ["\n", "\r\n", "\r"]) {
      const whole = `event: e${eol}data: ${frame("é")}`
      for (let at = 0; at <= Buffer.byteLength(whole); at++) {
        for (const text of [whole, whole + eol]) expect(ended(text, at).replace(/[\r\n]+$/, "")).toBe(whole)
        // What follows is an event of its own.
        expect(scan([Buffer.from(`${ended(whole, at)}data: next\n\n`)])).toEqual([frame("é"), "next"])
      }
      for (let length = 1; length < whole.length; length++) expect(ended(whole.slice(0, length), 3)).toBe("")
    }
  })

  describe("the memory of unfinished events", () => {
    const block = Buffer.alloc(1024 * 1024, 0x61)
    const scanners: Array<SseScanner> = []
    // A test that fails must not leave the memory of the process full for all others.
    afterEach(() => scanners.splice(0).forEach((scanner) => scanner.close()))
    const fed = (most: number) => {
      const scanner = new SseScanner({ event: () => {} })
      scanners.push(scanner)
      let count = 0
      while (count < most && scanner.push(block)) count++
      return { scanner, count }
    }

    it("holds 32 MiB of one event and no more, and gives back what a stream that is over held", () => {
      const before = held()
      const { count, scanner } = fed(99)
      expect(count).toBe(maxEventBytes / block.length)
      scanner.close()
      expect(held()).toBe(before)
    })

    it("is bounded over all streams, and free again once they are over", () => {
      const before = held()
      const all = Array.from({ length: 20 }, () => fed(30))
      const total = all.reduce((sum, { count }) => sum + count, 0)
      expect(before + total * block.length).toBeLessThanOrEqual(maxTotalBytes)
      expect(before + total * block.length).toBeGreaterThanOrEqual(maxTotalBytes - 32 * block.length)
      expect(all.at(-1)?.count).toBe(0)
      for (const [index, { scanner }] of all.entries()) {
        if (index % 2 === 0) scanner.close()
        else scanner.flush()
      }
      expect(held()).toBe(before)
      const again = fed(30)
      expect(again.count).toBe(30)
      again.scanner.push(Buffer.from("\n\n"))
      expect(held()).toBe(before)
    })

    it("looks at each byte a few times only, however long the event is and in whatever pieces it comes", () => {
      for (const [bytes, count] of [[16 * 1024, 500], [1_000, 4_000], [200_000, 50]] as const) {
        const piece = Buffer.alloc(bytes, 0x61)
        const looks = looksAt(() => {
          const scanner = new SseScanner({ event: () => {} })
          for (let i = 0; i < count; i++) expect(scanner.push(piece)).toBe(true)
          scanner.close()
        })
        // Two searches, a copy to where it is kept, and as much again for the moves to larger memory.
        expect(looks / (bytes * count)).toBeGreaterThan(2)
        expect(looks / (bytes * count)).toBeLessThan(6)
      }
    })
  })
})

describe("chat tap", () => {
  const read = (segments: ReadonlyArray<Buffer>, forwardUsage: boolean) => {
    const tap = upstream.makePassThroughTap({ forwardUsage }, null)
    const out: Array<Uint8Array> = []
    for (const segment of segments) {
      const bytes = passBorrowed(tap, segment)
      if (bytes !== null) out.push(bytes)
    }
    const rest = tap.end()
    if (rest !== null) out.push(rest)
    return { bytes: Buffer.concat(out).toString(), tap }
  }

  for (const [name, text] of Object.entries(fixtures)) {
    it(`${name}: bytes, usage, text and end are the same for every single cut`, () => {
      const bytes = Buffer.from(text)
      for (let at = 0; at < bytes.length; at++) {
        const { bytes: forwarded, tap } = read(cut(bytes, [at]), true)
        expect(forwarded).toBe(name === "missing last newline" ? `${text}\n\n` : text)
        expect(tap.usage).toEqual({ input: 9, output: 4, cacheRead: 2, cacheCreation: 0, reasoning: 0 })
        expect(tap.terminal && tap.useful && tap.finished && !tap.malformed).toBe(true)
      }
      expect(read([bytes], true).tap.outputText()).toBe("Grüße 🌍 a \"quoted\" \\ back\nslashdata: [DONE]")
    })

    it(`${name}: the usage frame is held back from a client that did not ask, for every cut`, () => {
      const bytes = Buffer.from(text)
      for (let at = 0; at < bytes.length; at++) {
        const { bytes: forwarded, tap } = read(cut(bytes, [at]), false)
        expect(scan([Buffer.from(forwarded)])).toEqual(payloads.filter((p) => !p.includes("usage")))
        expect(tap.usage?.output).toBe(4)
      }
    })
  }

  it("an error object as the first frame is no content", () => {
    const { tap } = read([Buffer.from("data: {\"error\":{\"message\":\"slow down\",\"type\":\"rate_limit_error\",\"code\":\"rate_limit_exceeded\"}}\n\n")], true)
    expect(tap.error).toMatchObject({ message: "slow down", type: "rate_limit_error", code: "rate_limit_exceeded", status: null })
  })

  it("comments, empty deltas and [DONE] alone are not useful", () => {
    const { tap } = read([Buffer.from(": ping\n\ndata: {\"choices\":[{\"delta\":{}}]}\n\ndata: [DONE]\n\n")], true)
    expect(tap.useful).toBe(false)
    expect(tap.terminal).toBe(true)
  })

  it("a first frame that is not JSON is malformed", () => {
    expect(read([Buffer.from("data: {oops\n\n")], true).tap.malformed).toBe(true)
  })

  it("usage on a frame with content reaches only a client that asked; the ledger has it either way", () => {
    const finish = 'data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}\n\n'
    const stream = [Buffer.from(`data: {"id":"c","choices":[{"index":0,"delta":{"content":"a"}}]}\n\n${finish}data: [DONE]\n\n`)]
    const asked = read(stream, true)
    expect(asked.bytes).toContain('"usage"')
    const plain = read(stream, false)
    expect(plain.bytes).not.toContain('"usage"')
    expect(plain.bytes).toContain('"finish_reason":"stop"')
    expect([plain.tap.usage?.input, asked.tap.usage?.input]).toEqual([3, 3])
  })
})
