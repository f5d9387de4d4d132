/** Upstreams that count no tokens, give zeros beside what they delivered, or more than any call has: prompt and answer are estimated, and the row says so. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { FormatName } from "#schemas/wire/conversation.ts"
import { families, type Matrix, startMatrix } from "#test/support/families.ts"
import * as Http from "#test/support/http.ts"

let matrix: Matrix
beforeAll(async () => {
  matrix = await startMatrix()
})
afterAll(() => matrix.close())

const TEXT = "Twelve words that are counted by nobody but the gateway's own tokenizer."
const messages = [{ role: "user", content: "Say something that is about twelve words long, please." }]
const faces: ReadonlyArray<readonly [format: FormatName, path: (model: string, stream: boolean) => string, body: Record<string, unknown>]> = [
  ["chat-completions", () => "/v1/chat/completions", { messages }],
  ["messages", () => "/v1/messages", { messages, max_tokens: 500 }],
  ["responses", () => "/v1/responses", { input: messages[0]?.content }],
  ["generateContent", (model, stream) => `/v1beta/models/${model}:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`, { contents: [{ role: "user", parts: [{ text: messages[0]?.content }] }] }],
  ["local-model-server", () => "/v1/api/chat", { messages }]
]
const zeros = { promptTokens: 0, completionTokens: 0, totalTokens: 0 }
/** What an unsigned count of 32 bits holds when a server takes one from none. */
const below = 4_294_967_295
const absurd = { promptTokens: below, completionTokens: below, totalTokens: below }
const rows = faces.flatMap(([format, path, body]) => families.flatMap((family) =>
  [true, false].flatMap((stream) => (["omit", zeros, absurd, { promptTokens: 7, completionTokens: 0, totalTokens: 7 }] as const).map((usage) =>
    [`${format} over ${family.name}, ${stream ? "streamed" : "whole"}, ${usage === "omit" ? "no usage" : `${usage.promptTokens} and ${usage.completionTokens}`}`, { format, path, body, family, stream, usage }] as const))))

let made = 0
describe("an answer that nobody counted", () => {
  it.each(rows)("%s", async (_, { body, family, format, path, stream, usage }) => {
    const model = await matrix.model(family, format, `uncounted-${++made}`, { text: TEXT, usage })
    const reply = await Http.send(matrix.url, {
      path: path(model.id, stream), headers: { authorization: `Bearer ${matrix.key}` },
      body: format === "generateContent" ? body : { ...body, model: model.id, stream }
    })
    expect(reply.status, reply.text).toBe(200)
    const [row] = await matrix.rows(reply.headers["x-gateway-request-id"] ?? "")
    expect(row).toMatchObject({ outcome: "completed", estimated: true })
    expect(row?.tokensOut).toBeGreaterThan(8)
    expect(row?.tokensOut).toBeLessThan(30)
    if (usage !== "omit" && usage.promptTokens === 7) expect(row?.tokensIn).toBe(7)
    else {
      expect(row?.tokensIn).toBeGreaterThan(6)
      expect(row?.tokensIn).toBeLessThan(60)
    }
  })
})

it("vectors of a server whose count is no count of tokens have the estimate of their texts", async () => {
  const model = await matrix.model(families[0]!, "chat-completions", "uncounted-vectors", {
    body: { object: "list", data: [{ object: "embedding", index: 0, embedding: [0.25, 0.5] }], model: "m", usage: { prompt_tokens: 2 ** 64, total_tokens: 2 ** 64 } }
  })
  const reply = await Http.send(matrix.url, { path: "/v1/embeddings", headers: { authorization: `Bearer ${matrix.key}` }, body: { model: model.id, input: TEXT } })
  expect(reply.status, reply.text).toBe(200)
  const [row] = await matrix.rows(reply.headers["x-gateway-request-id"] ?? "")
  expect(row).toMatchObject({ outcome: "completed", estimated: true, tokensOut: 0 })
  expect(row?.tokensIn).toBeGreaterThan(8)
  expect(row?.tokensIn).toBeLessThan(30)
})
