/** A combo's system message and tool filter, in the neutral conversation and in every raw body. */
import { assert, describe, it } from "@effect/vitest"
import type { Conversation, Tool } from "#schemas/wire/conversation.ts"
import * as SystemMessage from "#src/routing/combos/systemMessage.ts"
import * as ToolFilter from "#src/routing/combos/toolFilter.ts"

const keeps = ToolFilter.keepsOf("^get_")
const fn = (name: string) => ({ type: "function", function: { name } })

const conversation = (tools: ReadonlyArray<Tool>, toolChoice: Conversation["toolChoice"] = null): Conversation => ({
  format: "chat-completions", turns: [{ role: "user", parts: [], name: null, path: "messages[0]" }], tools, toolChoice,
  settings: {} as Conversation["settings"], extras: []
})
const tool = (name: string): Tool => ({ kind: "function", name, description: null, parameters: null, strict: null, cache: null })

describe("system message", () => {
  it("stands in front of the request's own in every format", () => {
    const of = SystemMessage.ofBody
    const user = { role: "user", content: "u" }
    assert.deepStrictEqual(of("chat-completions", { model: "m", messages: [user] }, "S"), { model: "m", messages: [{ role: "system", content: "S" }, user] })
    assert.deepStrictEqual(of("chat-completions", { messages: [{ role: "developer", content: "d" }] }, "S")["messages"], [{ role: "developer", content: "S" }, { role: "developer", content: "d" }])
    assert.deepStrictEqual(of("messages", { system: "own" }, "S"), { system: "S\n\nown" })
    assert.deepStrictEqual(of("messages", {}, "S"), { system: "S" })
    assert.deepStrictEqual(of("messages", { system: [{ type: "text", text: "own" }] }, "S"), { system: [{ type: "text", text: "S" }, { type: "text", text: "own" }] })
    assert.deepStrictEqual(of("responses", { instructions: "own" }, "S"), { instructions: "S\n\nown" })
    assert.deepStrictEqual(of("responses", { instructions: null }, "S"), { instructions: "S" })
    assert.deepStrictEqual(of("generateContent", { systemInstruction: { role: "x", parts: [{ text: "own" }] } }, "S"), { systemInstruction: { role: "x", parts: [{ text: "S" }, { text: "own" }] } })
    assert.deepStrictEqual(of("generateContent", { system_instruction: { parts: { text: "own" } } }, "S"), { system_instruction: { parts: [{ text: "S" }, { text: "own" }] } })
    assert.deepStrictEqual(of("generateContent", { systemInstruction: "own" }, "S"), { systemInstruction: { parts: [{ text: "S\n\nown" }] } })
    assert.deepStrictEqual(of("local-model-server", { messages: [user] }, "S"), { messages: [{ role: "system", content: "S" }, user] })
    assert.deepStrictEqual(of("local-model-server", { prompt: "p", system: "own" }, "S"), { prompt: "p", system: "S\n\nown" })
    assert.deepStrictEqual(of("completions", { prompt: "p" }, "S"), { prompt: "S\n\np" })
    const [first, second] = SystemMessage.ofConversation(conversation([]), "S").turns
    assert.deepInclude(first?.parts[0], { kind: "text", text: "S" })
    assert.deepStrictEqual([first?.role, second?.role], ["system", "user"])
  })
})

describe("tool filter", () => {
  it("keeps matching tools and drops a choice of a dropped one, in the conversation", () => {
    const both = [tool("get_a"), tool("set_a"), { kind: "hosted", format: "messages", type: "web_search", value: {} } as const]
    const kept = ToolFilter.ofConversation(conversation(both, { kind: "tool", name: "set_a" }), keeps)
    assert.deepStrictEqual([kept.tools, kept.toolChoice], [[tool("get_a")], null])
    const narrowed = ToolFilter.ofConversation(conversation(both, { kind: "allowed", names: ["set_a", "get_a"], required: true }), keeps)
    assert.deepStrictEqual(narrowed.toolChoice, { kind: "allowed", names: ["get_a"], required: true })
    assert.deepStrictEqual(ToolFilter.ofConversation(conversation(both, { kind: "required" }), keeps).toolChoice, { kind: "required" })
    assert.isNull(ToolFilter.ofConversation(conversation([tool("x")], { kind: "required" }), keeps).toolChoice)
    const same = conversation([tool("get_a")])
    assert.strictEqual(ToolFilter.ofConversation(same, keeps), same)
  })

  it("works on chat bodies, the older functions too", () => {
    const of = (body: Readonly<Record<string, unknown>>) => ToolFilter.ofBody("chat-completions", body, keeps)
    assert.deepStrictEqual(of({ a: 1, tools: [fn("get_a"), fn("x"), { type: "custom", custom: { name: "get_c" } }], tool_choice: "required" }),
      { a: 1, tools: [fn("get_a"), { type: "custom", custom: { name: "get_c" } }], tool_choice: "required" })
    assert.deepStrictEqual(of({ tools: [fn("get_a"), fn("x")], tool_choice: fn("x") }), { tools: [fn("get_a")] })
    assert.deepStrictEqual(of({ tools: [fn("get_a"), fn("x")], tool_choice: fn("get_a") }), { tools: [fn("get_a")], tool_choice: fn("get_a") })
    assert.deepStrictEqual(of({ tools: [fn("x")], tool_choice: "auto", parallel_tool_calls: true, n: 1 }), { n: 1 })
    assert.deepStrictEqual(of({ functions: [{ name: "get_a" }, { name: "x" }], function_call: { name: "x" } }), { functions: [{ name: "get_a" }] })
    const allowed = { type: "allowed_tools", allowed_tools: { mode: "auto", tools: [fn("x"), fn("get_a")] } }
    assert.deepStrictEqual(of({ tools: [fn("get_a")], tool_choice: allowed })["tool_choice"], { type: "allowed_tools", allowed_tools: { mode: "auto", tools: [fn("get_a")] } })
    assert.deepStrictEqual(of({ messages: [] }), { messages: [] })
  })

  it("works on messages, responses and local bodies", () => {
    assert.deepStrictEqual(ToolFilter.ofBody("messages", { tools: [{ name: "get_a", input_schema: {} }, { name: "x" }], tool_choice: { type: "tool", name: "x" } }, keeps), { tools: [{ name: "get_a", input_schema: {} }] })
    assert.deepStrictEqual(ToolFilter.ofBody("messages", { tools: [{ name: "get_a" }, { name: "x" }], tool_choice: { type: "any" } }, keeps), { tools: [{ name: "get_a" }], tool_choice: { type: "any" } })
    const namespace = { type: "namespace", name: "n", tools: [{ type: "function", name: "get_a" }, { type: "function", name: "x" }] }
    assert.deepStrictEqual(
      ToolFilter.ofBody("responses", { tools: [namespace, { type: "web_search" }, { type: "function", name: "get_b" }], tool_choice: { type: "allowed_tools", mode: "auto", tools: [{ type: "function", name: "x" }] } }, keeps),
      { tools: [{ ...namespace, tools: [{ type: "function", name: "get_a" }] }, { type: "function", name: "get_b" }] })
    assert.deepStrictEqual(ToolFilter.ofBody("local-model-server", { tools: [fn("x"), fn("get_a")] }, keeps), { tools: [fn("get_a")] })
  })

  it("works on generateContent bodies in both spellings", () => {
    const body = {
      tools: [{ functionDeclarations: [{ name: "get_a" }, { name: "x" }] }, { googleSearch: {} }],
      toolConfig: { functionCallingConfig: { mode: "ANY", allowedFunctionNames: ["x", "get_a"] } }
    }
    assert.deepStrictEqual(ToolFilter.ofBody("generateContent", body, keeps), {
      tools: [{ functionDeclarations: [{ name: "get_a" }] }], toolConfig: { functionCallingConfig: { mode: "ANY", allowedFunctionNames: ["get_a"] } }
    })
    assert.deepStrictEqual(ToolFilter.ofBody("generateContent", {
      tools: { function_declarations: [{ name: "get_a" }] }, tool_config: { function_calling_config: { allowed_function_names: ["x"] }, k: 1 }
    }, keeps), { tools: [{ function_declarations: [{ name: "get_a" }] }], tool_config: { k: 1 } })
    assert.deepStrictEqual(ToolFilter.ofBody("generateContent", { tools: [{ googleSearch: {} }], toolConfig: {}, n: 1 }, keeps), { n: 1 })
  })

  it("keeps nothing under a stored pattern that would be refused", () => {
    assert.isFalse(ToolFilter.keepsOf("(")("get_a"))
  })
})
