import { describe, expect, it } from "vitest"
import { parseWorst } from "#bench/http/translation.ts"
import { promptOf, shapes } from "#bench/micro/translate/prompts.ts"
import { measurePrompts, measureStreams, type Plan } from "#bench/micro/translate/measure.ts"
import { worstOf } from "#bench/micro/translate/run.ts"
import { chunksOf, families, kinds, streamOf } from "#bench/micro/translate/streams.ts"
import { clients } from "#src/wire/formats.ts"

const plan: Plan = { rounds: 1, events: 20, streams: 1, kinds, perChunk: [1, 16], prompts: [{ bytes: 5_000, shapes }], bytesPerRound: 1, warmUps: 3, faces: null, families: null }
const pairs = families.length * (clients.length - 1)

describe("the translation bench", () => {
  it("every pair understands every stream, alone and merged", () => {
    const costs = measureStreams(plan)
    expect(costs).toHaveLength(pairs * kinds.length * 2)
    expect(costs.every((cost) => Number.isFinite(cost.extra))).toBe(true)
  })

  it("every pair takes every long prompt that its face can say", () => {
    const said = clients.reduce((count, face) => count + shapes.filter((shape) => promptOf(face.name, shape, 5_000) !== null).length, 0)
    expect(measurePrompts(plan)).toHaveLength(said * families.length)
  })

  it("chunks hold the stream's bytes, whatever their size", () => {
    const stream = streamOf("responses", "unicode", 50)
    const [alone, merged] = [1, 16].map((perChunk) => chunksOf(stream, perChunk))
    expect(alone).toHaveLength(52)
    expect(merged).toHaveLength(6)
    expect(Buffer.concat(merged ?? []).equals(Buffer.concat(alone ?? []))).toBe(true)
  })

  it("arguments join to one JSON object", () => {
    const text = streamOf("chat-completions", "arguments", 40).events.map((event) => {
      const frame = JSON.parse(event.slice(6)) as { readonly choices: ReadonlyArray<{ readonly delta: { readonly tool_calls: ReadonlyArray<{ readonly function: { readonly arguments: string } }> } }> }
      return frame.choices[0]?.delta.tool_calls[0]?.function.arguments ?? ""
    }).join("")
    expect(Object.keys(JSON.parse(text) as object)).toEqual(["code"])
  })

  it("whole calls and merged chunks are not the dearest event", () => {
    const base = { best: 1, median: 1, passBest: 0, passMedian: 0, face: "messages" as const }
    const worst = worstOf([
      { ...base, family: "generateContent", kind: "arguments", perChunk: 1, extra: 9 },
      { ...base, family: "generateContent", kind: "text", perChunk: 16, extra: 8 },
      { ...base, family: "responses", kind: "arguments", perChunk: 1, extra: 2 },
      { ...base, family: "responses", kind: "text", perChunk: 1, extra: 1 }
    ], [])
    expect(worst.event?.extra).toBe(2)
    expect(worst.call?.extra).toBe(9)
    expect(worst.large).toBeNull()
  })

  it("prompts are judged by their size, and many messages on their own", () => {
    const base = { face: "messages" as const, family: "responses" as const, parse: 1, whole: 1, rewritten: 2 }
    const worst = worstOf([], [
      { ...base, shape: "text", bytes: 990_000, ratio: 1.1 }, { ...base, shape: "image", bytes: 990_000, ratio: 1.2 },
      { ...base, shape: "text", bytes: 99_000, ratio: 2 }, { ...base, shape: "many", bytes: 77_000, ratio: 5 },
      { ...base, shape: "agent", bytes: 98_000, ratio: 4 }, { ...base, shape: "agent", bytes: 98_000, ratio: 3 },
      { ...base, shape: "agent", bytes: 905_000, ratio: 6 }
    ])
    expect([worst.large?.ratio, worst.middle?.ratio, worst.many?.ratio, worst.agent?.ratio]).toEqual([1.2, 2, 5, 4])
  })

  it("the results are read from the last line, and anything else is refused by name", () => {
    const event = { face: "messages", family: "responses", kind: "text", extra: 1.25 }
    const prompt = { face: "responses", family: "messages", shape: "image", bytes: 100_000, ratio: 1.4 }
    const middle = { ...prompt, ratio: 2 }
    const many = { ...prompt, shape: "many", ratio: 4 }
    const agent = { ...prompt, shape: "agent", ratio: 3 }
    expect(parseWorst(`a warning\n${JSON.stringify({ worst: { event, large: prompt, middle, many, agent } })}\n`)).toEqual({
      event: { value: 1.25, pair: "messages responses text" }, large: { value: 1.4, pair: "responses messages image 100000" },
      middle: { value: 2, pair: "responses messages image 100000" },
      many: { value: 4, pair: "responses messages many 100000" },
      agent: { value: 3, pair: "responses messages agent 100000" }
    })
    expect(() => parseWorst(JSON.stringify({ worst: { event, large: null } }))).toThrow(/no large/)
    expect(() => parseWorst(JSON.stringify({ worst: { event, large: prompt, middle, many } }))).toThrow(/no agent/)
    expect(() => parseWorst(JSON.stringify({ worst: { event: { ...event, extra: null }, large: prompt, middle, many, agent } }))).toThrow(/event\.extra/)
  })
})
