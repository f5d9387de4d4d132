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
    const tools = [{ type: "function" as const, name: "weather", strict: true, parameters: { type: "object", properties: { city: { type: "string" } } } }]
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
