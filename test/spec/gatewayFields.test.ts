/** What a request body says to the gateway alone reaches no upstream, in its own family or another; all else of it stays. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { FormatName } from "#schemas/wire/conversation.ts"
import { families, type Matrix, startMatrix } from "#test/support/families.ts"
import * as Http from "#test/support/http.ts"

let matrix: Matrix
beforeAll(async () => {
  matrix = await startMatrix()
})
afterAll(() => matrix.close())

const turn = (content: string) => [{ role: "user", content }]

type Say = (model: string, text: string) => { readonly path: string; readonly body: Readonly<Record<string, unknown>> }
const faces: ReadonlyArray<readonly [FormatName, Say]> = [
  ["chat-completions", (model, text) => ({ path: "/v1/chat/completions", body: { model, messages: turn(text) } })],
  ["messages", (model, text) => ({ path: "/v1/messages", body: { model, max_tokens: 50, messages: turn(text) } })],
  ["responses", (model, text) => ({ path: "/v1/responses", body: { model, input: text } })],
  ["completions", (model, text) => ({ path: "/v1/completions", body: { model, prompt: text } })],
  ["local-model-server", (model, text) => ({ path: "/v1/api/chat", body: { model, stream: false, messages: turn(text) } })],
  ["generateContent", (model, text) => ({ path: `/v1beta/models/${model}:generateContent`, body: { contents: [{ role: "user", parts: [{ text }] }] } })]
]

const off = ["pii-masker"]
const named = "disabledGuardrails"
const padding = "é\\ \"x\" ".repeat(60_000)

describe.each(faces)("a request of the format %s", (face, say) => {
  it.each(families.map((family) => [family.name, family] as const))("keeps them from %s", async (_name, family) => {
    for (const [label, text] of [["short", "Hello."], ["long", padding]] as const) {
      const { id, name } = await matrix.model(family, face, `fields-${face}-${label}`.toLowerCase())
      const { body, path } = say(id, text)
      const reply = await Http.send(matrix.url, {
        path, headers: { authorization: `Bearer ${matrix.key}` }, body: { ...body, [named]: off, metadata: { [named]: off } }
      })
      expect(reply.status, reply.text.slice(0, 300)).toBe(200)
      const [entry] = await matrix.entries(name)
      const sent = JSON.stringify(entry?.body)
      expect(sent.length).toBeGreaterThan(text.length)
      expect(sent).not.toContain(named)
      expect(entry?.body).not.toHaveProperty("metadata")
    }
  })
})

describe("what stands beside them", () => {
  it("stays: other metadata, and the word where it is the prompt's", async () => {
    const [family] = families
    if (family === undefined) throw new Error("no family")
    const { id, name } = await matrix.model(family, "chat-completions", "fields-beside")
    const prompt = `What does "${named}" do?`
    const reply = await Http.send(matrix.url, {
      path: "/v1/chat/completions", headers: { authorization: `Bearer ${matrix.key}` },
      body: { [named]: off, model: id, store: true, metadata: { user: "u", [named]: off, team: "t" }, messages: turn(prompt) }
    })
    expect(reply.status, reply.text).toBe(200)
    const [entry] = await matrix.entries(name)
    expect(entry?.body).toEqual({ model: name, store: true, metadata: { user: "u", team: "t" }, messages: turn(prompt) })
  })

  it("is what a provider is asked to count", async () => {
    const family = families[1]
    if (family === undefined) throw new Error("no family")
    const { id, name } = await matrix.model(family, "messages", "fields-count")
    const reply = await Http.send(matrix.url, {
      path: "/v1/messages/count_tokens", headers: { authorization: `Bearer ${matrix.key}` },
      body: { model: id, messages: turn("Hello."), [named]: off, metadata: { [named]: off } }
    })
    expect(reply.status, reply.text).toBe(200)
    const entries = await matrix.entries(name)
    expect(entries.map(({ body }) => body)).toEqual([{ model: name, messages: turn("Hello.") }])
  })
})
