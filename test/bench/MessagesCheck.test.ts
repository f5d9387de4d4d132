import { describe, expect, it } from "vitest"
import { MessagesCheck } from "#bench/http/load/MessagesCheck.ts"
import { randomPieces } from "./splits.ts"

const script = { kind: "paced", intervalMs: 20, events: 5 } as const

const delta = (text: string): string =>
  `event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"${text}"}}\n\n`

const texts = Array.from({ length: 5 }, (_, index) => `0000000${index}@000000000000010${index} `)

const stream = (deltas: ReadonlyArray<string>, end = `event: message_stop\ndata: {"type":"message_stop"}\n\n`): Buffer =>
  Buffer.from(`event: message_start\ndata: {"type":"message_start","message":{"content":[]}}\n\n${deltas.map(delta).join("")}${end}`)

const check = (pieces: ReadonlyArray<Buffer>) => {
  const stamps: Array<number> = []
  const messages = new MessagesCheck(script, (stamp) => stamps.push(stamp))
  for (const piece of pieces) {
    const problem = messages.feed(piece, 0, piece.length)
    if (problem !== null) return { problem, stamps }
  }
  return { problem: messages.finish(), stamps }
}

describe("MessagesCheck", () => {
  it("joined text deltas must be the upstream's content, however the stream was cut", () => {
    for (let seed = 1; seed <= 100; seed++) {
      expect(check(randomPieces(stream(texts), seed, 1 + (seed % 70)))).toEqual({ problem: null, stamps: [100, 101, 102, 103, 104] })
    }
  })

  it("a target may merge deltas or split them", () => {
    const all = texts.join("")
    expect(check([stream([all])]).problem).toBeNull()
    expect(check([stream([all.slice(0, 13), all.slice(13, 61), all.slice(61)])]).problem).toBeNull()
  })

  it("a lost, doubled or swapped event and a missing end are found", () => {
    expect(check([stream(texts.slice(1))]).problem).toMatch(/event 0/)
    expect(check([stream([...texts.slice(0, 2), ...texts.slice(1)])]).problem).toMatch(/event 2/)
    expect(check([stream(texts.slice(0, 4))]).problem).toMatch(/4 of 5/)
    expect(check([stream(texts, "")]).problem).toMatch(/message_stop/)
  })
})
