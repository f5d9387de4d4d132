import OpenAI from "openai"
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest"
import { type Sim, startSim } from "#test/support/sim.ts"
import { chat, eventsOf, raw } from "./rawClient.ts"

let sim: Sim
let client: OpenAI
beforeAll(async () => {
  sim = await startSim()
  client = new OpenAI({ apiKey: "sk-test", baseURL: `${sim.url}/v1`, maxRetries: 0 })
})
afterAll(() => sim.stop())
afterEach(() => sim.reset())

describe("responses, with the vendor's SDK", () => {
  test("a stream is numbered from 0 and ends with the response that the events built", async () => {
    const types: Array<string> = []
    const numbers: Array<number> = []
    const stream = client.responses.stream({ model: "reason-3", input: "hello brave new world" })
    stream.on("event", (event) => {
      types.push(event.type)
      numbers.push(event.sequence_number)
    })
    const final = await stream.finalResponse()
    expect(numbers).toEqual(numbers.map((_, i) => i))
    expect([...new Set(types)]).toEqual([
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.reasoning_summary_part.added",
      "response.reasoning_summary_text.delta",
      "response.reasoning_summary_text.done",
      "response.reasoning_summary_part.done",
      "response.output_item.done",
      "response.content_part.added",
      "response.output_text.delta",
      "response.output_text.done",
      "response.content_part.done",
      "response.completed"
    ])
    expect(final.output_text).toBe("hello brave new world")
    expect(final.usage).toMatchObject({ output_tokens: 7, output_tokens_details: { reasoning_tokens: 3 } })
    expect((await client.responses.create({ model: "reason-3", input: "hello brave new world" })).output_text).toBe(final.output_text)
    expect((await sim.ended())[0]).toMatchObject({ tokensSent: 7, framesSent: types.length, usageSent: { completionTokens: 7 } })
  })

  test("a function call, then text after its output", async () => {
    const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"], additionalProperties: false }
    const tools = [{ type: "function" as const, name: "weather", strict: true, parameters }]
    const first = await client.responses.stream({ model: "tools", input: "weather?", tools }).finalResponse()
    const call = first.output.find((item) => item.type === "function_call")!
    expect(JSON.parse(call.arguments)).toEqual({ city: "sim" })
    const second = await client.responses.create({
      model: "tools",
      tools,
      input: [
        { role: "user", content: "weather?" },
        { type: "function_call", call_id: call.call_id, name: call.name, arguments: call.arguments },
        { type: "function_call_output", call_id: call.call_id, output: "sunny" }
      ]
    })
    expect(second.output_text).toBe("The tool answered: sunny")
  })

  test("too few tokens end as incomplete; a stray output is refused", async () => {
    const cut = await client.responses.create({ model: "tokens-50", input: "x", max_output_tokens: 16 })
    expect(cut).toMatchObject({ status: "incomplete", incomplete_details: { reason: "max_output_tokens" } })
    await expect(client.responses.create({ model: "echo", input: [{ type: "function_call_output", call_id: "no", output: "x" }] }))
      .rejects.toMatchObject({ status: 400 })
  })
})

describe("messages", () => {
  const version = { "anthropic-version": "2023-06-01", "x-api-key": "sk-ant-0123456789" }
  const ask = (over: Record<string, unknown>) =>
    raw(sim.port, { max_tokens: 1000, messages: [{ role: "user", content: "hello brave new world" }], ...over }, { path: "/v1/messages", headers: version })
  const parsed = (body: Buffer) => eventsOf(body).map((data) => JSON.parse(data) as Record<string, unknown> & { readonly type: string })

  test("blocks never overlap, thinking closes before text, usage comes at both ends", async () => {
    const reply = await ask({ model: "reason-2", stream: true })
    const events = parsed(reply.body)
    expect(events.map((event) => event.type)).toEqual([
      "message_start",
      "content_block_start",
      "ping",
      ...Array.from({ length: 3 }, () => "content_block_delta"),
      "content_block_stop",
      "content_block_start",
      ...Array.from({ length: 4 }, () => "content_block_delta"),
      "content_block_stop",
      "message_delta",
      "message_stop"
    ])
    // The event line names the type of the data.
    expect(reply.body.toString().match(/^event: .+$/gm)!.map((line) => line.slice(7))).toEqual(events.map((event) => event.type))
    expect(events[0]).toMatchObject({ message: { role: "assistant", content: [], usage: { input_tokens: 8, output_tokens: 1 } } })
    expect(events.at(-2)).toMatchObject({ delta: { stop_reason: "end_turn" }, usage: { output_tokens: 6 } })
    expect((await sim.ended())[0]).toMatchObject({ tokensSent: 6, key: { last4: "6789" } })
  })

  test("a whole answer has the same content", async () => {
    const reply = await ask({ model: "reason-2" })
    expect(JSON.parse(reply.body.toString())).toMatchObject({
      type: "message",
      content: [{ type: "thinking", thinking: "the model" }, { type: "text", text: "hello brave new world" }],
      stop_reason: "end_turn"
    })
  })

  test("a tool use, then text after its result", async () => {
    const tools = [{ name: "weather", input_schema: { type: "object", properties: { city: { type: "string" } } } }]
    const events = parsed((await ask({ model: "tools", stream: true, tools })).body)
    const json = events.map((event) => (event["delta"] as { partial_json?: string } | undefined)?.partial_json ?? "").join("")
    expect(JSON.parse(json)).toEqual({ city: "sim" })
    const block = events[1]!["content_block"] as { readonly id: string }
    const messages = [
      { role: "user", content: "weather?" },
      { role: "assistant", content: [{ type: "tool_use", id: block.id, name: "weather", input: { city: "sim" } }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: block.id, content: "sunny" }] }
    ]
    expect(JSON.parse((await ask({ model: "tools", tools, messages })).body.toString())).toMatchObject({ content: [{ text: "The tool answered: sunny" }] })
    const stray = await ask({ model: "tools", tools, messages: [messages[0], messages[2]] })
    expect([stray.status, JSON.parse(stray.body.toString())]).toMatchObject([400, { type: "error", error: { type: "invalid_request_error" } }])
    expect((await ask({ model: "tools", tools, messages: messages.slice(0, 2) })).status).toBe(400)
  })

  test("errors speak the format's own words, as a status and inside a stream", async () => {
    expect(JSON.parse((await ask({ model: "error-429" })).body.toString())).toMatchObject({ type: "error", error: { type: "rate_limit_error" } })
    expect(JSON.parse((await ask({ model: "error-529" })).body.toString())).toMatchObject({ error: { type: "overloaded_error" } })
    expect(JSON.parse((await ask({ model: "nope" })).body.toString())).toMatchObject({ error: { type: "not_found_error" } })
    expect((await ask({ model: "echo", max_tokens: undefined })).status).toBe(400)
    const broken = await ask({ model: "broken-4", stream: true })
    expect(broken.body.toString()).toMatch(/event: error\ndata: \{"type":"error".+\n\n$/)
    const versionless = await raw(sim.port, { model: "echo", max_tokens: 1, messages: [{ role: "user", content: "x" }] }, { path: "/v1/messages" })
    expect(versionless.status).toBe(400)
  })
})

describe("generateContent", () => {
  const ask = (model: string, method: string, over: Record<string, unknown> = {}) =>
    raw(sim.port, { contents: [{ role: "user", parts: [{ text: "hello brave new world" }] }], ...over }, { path: `/v1beta/models/${model}:${method}` })
  interface Reply {
    readonly candidates: ReadonlyArray<{ readonly content: { readonly parts: ReadonlyArray<Record<string, unknown>> }; readonly finishReason?: string }>
    readonly usageMetadata: Record<string, number>
  }
  const textOf = (replies: ReadonlyArray<Reply>, thought: boolean) =>
    replies.flatMap((reply) => reply.candidates[0]!.content.parts).filter((part) => (part["thought"] === true) === thought).map((part) => part["text"] ?? "").join("")

  test("as server-sent events, as an array and whole: the same text and usage, no terminal event", async () => {
    const sse = eventsOf((await ask("reason-2", "streamGenerateContent?alt=sse")).body).map((data) => JSON.parse(data) as Reply)
    const array = await ask("reason-2", "streamGenerateContent")
    const list = JSON.parse(array.body.toString()) as ReadonlyArray<Reply>
    const whole = [JSON.parse((await ask("reason-2", "generateContent")).body.toString()) as Reply]
    for (const replies of [sse, list, whole]) {
      expect([textOf(replies, true), textOf(replies, false)]).toEqual(["the model", "hello brave new world"])
      expect(replies.at(-1)!.candidates[0]!.finishReason).toBe("STOP")
      expect(replies.at(-1)!.usageMetadata).toEqual({ promptTokenCount: 8, candidatesTokenCount: 4, thoughtsTokenCount: 2, totalTokenCount: 14 })
    }
    expect(array.headers["content-type"]).toMatch(/^application\/json/)
    expect(sse.slice(0, -1).every((reply) => reply.candidates[0]!.finishReason === undefined)).toBe(true)
    expect((await sim.ended({ model: "reason-2" }, 3)).map((entry) => [entry.stream, entry.tokensSent])).toEqual([[true, 6], [true, 6], [false, 6]])
  })

  test("a function call comes whole; its response is answered with text; a missing one is refused", async () => {
    const tools = [{ functionDeclarations: [{ name: "weather", parameters: { type: "OBJECT", properties: { city: { type: "STRING" } } } }] }]
    const first = JSON.parse((await ask("tools", "generateContent", { tools })).body.toString()) as Reply
    expect(first.candidates[0]!.content.parts).toEqual([{ functionCall: { name: "weather", args: { city: "sim" } } }])
    const turns = [
      { role: "user", parts: [{ text: "weather?" }] },
      { role: "model", parts: first.candidates[0]!.content.parts },
      { role: "user", parts: [{ functionResponse: { name: "weather", response: { result: "sunny" } } }] }
    ]
    const second = JSON.parse((await ask("tools", "generateContent", { tools, contents: turns })).body.toString()) as Reply
    expect(textOf([second], false)).toBe("The tool answered: sunny")
    const stray = await ask("tools", "generateContent", { tools, contents: [turns[0], turns[2]] })
    expect(JSON.parse(stray.body.toString())).toMatchObject({ error: { code: 400, status: "INVALID_ARGUMENT" } })
    expect((await ask("echo", "generateContent", { messages: [] })).status).toBe(400)
    expect(JSON.parse((await ask("error-429", "generateContent")).body.toString())).toMatchObject({ error: { code: 429, status: "RESOURCE_EXHAUSTED" } })
  })
})

describe("a local model server", () => {
  const ask = (over: Record<string, unknown>) => raw(sim.port, { messages: [{ role: "user", content: "hello brave new world" }], ...over }, { path: "/api/chat" })
  interface Line {
    readonly done: boolean
    readonly done_reason?: string
    readonly eval_count?: number
    readonly message: { readonly content: string; readonly tool_calls?: ReadonlyArray<unknown> }
  }
  const lines = (body: Buffer) => body.toString().trim().split("\n").map((line) => JSON.parse(line) as Line)

  test("streams lines unless told not to; only the last is done, with counts", async () => {
    const reply = await ask({ model: "echo" })
    const got = lines(reply.body)
    expect(reply.headers["content-type"]).toBe("application/x-ndjson")
    expect(got.map((line) => line.message.content).join("")).toBe("hello brave new world")
    expect(got.map((line) => line.done)).toEqual([false, false, false, false, true])
    expect(got.at(-1)).toMatchObject({ done_reason: "stop", eval_count: 4 })
    const whole = lines((await ask({ model: "echo", stream: false })).body)
    expect(whole).toMatchObject([{ done: true, eval_count: 4, message: { content: "hello brave new world" } }])
  })

  test("tool calls come in one line with arguments as an object; faults and cuts work here too", async () => {
    const tools = [{ type: "function", function: { name: "weather", parameters: { type: "object", properties: { city: { type: "string" } } } } }]
    expect(lines((await ask({ model: "tools", tools })).body)[0]!.message.tool_calls).toEqual([{ function: { name: "weather", arguments: { city: "sim" } } }])
    expect(lines((await ask({ model: "cut-2" })).body).length).toBe(2)
    expect((await ask({ model: "bytes" })).chunks.every((chunk) => chunk.length === 1)).toBe(true)
    expect(JSON.parse((await ask({ model: "nope" })).body.toString())).toEqual({ error: expect.any(String) as string })
  })
})

test("every vendor's model list names the models", async () => {
  const text = async (path: string) => await (await fetch(sim.url + path)).text()
  expect(await text("/v1beta/models")).toContain(`"models/echo"`)
  expect(await text("/v1beta/models/tokens-5%4020")).toContain(`"models/tokens-5@20"`)
  expect(await text("/api/tags")).toContain(`"name":"echo"`)
  expect((await fetch(`${sim.url}/v1/models/%`)).status).toBe(404)
})

test("shared replies are the same bytes for the same request, and are counted as if they were made", async () => {
  const shared = await startSim({ shareReplies: true, logSize: 0 })
  const one = await raw(shared.port, chat("tokens-30"))
  const two = await raw(shared.port, chat("tokens-30"))
  const other = await raw(shared.port, chat("tokens-31"))
  expect(two.body.equals(one.body)).toBe(true)
  expect(other.body.length).toBeGreaterThan(one.body.length)
  await shared.idle()
  expect(await shared.summary()).toMatchObject({ requests: 3, completed: 3, tokensSent: 91, bytesSent: one.body.length * 2 + other.body.length })
  // A rule takes precedence over what was shared.
  await shared.rule({ script: { status: 503 } })
  expect((await raw(shared.port, chat("tokens-30"))).status).toBe(503)
  await shared.stop()
})
