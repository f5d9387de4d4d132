import { describe, expect, it } from "vitest"
import { ContentCheck } from "#bench/http/ContentCheck.ts"
import { answer, expectedAnswer, expectedStream, type StreamScript } from "#bench/http/payload.ts"
import { randomPieces } from "./splits.ts"

const paced: StreamScript = { kind: "paced", intervalMs: 20, events: 7 }
const burst: StreamScript = { kind: "burst", events: 9 }

/** The stream as the mock would send it: clock stamps in place of the zeros. */
const sent = (script: StreamScript): Buffer => {
  let stamp = 1_000_000_000
  return Buffer.from(expectedStream(script).bytes.toString("latin1").replaceAll("@0000000000000000", () => `@${String(++stamp).padStart(16, "0")}`), "latin1")
}

const check = (script: StreamScript, pieces: ReadonlyArray<Buffer>) => {
  const stamps: Array<number> = []
  const content = new ContentCheck(expectedStream(script), (stamp) => stamps.push(stamp))
  for (const piece of pieces) {
    const problem = content.feed(piece, 0, piece.length)
    if (problem !== null) return { problem, stamps, comments: content.comments }
  }
  return { problem: content.finish(), stamps, comments: content.comments }
}

describe("ContentCheck", () => {
  it("a whole stream is right and every stamp is read, however it was cut", () => {
    const stamps = [1, 2, 3, 4, 5, 6, 7].map((each) => 1_000_000_000 + each)
    for (let seed = 1; seed <= 200; seed++) {
      expect(check(paced, randomPieces(sent(paced), seed, 1 + (seed % 300)))).toEqual({ problem: null, stamps, comments: 0 })
    }
  })

  it("every single lost byte is found", () => {
    const whole = sent(burst)
    for (let lost = 0; lost < whole.length; lost++) {
      const damaged = Buffer.concat([whole.subarray(0, lost), whole.subarray(lost + 1)])
      expect(check(burst, [damaged]).problem, `byte ${lost}`).not.toBeNull()
    }
  })

  it("a doubled, swapped or missing event is found", () => {
    const events = sent(burst).toString("latin1").split(/(?<=\n\n)/)
    const damaged = [
      [...events.slice(0, 3), events[2] ?? "", ...events.slice(3)],
      [...events.slice(0, 2), events[3] ?? "", events[2] ?? "", ...events.slice(4)],
      [...events.slice(0, 4), ...events.slice(5)]
    ]
    for (const variant of damaged) expect(check(burst, [Buffer.from(variant.join(""))]).problem).toMatch(/expected/)
  })

  it("a stream cut short and a stream with more after its end are found", () => {
    const whole = sent(burst)
    expect(check(burst, [whole.subarray(0, -1)]).problem).toMatch(/missing at the end/)
    expect(check(burst, [Buffer.concat([whole, Buffer.from("x")])]).problem).toMatch(/too many/)
  })

  it("a stamp that is no number is found", () => {
    const damaged = Buffer.from(sent(paced).toString("latin1").replace(/@\d{16}/, `@${"z".repeat(16)}`))
    expect(check(paced, [damaged]).problem).toMatch(/digit/)
  })

  it("SSE comments between events are counted, not compared, however they are cut", () => {
    const commented = Buffer.from(`: hello\n\n${sent(paced).toString("latin1").replaceAll("\n\n", "\n\n: keep-alive\n\n")}`)
    for (let seed = 1; seed <= 100; seed++) {
      const result = check(paced, randomPieces(commented, seed, 1 + (seed % 90)))
      expect({ problem: result.problem, comments: result.comments, stamps: result.stamps.length }).toEqual({
        problem: null, comments: 12, stamps: 7
      })
    }
  })

  it("a comment inside an event, or in an answer that is no stream, is wrong", () => {
    const inside = Buffer.from(sent(burst).toString("latin1").replace("{", "{\n\n: x\n\n"))
    expect(check(burst, [inside]).problem).toMatch(/expected/)
    const content = new ContentCheck(expectedAnswer)
    expect(content.feed(Buffer.from(": x\n\n"), 0, 5)).toMatch(/expected/)
    const right = new ContentCheck(expectedAnswer)
    expect(right.feed(answer, 0, answer.length)).toBeNull()
    expect(right.finish()).toBeNull()
  })
})
