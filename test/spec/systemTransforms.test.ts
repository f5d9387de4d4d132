/** The setting systemTransforms over HTTP: what the models of a provider are given as instructions, in every format. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import type { FormatName } from "#schemas/wire/conversation.ts"
import { converged } from "#test/support/cluster.ts"
import { type Family, families, type Matrix, startMatrix } from "#test/support/families.ts"
import * as Http from "#test/support/http.ts"
import { errorIn } from "#test/support/lab.ts"

let matrix: Matrix
beforeAll(async () => {
  matrix = await startMatrix()
})
afterAll(() => matrix.close())
afterEach(() => set({}))

const set = async (systemTransforms: unknown): Promise<void> => {
  await matrix.gateway.operator.call("PATCH", "/api/settings", { systemTransforms })
  await converged(matrix.gateway)
}
const own = "Be brief.\n\nSee internal.example for more.\n\nCall the user Captain."
const question = "What does internal.example say, Captain?"
const user = { role: "user", content: question }

const pipeline = [
  { kind: "drop_paragraph_if_contains", needles: ["INTERNAL.example"], caseSensitive: false },
  { kind: "replace_text", match: "Captain", replacement: "$& Friend" },
  { kind: "prepend_system_block", text: "House rules." },
  { kind: "append_system_block", text: "Last rules." },
  { kind: "append_system_block", text: "Last rules." }
]

const faces: ReadonlyArray<readonly [FormatName, (model: string) => { readonly path: string; readonly body: Record<string, unknown> }]> = [
  ["chat-completions", (model) => ({ path: "/v1/chat/completions", body: { model, messages: [{ role: "system", content: own }, user] } })],
  ["messages", (model) => ({ path: "/v1/messages", body: { model, max_tokens: 100, system: [{ type: "text", text: own }], messages: [user] } })],
  ["responses", (model) => ({ path: "/v1/responses", body: { model, instructions: own, input: question } })],
  ["generateContent", (model) => ({
    path: `/v1beta/models/${model}:generateContent`, body: { systemInstruction: { parts: [{ text: own }] }, contents: [{ role: "user", parts: [{ text: question }] }] }
  })],
  ["local-model-server", (model) => ({ path: "/v1/api/chat", body: { model, stream: false, messages: [{ role: "system", content: own }, user] } })]
]

const send = async (said: { readonly path: string; readonly body: unknown }): Promise<void> => {
  const reply = await Http.send(matrix.url, { ...said, headers: { authorization: `Bearer ${matrix.key}` } })
  expect(reply.status, reply.text).toBe(200)
}
const told = async (name: string): Promise<string> => JSON.stringify((await matrix.entries(name)).at(-1)?.body)
const placesOf = (text: string, ...words: ReadonlyArray<string>): ReadonlyArray<number> => words.map((word) => text.indexOf(word))

describe.each(faces)("what a client of %s says", (face, say) => {
  it.each(families.map((family) => [family.name, family] as const))("to %s has other instructions and the same question", async (_name, family) => {
    await set({ providers: { "*": { pipeline } } })
    const { id, name } = await matrix.model(family, face, `transformed-${face}`.toLowerCase())
    await send(say(id))
    const body = await told(name)
    expect(body).not.toContain("See internal")
    expect(body.split("Last rules.")).toHaveLength(2)
    const places = placesOf(body, "House rules.", "Be brief.", "Call the user $& Friend.", "Last rules.")
    expect(places).toEqual([...places].sort((a, b) => a - b))
    expect(places).not.toContain(-1)
    expect(body).toContain(question)
  })
})

describe("transforms", () => {
  const [chat, messages] = families as readonly [Family, Family]
  const chatOf = (model: string, ...instructions: ReadonlyArray<unknown>) => ({ path: "/v1/chat/completions", body: { model, messages: [...instructions.map((content) => ({ role: "system", content })), user] } })

  it("are of the provider that they name, behind those of every provider", async () => {
    await set({ providers: { "*": { pipeline: [{ kind: "append_system_block", text: "All." }] }, chat: { pipeline: [{ kind: "append_system_block", text: "Chat alone." }] }, msgs: { enabled: false, pipeline } } })
    const [one, other] = [await matrix.model(chat, "chat-completions", "named"), await matrix.model(messages, "chat-completions", "unnamed")]
    await send(chatOf(one.id, own))
    await send(chatOf(other.id, own))
    const [first, second] = [await told(one.name), await told(other.name)]
    expect(placesOf(first, "All.", "Chat alone.")).toEqual([...placesOf(first, "All.", "Chat alone.")].sort((a, b) => a - b))
    expect(first).toContain("Chat alone.")
    expect(second).toContain("All.")
    expect(second).not.toContain("Chat alone.")
    expect(second).toContain("See internal.example")
  })

  it("take a message out of which nothing is left", async () => {
    await set({ providers: { chat: { pipeline: [{ kind: "drop_block_if_contains", needles: ["secret"] }] } } })
    const { id, name } = await matrix.model(chat, "chat-completions", "dropped")
    await send({ path: "/v1/chat/completions", body: `{"model":"${id}", "messages":[{"role":"system","content":[{"type":"text","text":"a secret"},{"type":"text","text":"secrets"}]},{"role":"system","content":[{"type":"text","text":"stays"},{"type":"text","text":"a secret"}]},{"role":"user","content":"the secret"}]}` })
    expect((await matrix.entries(name)).at(-1)?.body).toMatchObject({ messages: [{ role: "system", content: [{ type: "text", text: "stays" }] }, { role: "user", content: "the secret" }] })
  })

  it("hold for a long body, too", async () => {
    await set({ providers: { "*": { pipeline } } })
    const { id, name } = await matrix.model(chat, "chat-completions", "long")
    await send({ path: "/v1/chat/completions", body: { model: id, messages: [{ role: "system", content: own }, user, { role: "assistant", content: "é\\ \"x\" ".repeat(60_000) }, user] } })
    const body = await told(name)
    expect(body.length).toBeGreaterThan(500_000)
    expect(body).not.toContain("See internal")
    expect(body).toContain("Call the user $& Friend.")
  })
})

describe("a transform that is none", () => {
  it.each([
    [{ providers: { chat: { pipeline: [{ kind: "obfuscate_words", words: ["x"] }] } } }],
    [{ providers: { chat: { pipeline: [{ kind: "replace_text", match: "", replacement: "x" }] } } }],
    [{ providers: { chat: { pipeline: [{ kind: "drop_block_if_contains", needles: [] }] } } }],
    [{ providers: { chat: { pipeline: "all" } } }],
    [{ provider: {} }]
  ])("is refused: %j", async (systemTransforms) => {
    const reply = await matrix.gateway.operator.raw("PATCH", "/api/settings", { systemTransforms })
    expect(reply.status).toBe(400)
    expect(JSON.stringify(errorIn(reply))).toContain("systemTransforms")
  })
})
