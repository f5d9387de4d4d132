/** Conversations that the client's own vendor takes: the vendor of another format takes them too, from the gateway. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { FamilyName } from "#schemas/wire/conversation.ts"
import { families, type Matrix, startMatrix } from "#test/support/families.ts"
import * as Http from "#test/support/http.ts"

let matrix: Matrix
beforeAll(async () => {
  matrix = await startMatrix()
})
afterAll(() => matrix.close())

interface Row {
  readonly said: string
  readonly path: string
  readonly to: FamilyName
  /** What the vendor's models are called, where it is not the usual one. */
  readonly stem?: string
  readonly body: Record<string, unknown>
  /** Of what arrives at the vendor. */
  readonly arrives: Record<string, unknown>
  readonly omitted?: string
}

const call = { id: "call_1", type: "function", function: { name: "look", arguments: "{}" } }
const tools = [{ type: "function", function: { name: "look", parameters: { type: "object", properties: {} } } }]
const result = { role: "tool", tool_call_id: "call_1", content: "A cat." }
const user = (content: unknown) => ({ role: "user", content })
const assistant = (content: unknown, more: object = {}) => ({ role: "assistant", content, ...more })
const chat = "/v1/chat/completions"
const generate = "/v1beta/models/"
const agent = `user_${"0a".repeat(32)}_account_${"1b".repeat(16)}_session_${"2c".repeat(16)}`
const open = { type: "OBJECT", properties: { at: { type: "STRING" } } }
const validated = (parameters: object) => ({ contents: [{ role: "user", parts: [{ text: "Hi" }] }], tools: [{ functionDeclarations: [{ name: "look", parameters }] }] })

const nameless = { ...call, id: "" }
const outputs = (output: unknown) => ({ input: [user("Hi"), { type: "function_call", call_id: "call_1", name: "look", arguments: "{}" }, { type: "function_call_output", call_id: "call_1", output }] })

const rows: ReadonlyArray<Row> = [
  {
    said: "calls and results with empty ids, in their order", path: chat, to: "messages",
    body: { tools, messages: [user("Hi"), assistant(null, { tool_calls: [nameless, call, nameless] }), { role: "tool", tool_call_id: "", content: "first" }, result, { role: "tool", tool_call_id: "", content: "third" }] },
    arrives: {
      messages: [
        user("Hi"), assistant(["call_message_1_0", "call_1", "call_message_1_2"].map((id) => ({ type: "tool_use", id, name: "look", input: {} }))),
        user([["call_message_1_0", "first"], ["call_1", "A cat."], ["call_message_1_2", "third"]].map(([id, content]) => ({ type: "tool_result", tool_use_id: id, content })))
      ]
    }
  },
  {
    said: "a call with an empty id that nothing answered", path: chat, to: "responses", body: { messages: [user("Hi"), assistant(null, { tool_calls: [nameless] }), user("Well?")], tools },
    arrives: { input: expect.arrayContaining([expect.objectContaining({ type: "function_call", call_id: "call_message_1_0", name: "look" })]) as unknown }, omitted: "messages[1] (tool result added)"
  },
  {
    said: "a tool without a name, of chat completions", path: chat, to: "messages", body: { messages: [user("Hi")], tools: [{ type: "function", function: { name: "" } }, ...tools] },
    arrives: { tools: [expect.objectContaining({ name: "look" })] }, omitted: "tools[0]"
  },
  {
    said: "a tool without a name, of messages", path: "/v1/messages", to: "chat-completions",
    body: { max_tokens: 9, messages: [user("Hi")], tools: [{ name: "look", input_schema: { type: "object" } }, { name: "", input_schema: { type: "object" } }] },
    arrives: { tools: [expect.objectContaining({ function: expect.objectContaining({ name: "look" }) as unknown })] }, omitted: "tools[1]"
  },
  { said: "a function's output that is an object", path: "/v1/responses", to: "chat-completions", body: outputs({ cats: 1 }), arrives: { messages: [user("Hi"), expect.anything(), { ...result, content: "{\"cats\":1}" }] } },
  {
    said: "a text of line ends before a call", path: chat, to: "messages", body: { tools, messages: [user("Hi"), assistant("\n\n", { tool_calls: [call] }), result] },
    arrives: { messages: [user("Hi"), assistant([{ type: "tool_use", id: "call_1", name: "look", input: {} }]), user([{ type: "tool_result", tool_use_id: "call_1", content: "A cat." }])] }
  },
  {
    said: "a blank text beside another", path: chat, to: "messages", body: { messages: [user([{ type: "text", text: " " }, { type: "text", text: "Hi" }])] },
    arrives: { messages: [user("Hi")] }
  },
  {
    said: "a blank instruction", path: "/v1/responses", to: "messages", body: { instructions: " \n", input: "Hi" },
    arrives: { messages: [user("Hi")] }
  },
  {
    said: "a blank text with a mark of the cache", path: chat, to: "messages",
    body: { messages: [user([{ type: "text", text: "\t", cache_control: { type: "ephemeral" } }, { type: "text", text: "Hi" }])] },
    arrives: { messages: [user("Hi")] }, omitted: "cache_control"
  },
  {
    said: "an answer to be continued that ends in a line end", path: chat, to: "messages", body: { messages: [user("Hi"), assistant("Sure: \n")] },
    arrives: { messages: [user("Hi"), assistant("Sure:")] }, omitted: "messages[1] (white space at the end)"
  },
  {
    said: "a long answer to be continued", path: chat, to: "messages", body: { messages: [user("Hi"), assistant(`${"word ".repeat(2_000)}\n`), { role: "system", content: "Go on." }] },
    arrives: { messages: [user("Hi"), assistant("word ".repeat(2_000).trimEnd())] }, omitted: "messages[1] (white space at the end)"
  },
  {
    said: "a long text of white space", path: chat, to: "messages", body: { messages: [user([{ type: "text", text: "\n".repeat(5_000) }, { type: "text", text: "Hi" }])] },
    arrives: { messages: [user("Hi")] }
  },
  {
    said: "words of the user behind the result of an unsigned call", path: chat, to: "messages",
    body: { reasoning_effort: "high", tools, messages: [user("Hi"), assistant(null, { tool_calls: [call] }), result, user("Go on.")] },
    arrives: { messages: [{}, {}, user([{ type: "tool_result", tool_use_id: "call_1", content: "A cat." }, { type: "text", text: "Go on." }])] }, omitted: "reasoning_effort"
  },
  {
    said: "an answer to be continued by a model that shall think", path: chat, to: "messages", body: { reasoning_effort: "high", messages: [user("Hi"), assistant("Sure:")] },
    arrives: { messages: [user("Hi"), assistant("Sure:")] }, omitted: "reasoning_effort"
  },
  {
    said: "an old unsigned call that was answered", path: chat, to: "messages",
    body: { reasoning_effort: "high", tools, messages: [user("Hi"), assistant(null, { tool_calls: [call] }), result, assistant("A cat."), user("Go on.")] },
    arrives: { thinking: { type: "enabled" } }
  },
  {
    said: "a blank answer behind the result of an unsigned call", path: chat, to: "messages",
    body: { reasoning_effort: "high", tools, messages: [user("Hi"), assistant(null, { tool_calls: [call] }), result, assistant("\n"), user("Go on.")] },
    arrives: { messages: [{}, {}, user([{ type: "tool_result", tool_use_id: "call_1", content: "A cat." }, { type: "text", text: "Go on." }])] }, omitted: "reasoning_effort"
  },
  {
    said: "a call in mode VALIDATED", path: generate, to: "chat-completions", body: { ...validated(open), toolConfig: { functionCallingConfig: { mode: "VALIDATED" } } },
    arrives: { tools: [{ function: { name: "look", parameters: { properties: { at: { type: "string" } } } } }] }, omitted: "strict"
  },
  {
    said: "a call in mode VALIDATED whose schema can be closed", path: generate, to: "chat-completions",
    body: { ...validated({ ...open, required: ["at"] }), toolConfig: { functionCallingConfig: { mode: "VALIDATED" } } },
    arrives: { tools: [{ function: { strict: true, parameters: { properties: { at: { type: "string" } }, required: ["at"], additionalProperties: false } } }] }
  },
  {
    said: "a call in mode VALIDATED", path: generate, to: "messages", body: { ...validated(open), toolConfig: { functionCallingConfig: { mode: "VALIDATED" } } },
    arrives: { tools: [{ name: "look", strict: true, input_schema: { properties: { at: { type: "string" } }, additionalProperties: false } }] }
  },
  {
    said: "a strict tool with open objects inside", path: generate, to: "messages",
    body: { ...validated({ type: "OBJECT", properties: { at: { anyOf: [{ type: "OBJECT", nullable: true, properties: { n: { type: "NUMBER" } } }] } } }), toolConfig: { functionCallingConfig: { mode: "VALIDATED" } } },
    arrives: { tools: [{ strict: true, input_schema: { additionalProperties: false, properties: { at: { anyOf: [{ type: ["object", "null"], additionalProperties: false }] } } } }] }
  },
  {
    said: "a strict tool that takes any members", path: chat, to: "messages",
    body: { messages: [user("Hi")], tools: [{ type: "function", function: { name: "look", strict: true, parameters: { type: "object", properties: {}, additionalProperties: true } } }] },
    arrives: { tools: [{ name: "look", input_schema: { additionalProperties: true } }] }, omitted: "strict"
  },
  {
    said: "a call that nothing of the user stands before", path: chat, to: "generateContent",
    body: { tools, messages: [{ role: "system", content: "Look around." }, assistant(null, { tool_calls: [call] }), result] },
    arrives: { contents: [{ role: "user", parts: [{ text: "." }] }, { role: "model" }, { role: "user" }] }, omitted: "messages[1] (user turn added)"
  },
  {
    said: "a call behind an empty question", path: "/v1/api/chat", to: "generateContent",
    body: { stream: false, messages: [user(""), assistant("", { tool_calls: [{ function: { name: "look", arguments: {} } }] }), { role: "tool", tool_name: "look", content: "A cat." }] },
    arrives: { contents: [{ role: "user", parts: [{ text: "." }] }, { role: "model" }, { role: "user" }] }, omitted: "messages[1] (user turn added)"
  },
  {
    said: "a call behind an empty word of the user", path: chat, to: "generateContent",
    body: { tools, messages: [user("Hi"), assistant("Hi!"), user(""), assistant(null, { tool_calls: [call] }), result] },
    arrives: { contents: [{ role: "user" }, { role: "model" }, { role: "user", parts: [{ text: "." }] }, { role: "model" }, { role: "user" }] }, omitted: "messages[3] (user turn added)"
  },
  ...(["chat-completions", "responses"] as const).map((to): Row => ({
    said: "a user's id as coding agents write it", path: "/v1/messages", to, body: { max_tokens: 100, messages: [user("Hi")], metadata: { user_id: agent } },
    arrives: { user: `${agent.slice(0, 55)}_5e5b6ce8` }, omitted: "metadata.user_id (shortened)"
  })),
  {
    said: "a user's id as long as the vendor takes it", path: "/v1/messages", to: "responses", body: { max_tokens: 100, messages: [user("Hi")], metadata: { user_id: agent.slice(0, 64) } },
    arrives: { user: agent.slice(0, 64) }
  },
  {
    said: "a call of another vendor's model", path: "/v1/messages", to: "chat-completions", stem: "mistral-large",
    body: {
      max_tokens: 100, messages: [
        user("Hi"), assistant([{ type: "tool_use", id: "toolu_01AbC", name: "look", input: {} }, { type: "tool_use", id: "toolu_01AbD", name: "look", input: {} }, { type: "tool_use", id: "D681PevKs", name: "look", input: {} }]),
        user(["toolu_01AbD", "toolu_01AbC", "D681PevKs"].map((id) => ({ type: "tool_result", tool_use_id: id, content: id })))
      ]
    },
    arrives: {
      messages: [{}, { tool_calls: [{ id: "czng00du9" }, { id: "awvat0d0a" }, { id: "D681PevKs" }] }, { tool_call_id: "czng00du9", content: "toolu_01AbC" }, { tool_call_id: "awvat0d0a", content: "toolu_01AbD" }, { tool_call_id: "D681PevKs" }]
    }
  },
  {
    said: "a user's id", path: "/v1/messages", to: "chat-completions", stem: "open-mistral-nemo", body: { max_tokens: 100, messages: [user("Hi")], metadata: { user_id: "user-7" } },
    arrives: { max_tokens: 100 }, omitted: "metadata.user_id"
  },
  {
    said: "a seed", path: "/v1/api/chat", to: "chat-completions", stem: "devstral-small", body: { stream: false, messages: [user("Hi")], options: { seed: 7 } },
    arrives: { random_seed: 7 }
  }
]

describe.each(rows)("$said, to $to", ({ arrives, body, omitted, path, stem, to }) => {
  it("is taken by its vendor", async () => {
    const usual = families.find(({ name }) => name === to)!
    const family = stem === undefined ? usual : { ...usual, stem }
    const label = `row-${rows.findIndex((row) => row.body === body)}`
    const { id, name } = await matrix.model(family, "chat-completions", label)
    const asked = path === generate ? { path: `${path}${id}:generateContent`, body } : { path, body: { ...body, model: id } }
    const reply = await Http.send(matrix.url, { ...asked, headers: { authorization: `Bearer ${matrix.key}` } })
    expect(reply.status, reply.text).toBe(200)
    const [entry] = await matrix.entries(name)
    expect(entry?.body).toMatchObject(arrives)
    const told = (reply.headers["x-gateway-omitted"] ?? "").split(", ").filter((one) => one !== "" && !one.startsWith("max_tokens (set to "))
    expect(told).toEqual(omitted === undefined ? [] : [omitted])
  })
})
