/** The last progress frame stands before the event that ends the stream, in every format of a client, and has the time of then. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { type Lab, startLab } from "#test/support/lab.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab()
})
afterAll(() => lab.close())

const turns = [{ role: "user", content: "Hello" }]
const faces = [
  { face: "chat-completions", path: "/v1/chat/completions", body: { messages: turns, stream: true }, last: "data: [DONE]", fails: ["\"error\"", "data: [DONE]"] },
  { face: "completions", path: "/v1/completions", body: { prompt: "Hello", stream: true }, last: "data: [DONE]", fails: ["\"error\"", "data: [DONE]"] },
  { face: "messages", path: "/v1/messages", body: { max_tokens: 64, messages: turns, stream: true }, last: "message_stop", fails: ["event: error"] },
  { face: "responses", path: "/v1/responses", body: { input: "Hello", stream: true }, last: "response.completed", fails: ["response.failed"] }
] as const

const ask = (face: { readonly path: string; readonly body: object }, model: string) =>
  Http.send(lab.gateway.url, { path: face.path, headers: { "x-gateway-progress": "true" }, body: { model: `lab/${model}`, ...face.body } })

/** The events of a stream, in their order. */
const eventsOf = ({ text }: Http.Reply): ReadonlyArray<string> => text.split("\n\n").filter((event) => event.trim() !== "")
const progressIn = (events: ReadonlyArray<string>): ReadonlyArray<{ readonly tokens_generated: number; readonly elapsed_ms: number; readonly done?: boolean }> =>
  events.filter((event) => event.startsWith("event: progress")).map((event) => JSON.parse(event.slice(event.indexOf("{"))) as never)

describe.each(faces)("a client of $face", (face) => {
  it("gets the last progress frame before the end of the stream", async () => {
    await lab.sim.rule({ match: { model: `whole-${face.face}` }, script: { tokens: 3 } })
    const events = eventsOf(await ask(face, `whole-${face.face}`))
    expect(events.at(-1)).toContain(face.last)
    expect(events.at(-2)).toMatch(/^event: progress\ndata: \{.*"done":true\}$/)
    expect(progressIn(events)).toEqual([{ tokens_generated: expect.any(Number), elapsed_ms: expect.any(Number), done: true }])
    expect(progressIn(events)[0]?.tokens_generated).toBeGreaterThanOrEqual(3)
  })

  it("gets it before the end of a stream that broke, too", async () => {
    await lab.sim.rule({ match: { model: `broken-${face.face}` }, script: { tokens: 8, paceMs: 5, resetAfter: { frames: 4 } } })
    const events = eventsOf(await ask(face, `broken-${face.face}`))
    const ends = events.filter((event) => face.fails.some((word) => event.includes(word)))
    expect(ends.length).toBe(face.fails.length)
    expect(events.at(-1)).toBe(ends.at(-1))
    expect(events.at(-2)).toContain("\"done\":true")
    expect(progressIn(events).length).toBe(1)
  })
})

it("a stream of a format without an event for its end has it last", async () => {
  const reply = await Http.send(lab.gateway.url, {
    path: "/v1beta/models/lab/tokens-3:streamGenerateContent?alt=sse", headers: { "x-gateway-progress": "true" }, body: { contents: [{ role: "user", parts: [{ text: "Hello" }] }] }
  })
  expect(eventsOf(reply).at(-1)).toContain("\"done\":true")
  expect(progressIn(eventsOf(reply)).length).toBe(1)
})

it("its time is that of the end, also of a stream that was shorter than the time between two looks at it", async () => {
  await lab.sim.rule({ match: { model: "paced" }, script: { tokens: 5, paceMs: 25 } })
  const [last] = progressIn(eventsOf(await ask(faces[0], "paced")))
  expect(last?.elapsed_ms).toBeGreaterThanOrEqual(100)
})
