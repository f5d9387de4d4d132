/** Every client format that can ask for thinking, in all its ways, against every upstream family: the upstream is asked too. */
import { describe, expect, it } from "vitest"
import { PublicError } from "#schemas/errors.ts"
import type { FamilyName, FormatName } from "#schemas/wire/conversation.ts"
import * as Formats from "#src/wire/formats.ts"
import type { Json, TargetTraits } from "#src/wire/WireFormat.ts"

const messages = [{ role: "user", content: "Prove it." }]
const chat: Json = { model: "m", messages }
const message: Json = { model: "m", max_tokens: 20_000, messages }
const google: Json = { model: "m", contents: [{ role: "user", parts: [{ text: "Prove it." }] }] }

const asks: ReadonlyArray<readonly [FormatName, Json]> = [
  ...([true, "low", "medium", "high"].map((think) => ["local-model-server", { ...chat, think }] as const)),
  ["chat-completions", { ...chat, reasoning_effort: "high" }],
  ["chat-completions", { ...chat, reasoning: { enabled: true } }],
  ["chat-completions", { ...chat, thinking: { type: "enabled" } }],
  ["chat-completions", { ...chat, thinking: { type: "auto" } }],
  ["chat-completions", { ...chat, enable_thinking: true }],
  ["messages", { ...message, thinking: { type: "enabled", budget_tokens: 4096 } }],
  ["messages", { ...message, thinking: { type: "adaptive" } }],
  ["responses", { model: "m", input: "Prove it.", reasoning: { effort: "medium" } }],
  ["generateContent", { ...google, generationConfig: { thinkingConfig: { includeThoughts: true } } }],
  ["generateContent", { ...google, generationConfig: { thinkingConfig: { thinkingBudget: -1 } } }],
  ["generateContent", { ...google, generationConfig: { thinkingConfig: { thinkingLevel: "HIGH" } } }]
]

const models: Readonly<Record<FamilyName, string>> = {
  "chat-completions": "gpt-5.1", "messages": "claude-sonnet-4-5", "responses": "gpt-5.1", "generateContent": "gemini-3-flash", "local-model-server": "qwen3"
}

/** What asks for thinking in a body of the family; undefined when nothing does. */
const asked: Readonly<Record<FamilyName, (body: Json) => unknown>> = {
  "chat-completions": (body) => body["reasoning_effort"],
  "messages": (body) => body["thinking"],
  "responses": (body) => (body["reasoning"] as Json | undefined)?.["effort"],
  "generateContent": (body) => (body["generationConfig"] as Json | undefined)?.["thinkingConfig"],
  "local-model-server": (body) => body["think"]
}
const off: ReadonlyArray<unknown> = [undefined, false, "none", { type: "disabled" }]

const bodyFor = (face: FormatName, request: Json, family: FamilyName, traits: Partial<TargetTraits> = {}): Json => {
  const conversation = Formats.client(face).decodeRequest(request)
  if (conversation instanceof PublicError) throw conversation
  const encoded = Formats.family(family).encodeRequest(conversation, {
    model: models[family], stream: true, maxOutputTokens: null, reasoning: true, streamOptions: true, previousResponseId: "auto", ...traits
  })
  if (encoded instanceof PublicError) throw encoded
  return JSON.parse(encoded.body) as Json
}

const families = Object.keys(models) as ReadonlyArray<FamilyName>
const table = asks.flatMap(([face, request]) => families.map((family) => {
  const { messages: _m, contents: _c, input: _i, model: _o, max_tokens: _t, ...words } = request
  return { face, family, words: JSON.stringify(words), request }
}))

describe("a client that asks for thinking", () => {
  it.each(table)("$face $words asks $family", ({ face, family, request }) => {
    expect(off).not.toContainEqual(asked[family](bodyFor(face, request, family)))
  })

  it.each([true, null])("think of the local model server face is asked of responses in its level, with the thoughts shown (model known to reason: %s)", (reasoning) => {
    const said = [true, "low", "medium", "high"].map((think) => bodyFor("local-model-server", { ...chat, think }, "responses", { reasoning })["reasoning"])
    expect(said).toEqual(["medium", "low", "medium", "high"].map((effort) => ({ effort, summary: "auto" })))
  })

  it.each([["gpt-5.1", "none"], ["gpt-5", "minimal"], ["o4-mini", "low"]])("think: false is the least that %s takes: %s", (model, effort) => {
    for (const family of ["chat-completions", "responses"] as const) {
      const body = bodyFor("local-model-server", { ...chat, think: false }, family, { model })
      expect([family, asked[family](body)]).toEqual([family, effort])
    }
  })
})
