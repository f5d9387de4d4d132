import { describe, expect, it } from "vitest"
import type { FormatName } from "#schemas/wire/conversation.ts"
import { leastTokens } from "#src/wire/contextWindow/leastTokens.ts"
import { leastPromptTokens } from "#src/wire/contextWindow/promptTokens.ts"

const long = "The quick brown fox jumps over the lazy dog. ".repeat(100)
const once = Math.floor(leastTokens(long))
const blob = Buffer.from(long).toString("base64")
const user = (content: unknown) => ({ messages: [{ role: "user", content }] })

const counted: ReadonlyArray<readonly [string, FormatName, Record<string, unknown>]> = [
  ["a text", "chat-completions", user(long)],
  ["a text part", "chat-completions", user([{ type: "text", text: long }])],
  ["a tool's answer", "chat-completions", { messages: [{ role: "tool", tool_call_id: "c", content: long }] }],
  ["system text", "messages", { system: long, messages: [] }],
  ["system blocks", "messages", { system: [{ type: "text", text: long }], messages: [] }],
  ["a tool's answer in blocks", "messages", user([{ type: "tool_result", tool_use_id: "t", content: [{ type: "text", text: long }] }])],
  ["instructions", "responses", { instructions: long, input: "" }],
  ["a bare input", "responses", { input: long }],
  ["input text", "responses", { input: [{ role: "user", content: [{ type: "input_text", text: long }] }] }],
  ["a function's output", "responses", { input: [{ type: "function_call_output", call_id: "c", output: long }] }],
  ["parts", "generateContent", { contents: [{ parts: [{ text: long }] }] }],
  ["a system instruction", "generateContent", { systemInstruction: { parts: [{ text: long }] }, contents: [] }],
  ["a function's response", "generateContent", { contents: [{ parts: [{ functionResponse: { name: "f", response: { deep: [long] } } }] }] }],
  ["a prompt", "completions", { prompt: long }],
  ["the only prompt of a list", "completions", { prompt: [long] }],
  ["a message of a local model server", "local-model-server", user(long)]
]

const passedOver: ReadonlyArray<readonly [string, FormatName, Record<string, unknown>]> = [
  ["an image", "chat-completions", user([{ type: "image_url", image_url: { url: `data:image/png;base64,${blob}` } }])],
  ["sound", "chat-completions", user([{ type: "input_audio", input_audio: { data: blob, format: "wav" } }])],
  ["a file", "chat-completions", user([{ type: "file", file: { file_data: blob } }])],
  ["reasoning of an earlier answer", "chat-completions", { messages: [{ role: "assistant", reasoning_content: long, content: "" }] }],
  ["thoughts in the text", "chat-completions", { messages: [{ role: "assistant", content: `<think>${long}</think>` }] }],
  ["tools", "chat-completions", { messages: [], tools: [{ type: "function", function: { name: "f", description: long } }] }],
  ["calls of tools", "chat-completions", { messages: [{ role: "assistant", content: null, tool_calls: [{ function: { name: "f", arguments: JSON.stringify({ long }) } }] }] }],
  ["an image of the messages format", "messages", user([{ type: "image", source: { type: "base64", media_type: "image/png", data: blob } }])],
  ["a thinking block", "messages", user([{ type: "thinking", thinking: long, signature: blob }])],
  ["a document", "messages", user([{ type: "document", source: { type: "base64", media_type: "application/pdf", data: blob } }])],
  ["a reasoning item", "responses", { input: [{ type: "reasoning", summary: [{ type: "summary_text", text: long }], content: [{ type: "reasoning_text", text: long }] }] }],
  ["an inline image", "generateContent", { contents: [{ parts: [{ inlineData: { mimeType: "image/png", data: blob } }] }] }],
  ["a thought", "generateContent", { contents: [{ parts: [{ text: long, thought: true }] }] }],
  ["images of a local model server", "local-model-server", { messages: [{ role: "user", content: "", images: [blob] }] }],
  ["a list of prompts", "completions", { prompt: [long, long] }],
  ["a request that may be truncated", "responses", { input: long, truncation: "auto" }],
  ["a history that its vendor edits", "messages", { ...user(long), context_management: { edits: [{ type: "clear_tool_uses_20250919" }] } }],
  ["a history that was compacted", "messages", { messages: [{ role: "user", content: long }, { role: "assistant", content: [{ type: "compaction", content: "so far" }] }] }],
  ["a prompt that is squeezed on its way", "chat-completions", { ...user(long), transforms: ["middle-out"] }]
]

describe("the tokens that a prompt has at least", () => {
  it.each(counted)("are those of %s (%s)", (_what, format, body) => {
    expect(leastPromptTokens(format, body)).toBe(once)
  })

  it.each(passedOver)("leave out %s (%s)", (_what, format, body) => {
    expect(leastPromptTokens(format, body)).toBe(0)
  })

  it("are those of all texts together, and a wish that asks for nothing changes nothing", () => {
    expect(leastPromptTokens("responses", { instructions: long, input: [{ role: "user", content: long }], truncation: "disabled", transforms: [] })).toBe(Math.floor(2 * leastTokens(long)))
  })
})
