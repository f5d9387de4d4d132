import { describe, expect, it } from "vitest"
import { CHUNKED, findHeader, framing } from "#src/platform/server/requestHead.ts"
import { headBytes, headTail, statusLine } from "#src/platform/server/responseHead.ts"
import { SendQueue } from "#src/platform/server/sending/SendQueue.ts"
import { random } from "./support/harness.ts"

describe("the send queue", () => {
  it("gives back every byte in order, in batches within the limit, whatever the sizes", () => {
    for (let seed = 1; seed <= 200; seed++) {
      const pick = random(seed)
      const queue = new SendQueue()
      const given: Array<Uint8Array> = []
      const taken: Array<Uint8Array> = []
      let counter = 0
      for (let step = 0; step < 60; step++) {
        if (pick(2) === 0) {
          const chunk = Uint8Array.from({ length: pick(50) }, () => counter++ % 256)
          given.push(chunk)
          queue.push(chunk)
        } else if (queue.bytes > 0) {
          const limit = 1 + pick(40)
          const before = queue.bytes
          const batch = queue.take(limit)
          expect(batch.length).toBeGreaterThan(0)
          expect(batch.length).toBeLessThanOrEqual(limit)
          expect(queue.bytes).toBe(before - batch.length)
          taken.push(batch)
        }
      }
      while (queue.bytes > 0) taken.push(queue.take(17))
      expect([seed, Buffer.concat(taken).equals(Buffer.concat(given))]).toEqual([seed, true])
    }
  })
})

describe("heads", () => {
  it("find repeated headers joined, cookies in their own way", () => {
    const headers = ["a", "1", "cookie", "x=1", "a", "2", "cookie", "y=2"]
    expect([findHeader(headers, "a"), findHeader(headers, "cookie"), findHeader(headers, "b")]).toEqual(["1, 2", "x=1; y=2", undefined])
  })

  it("know what body was declared", () => {
    const declared = (...headers: ReadonlyArray<string>) => framing("POST", "/", "", ["host", "x", ...headers])
    expect(declared()).toBe(0)
    expect(declared("content-length", "12")).toBe(12)
    expect(declared("transfer-encoding", "Chunked")).toBe(CHUNKED)
    for (const bad of [
      ["content-length", "1", "content-length", "1"],
      ["content-length", "-1"],
      ["content-length", "1e3"],
      ["content-length", ""],
      ["content-length", "1", "transfer-encoding", "chunked"],
      ["transfer-encoding", "gzip"]
    ]) {
      expect([bad, typeof declared(...bad)]).toEqual([bad, "string"])
    }
  })

  it("have status lines for final statuses only, and no line breaks in headers", () => {
    expect([statusLine(200), statusLine(299)]).toEqual(["200 OK", "299 Status"])
    for (const status of [0, 100, 199, 600, 200.5, NaN]) expect(() => statusLine(status)).toThrow(/200 to 599/)
    for (const bad of ["b\nc", "b\rc", "b\r\nc", "\n", "\r", "b\r", "\nb", "b\0"]) {
      expect(() => headTail(["a", bad])).toThrow(/"a" contains a line break/)
      expect(() => headTail(["x", "y", "a", bad])).toThrow(/"a" contains a line break/)
      expect(() => headTail(["a", bad, "x", "y"])).toThrow(/"a" contains a line break/)
      expect(() => headTail([`a${bad}`, "y"])).toThrow(/contains a line break/)
      expect(() => headTail(["x", "y", `a${bad}`, "y"])).toThrow(/contains a line break/)
    }
    expect(() => headTail(["a", 1 as unknown as string])).toThrow(/"a" is not text/)
    expect(() => headTail(["a"])).toThrow(/"a" is not text: give name and value/)
  })

  it("join a head into one text behind its first name, and bound its bytes from above", () => {
    const headers = ["a", "1", "b", "2", "Longer-Name", ""]
    const tail = headTail(headers)
    expect(tail).toBe("1\r\nb: 2\r\nLonger-Name: ")
    expect(headTail(["z", "9"])).toBe("9")
    expect(headTail(headers)).toBe(tail)
    expect(headBytes(headers, tail)).toBeGreaterThanOrEqual(`a: ${tail}\r\n`.length + 192)
    expect([headTail([]), headBytes([], "")]).toEqual(["", 192])
  })
})
