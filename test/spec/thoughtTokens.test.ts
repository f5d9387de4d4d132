/** Vendors of chat completions that count thoughts beside the completion: the client, the ledger and the cost know both. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { families, type Matrix, startMatrix } from "#test/support/families.ts"
import * as Http from "#test/support/http.ts"

let matrix: Matrix
beforeAll(async () => {
  matrix = await startMatrix()
})
afterAll(() => matrix.close())

const chat = families.find(({ name }) => name === "chat-completions")!
const messages = [{ role: "user", content: "Say 4." }]
const beside = { promptTokens: 12, completionTokens: 2, reasoningTokens: 317, totalTokens: 331 }
const within = { promptTokens: 12, completionTokens: 319, reasoningTokens: 317, totalTokens: 331 }

describe.each([["beside the completion", beside], ["within the completion", within]] as const)("thoughts counted %s", (how, usage) => {
  it.each([["/v1/chat/completions", false], ["/v1/chat/completions", true], ["/v1/messages", false], ["/v1/messages", true]] as const)("are counted once: %s, streamed %s", async (path, stream) => {
    const label = `${how.slice(0, 6)}-${path.slice(4, 8)}-${stream}`
    const { id, name } = await matrix.model(chat, "chat-completions", label, { text: "4", usage })
    await matrix.price("chat", name)
    const reply = await Http.send(matrix.url, { path, headers: { authorization: `Bearer ${matrix.key}` }, body: { model: id, messages, stream, max_tokens: 500 } })
    expect(reply.status, reply.text).toBe(200)
    if (path === "/v1/messages") expect(reply.text).toContain("\"output_tokens\":319")
    const [row] = await matrix.rowsOf(name, 1)
    expect(row).toMatchObject({ tokensIn: 12, tokensOut: 319, estimated: false })
    expect(row?.costUsd).toBeCloseTo((12 * 1 + 319 * 10) / 1e6, 9)
  })
})
