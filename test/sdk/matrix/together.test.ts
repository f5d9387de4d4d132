/**
 * Every client towards every family at the same time, on streams that are silent for a while: what the gateway says meanwhile must
 * be nothing to any client, and no word may reach another one.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { FormatName } from "#schemas/wire/conversation.ts"
import { familiesFor, type Matrix, startMatrix } from "#test/support/families.ts"
import * as Http from "#test/support/http.ts"
import { anthropic } from "./anthropic.driver.ts"
import { genai } from "./genai.driver.ts"
import { ollama } from "./ollama.driver.ts"
import { openaiChat } from "./openaiChat.driver.ts"
import { openaiResponses } from "./openaiResponses.driver.ts"

const pairs = [openaiChat, openaiResponses, anthropic, genai, ollama].flatMap((driver) => familiesFor(driver.face).map((family) => ({ driver, family })))

/** A streamed request in each format, to look at the bytes. */
const raw = (face: FormatName, model: string): Http.Call => {
  const messages = [{ role: "user", content: "x" }]
  switch (face) {
    case "generateContent": return { path: `/v1beta/models/${model}:streamGenerateContent?alt=sse`, body: { contents: [{ role: "user", parts: [{ text: "x" }] }] } }
    case "responses": return { path: "/v1/responses", body: { model, input: "x", stream: true } }
    case "messages": return { path: "/v1/messages", body: { model, messages, max_tokens: 100, stream: true } }
    case "local-model-server": return { path: "/v1/api/chat", body: { model, messages } }
    default: return { path: "/v1/chat/completions", body: { model, messages, stream: true } }
  }
}

/** What an event stream says while nothing is to say; empty lines may be the first that it says. */
const idle = /^: keepalive|^event: ping$|^ +\{"model":"[^"]+","created_at"|"choices":\[\],?|"choices":\[\{"index":0,"delta":\{\}[^\n]*"finish_reason":null|\n\n\n\n|(?<![^])\n\n/m

describe.concurrent.each(["on", "off"] as const)("comment lines %s", (comments) => {
  let matrix: Matrix
  beforeAll(async () => {
    matrix = await startMatrix({ SSE_HEARTBEAT_INTERVAL_MS: "500", GATEWAY_EARLY_KEEPALIVE_MS: "100", GATEWAY_SSE_COMMENTS: comments })
  })
  afterAll(() => matrix.close())

  it("heartbeats before and between the words are nothing to every client; each hears its own words", async () => {
    const script = { ttftMs: 1100, paceMs: 1100 }
    const [heard, bytes] = await Promise.all([
      Promise.all(pairs.map(async ({ driver, family }, i) => {
        const model = await matrix.model(family, driver.face, `silent-${i}`, script)
        const talk = driver.open(matrix, { model: model.id })
        talk.say(`word${i} end${i}`)
        return talk.ask(true)
      })),
      Promise.all(pairs.map(async ({ driver, family }, i) => {
        const model = await matrix.model(family, driver.face, `bytes-${i}`, { text: "one two", ...script })
        const stream = await Http.stream(matrix.url, { ...raw(driver.face, model.id), headers: { authorization: `Bearer ${matrix.key}` } })
        return (await stream.ended).text
      }))
    ])
    expect(heard.map((one) => one.text)).toEqual(pairs.map((_, i) => `word${i} end${i}`))
    expect(heard.map((one) => one.finish)).toEqual(pairs.map(({ driver }) => driver.words.stop))
    pairs.forEach(({ driver, family }, i) => expect(bytes[i], `${driver.face} towards ${family.name}`).toMatch(idle))
    expect((await matrix.gateway.operator.settled()).gap).toBe(0)
  })

  it("a refusal that comes after the first heartbeat is every client's error", async () => {
    await Promise.all(pairs.map(async ({ driver, family }, i) => {
      const model = await matrix.model(family, driver.face, `late-${i}`, { status: 429, latencyMs: 1300, error: { message: "slow down please" } })
      const talk = driver.open(matrix, { model: model.id })
      talk.say("x")
      const outcome: unknown = await talk.ask(true).catch((error: unknown) => error)
      if (driver.broken === null) expect(outcome, `${driver.face} towards ${family.name}`).toBeInstanceOf(Error)
      else expect(outcome instanceof Error || (outcome as { finish?: string }).finish === driver.broken, `${driver.face} towards ${family.name}`).toBe(true)
    }))
  })
})
