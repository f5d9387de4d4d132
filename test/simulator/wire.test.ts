import { afterAll, beforeAll, expect, test } from "vitest"
import type { Script } from "#src/simulator/Simulator.ts"
import { type Sim, startSim } from "#test/support/sim.ts"
import { chat, eventsOf, raw, type RawReply } from "./rawClient.ts"

let sim: Sim
beforeAll(async () => {
  sim = await startSim()
})
afterAll(() => sim.stop())

const play = async (script: Script): Promise<RawReply> => {
  await sim.reset()
  await sim.rule({ script })
  return await raw(sim.port, chat("unicode", { stream_options: { include_usage: true } }))
}

/** Ids and times differ between replies: everything else must not. */
const essence = (reply: RawReply): ReadonlyArray<unknown> =>
  eventsOf(reply.body).map((data) => {
    if (data === "[DONE]") return data
    const { created: _, id: __, ...rest } = JSON.parse(data) as Record<string, unknown>
    return rest
  })

test.each<[string, Script]>([
  ["CRLF", { lineEnding: "CRLF" }],
  ["CR", { lineEnding: "CR" }],
  ["comments", { comments: "ROUTER PROCESSING" }],
  ["byte order mark", { bom: true }],
  ["no space after data", { dataSpace: false }],
  ["multi-line data", { multiLine: true }],
  ["id and retry fields", { extraFields: true }],
  ["everything at once", { lineEnding: "CRLF", comments: true, bom: true, dataSpace: false, multiLine: true, extraFields: true }],
  ["a byte per chunk", { split: "byte" }],
  ["seven bytes per chunk", { split: { every: 7 } }],
  ["random pieces", { split: { random: 3, max: 20 } }],
  ["random pieces, each its own segment", { split: { random: 3, max: 200, turns: true } }],
  ["three frames per segment", { burst: 3 }],
  ["paced", { paceMs: 0.5 }],
  ["paced, two tokens at a time, cut", { paceMs: 0.5, burst: 2, split: { every: 11 } }]
])("%s: the events are the same as those of the plain stream", async (_, script) => {
  const plain = essence(await play({}))
  expect(plain.length).toBeGreaterThan(10)
  expect(essence(await play(script))).toEqual(plain)
})

test("the cuts are where the script wants them", async () => {
  expect((await play({ split: "byte" })).chunks.every((chunk) => chunk.length === 1)).toBe(true)
  const sevens = (await play({ split: { every: 7 } })).chunks
  expect(sevens.slice(0, -1).every((chunk) => chunk.length === 7)).toBe(true)
  const lengths = async () => (await play({ split: { random: 5, max: 9 } })).chunks.map((chunk) => chunk.length)
  expect(await lengths()).toEqual(await lengths())
  const threes = (await play({ burst: 3 })).chunks
  expect(threes.slice(0, -1).every((chunk) => chunk.toString().split("\n\n").length === 4)).toBe(true)
})

test("a missing last newline leaves the final event unterminated", async () => {
  const reply = await play({ finalNewline: false })
  expect(reply.body.toString().endsWith("data: [DONE]")).toBe(true)
})

test("usage can be left out, overridden, or put where other vendors put it", async () => {
  const usages = async (script: Script) => {
    const reply = await play(script)
    return eventsOf(reply.body).filter((data) => data !== "[DONE]").map((data) => (JSON.parse(data) as { usage?: { prompt_tokens: number } | null }).usage)
  }
  expect((await usages({ usage: "omit" })).every((usage) => usage === undefined)).toBe(true)
  expect((await usages({ usage: { promptTokens: 12345, cachedTokens: 5 } })).at(-1)).toMatchObject({ prompt_tokens: 12345, prompt_tokens_details: { cached_tokens: 5 } })
  const finish = await usages({ usageOn: "finish" })
  expect(finish.filter((usage) => usage !== undefined && usage !== null).length).toBe(1)
  expect((await usages({ usageOn: "every" })).every((usage) => usage !== undefined && usage !== null)).toBe(true)
})

test("omitDone leaves out the terminal event and nothing else", async () => {
  const plain = essence(await play({}))
  expect(essence(await play({ omitDone: true }))).toEqual(plain.slice(0, -1))
})
