/** Words that vendors add to their lists: in another format they are left out and listed, never a reason to refuse the request. */
import { describe, expect, it } from "vitest"
import { PublicError } from "#schemas/errors.ts"
import type { FamilyName, FormatName } from "#schemas/wire/conversation.ts"
import { clients, family } from "#src/wire/formats.ts"

const names: ReadonlyArray<FamilyName> = ["chat-completions", "messages", "responses", "generateContent", "local-model-server"]
const say = [{ role: "user", content: "Hi" }]
const cases: ReadonlyArray<readonly [FormatName, string, Record<string, unknown>, string]> = [
  ["responses", "reasoning.effort", { input: "Hi", reasoning: { effort: "ultra" } }, "reasoning.effort"],
  ["responses", "text.verbosity", { input: "Hi", text: { verbosity: "epic" } }, "text.verbosity"],
  ["responses", "include", { input: "Hi", include: ["thoughts.of.tomorrow"] }, "include"],
  ["responses", "prompt_cache_retention", { input: "Hi", prompt_cache_retention: "7d" }, "prompt_cache_retention"],
  ["responses", "service_tier", { input: "Hi", service_tier: "economy" }, "service_tier"],
  ["responses", "a detail of an image", { input: [{ role: "user", content: [{ type: "input_image", image_url: "data:image/png;base64,AAAA", detail: "ultra" }] }] }, "detail"],
  ["chat-completions", "reasoning_effort", { messages: say, reasoning_effort: "ultra" }, "reasoning_effort"],
  ["chat-completions", "thinking", { messages: say, thinking: { type: "lazy" } }, "thinking"],
  ["chat-completions", "service_tier", { messages: say, service_tier: "economy" }, "service_tier"],
  ["messages", "thinking", { max_tokens: 9, messages: say, thinking: { type: "lazy", depth: 3 } }, "thinking"],
  ["messages", "thinking.display", { max_tokens: 9, messages: say, thinking: { type: "adaptive", display: "condensed" } }, "thinking.display"],
  ["messages", "output_config.effort", { max_tokens: 9, messages: say, output_config: { effort: "ultra" } }, "output_config.effort"],
  ["messages", "service_tier", { max_tokens: 9, messages: say, service_tier: "economy" }, "service_tier"],
  ["generateContent", "thinkingLevel", { contents: [{ role: "user", parts: [{ text: "Hi" }] }], generationConfig: { thinkingConfig: { thinkingLevel: "ULTRA" } } }, "generationConfig.thinkingConfig"],
  ["local-model-server", "think", { messages: say, think: "ultra" }, "think"]
]

describe.each(cases)("%s: an unknown word of %s", (format, _, body, field) => {
  const conversation = clients.find(({ name }) => name === format)!.decodeRequest({ model: "m", ...body })
  it.each(names)("towards %s", (name) => {
    if (conversation instanceof PublicError) throw new Error(conversation.message)
    const written = family(name).encodeRequest(conversation, { model: "m", stream: false, maxOutputTokens: 64_000, reasoning: true, streamOptions: true, previousResponseId: "auto" })
    if (written instanceof PublicError) throw new Error(written.message)
    if (name !== format) expect(written.omitted).toContain(field)
    else expect(written.body).toMatch(/ultra|epic|tomorrow|7d|economy|lazy|condensed/i)
  })
})
