/** The vendors' own clients read streams in which guardrails have held text back, changed it, and said it in events of their own. */
import Anthropic from "@anthropic-ai/sdk"
import { GoogleGenAI } from "@google/genai"
import { Ollama } from "ollama"
import OpenAI from "openai"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Family, families, type Matrix, startMatrix } from "#test/support/families.ts"

let matrix: Matrix
beforeAll(async () => {
  matrix = await startMatrix()
  await matrix.gateway.operator.setFlag("PII_RESPONSE_SANITIZATION", "true")
})
afterAll(() => matrix.close())

/** The text ends within what is held. */
const content = "Call +44 20 7183 8750 or write to jane.doe@example.com"
const left = "Call [PHONE_REDACTED] or write to [EMAIL_REDACTED]"
const messages = [{ role: "user" as const, content }]

describe.each(families.map((family): readonly [string, Family] => [family.name, family]))("a stream from %s", (name, family) => {
  it("is read by openai's chat completions", async () => {
    const { id } = await matrix.model(family, "chat-completions", `sdk-chat-${name}`.toLowerCase())
    const openai = new OpenAI({ baseURL: `${matrix.url}/v1`, apiKey: matrix.key, maxRetries: 0 })
    const [choice] = (await openai.chat.completions.stream({ model: id, messages }).finalChatCompletion()).choices
    expect([choice?.message.content, choice?.finish_reason]).toEqual([left, "stop"])
  })

  it("is read by openai's responses, whose events are numbered", async () => {
    const { id } = await matrix.model(family, "responses", `sdk-responses-${name}`.toLowerCase())
    const openai = new OpenAI({ baseURL: `${matrix.url}/v1`, apiKey: matrix.key, maxRetries: 0 })
    const stream = openai.responses.stream({ model: id, input: content })
    const numbers: Array<number> = []
    let said = ""
    for await (const event of stream) {
      numbers.push(event.sequence_number)
      if (event.type === "response.output_text.delta") said += event.delta
    }
    expect([said, (await stream.finalResponse()).output_text]).toEqual([left, left])
    expect(numbers).toEqual(numbers.map((_, i) => i))
  })

  it("is read by anthropic's messages", async () => {
    const { id } = await matrix.model(family, "messages", `sdk-messages-${name}`.toLowerCase())
    const anthropic = new Anthropic({ baseURL: matrix.url, apiKey: matrix.key, maxRetries: 0 })
    const message = await anthropic.messages.stream({ model: id, max_tokens: 100, messages }).finalMessage()
    expect([message.content, message.stop_reason]).toMatchObject([[{ type: "text", text: left }], "end_turn"])
  })

  it("is read by google's generateContent", async () => {
    const { id } = await matrix.model(family, "generateContent", `sdk-genai-${name}`.toLowerCase())
    const google = new GoogleGenAI({ apiKey: matrix.key, httpOptions: { baseUrl: matrix.url } })
    let said = ""
    for await (const chunk of await google.models.generateContentStream({ model: id, contents: content })) said += chunk.text ?? ""
    expect(said).toBe(left)
  })

  it("is read by ollama's chat", async () => {
    const { id } = await matrix.model(family, "local-model-server", `sdk-local-${name}`.toLowerCase())
    const ollama = new Ollama({ host: `${matrix.url}/v1`, headers: { authorization: `Bearer ${matrix.key}` } })
    let said = ""
    for await (const { message } of await ollama.chat({ model: id, messages, stream: true })) said += message.content
    expect(said).toBe(left)
  })
})
