import { describe, expect, it } from "vitest"
import { bulkEvents, chunked, expectedStream, modelOf, type Script, scriptOf, type StreamScript } from "#bench/http/payload.ts"

const scripts: ReadonlyArray<Script> = [
  { kind: "json" },
  { kind: "paced", intervalMs: 20, events: 400 },
  { kind: "burst", events: 256 },
  { kind: "bulk", events: 10 }
]

describe("payload", () => {
  it("a model name tells its script, and nothing else is a script", () => {
    for (const script of scripts) expect(scriptOf(modelOf(script))).toEqual(script)
    for (const model of ["", "m-", "m-paced-20", "m-burst-1-2", "bench/m-json", "gpt-4"]) expect(scriptOf(model)).toBeNull()
  })

  it("every event is one JSON chunk, the last one is [DONE], and usage counts the events", () => {
    for (const script of scripts.filter((each): each is StreamScript => each.kind !== "json")) {
      const events = expectedStream(script).bytes.toString("latin1").split("\n\n").slice(0, -1)
      expect(events).toHaveLength(script.events + 4)
      expect(events.at(-1)).toBe("data: [DONE]")
      for (const event of events.slice(0, -1)) expect(() => JSON.parse(event.slice("data: ".length))).not.toThrow()
      expect(events.at(-2)).toContain(`"completion_tokens":${script.events}`)
    }
  })

  it("the stamps lie where the check looks for them", () => {
    const { bytes, stampAt, period, stamps } = expectedStream({ kind: "paced", intervalMs: 20, events: 3 })
    for (let index = 0; index < stamps; index++) {
      const at = stampAt + index * period
      expect(bytes.toString("latin1", at - 9, at + 17)).toBe(`0000000${index}@${"0".repeat(16)} `)
    }
  })

  it("a bulk stream of n megabytes has at least that many bytes", () => {
    const { bytes } = expectedStream({ kind: "bulk", events: bulkEvents(1) })
    expect(bytes.length).toBeGreaterThanOrEqual(1024 * 1024)
    expect(bytes.length).toBeLessThan(1.01 * 1024 * 1024)
  })

  it("a chunk carries its length in hexadecimal", () => {
    expect(chunked("x".repeat(26))).toBe(`1a\r\n${"x".repeat(26)}\r\n`)
  })
})
