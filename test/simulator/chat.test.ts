import OpenAI from "openai"
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest"
import { type Sim, startSim } from "#test/support/sim.ts"
import { raw } from "./rawClient.ts"

let sim: Sim
let client: OpenAI
beforeAll(async () => {
  sim = await startSim()
  client = new OpenAI({ apiKey: "sk-test-0123456789", baseURL: `${sim.url}/v1`, maxRetries: 0 })
})
afterAll(() => sim.stop())
afterEach(() => sim.reset())

const user = (content: string) => [{ role: "user" as const, content }]
const weather = {
  type: "function" as const,
  function: { name: "weather", parameters: { type: "object", properties: { city: { type: "string" }, days: { type: "integer" } } } }
}

describe("with the vendor's SDK", () => {
  test("a stream carries the echo, one id, and no usage unless asked", async () => {
    const chunks = []
    for await (const chunk of await client.chat.completions.create({ model: "echo", messages: user("hello brave new world"), stream: true })) chunks.push(chunk)
    expect(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? "").join("")).toBe("hello brave new world")
    expect(chunks[0]!.choices[0]!.delta.role).toBe("assistant")
    expect(new Set(chunks.map((chunk) => `${chunk.id} ${chunk.created} ${chunk.model}`)).size).toBe(1)
    expect(chunks.at(-1)!.choices[0]!.finish_reason).toBe("stop")
    expect(chunks.every((chunk) => chunk.usage === undefined && chunk.choices.length === 1)).toBe(true)
    const [entry] = await sim.ended()
    expect(chunks[0]!.id).toBe(`chatcmpl-${entry!.id}`)
    expect(entry).toMatchObject({ outcome: "completed", tokensSent: 4, framesSent: chunks.length + 1, model: "echo", usageSent: null })
    expect(entry!.key!.last4).toBe("6789")
    expect(JSON.stringify(entry)).not.toContain("sk-test-0123456789")
  })

  test("the usage chunk is last, without choices, when asked; the others say null", async () => {
    const chunks = []
    const stream = await client.chat.completions.create({
      model: "tokens-7",
      messages: user("count"),
      stream: true,
      stream_options: { include_usage: true }
    })
    for await (const chunk of stream) chunks.push(chunk)
    const last = chunks.pop()!
    expect(last.choices).toEqual([])
    expect(last.usage).toMatchObject({ completion_tokens: 7, total_tokens: 7 + last.usage!.prompt_tokens })
    expect(chunks.every((chunk) => chunk.usage === null)).toBe(true)
    expect((await sim.ended())[0]!.usageSent).toMatchObject({ completionTokens: 7, promptTokens: last.usage!.prompt_tokens })
  })

  test("a whole answer has the same text and usage as the stream", async () => {
    const answer = await client.chat.completions.create({ model: "tokens-7", messages: user("count") })
    const streamed = await client.chat.completions.stream({ model: "tokens-7", messages: user("count"), stream_options: { include_usage: true } })
      .finalChatCompletion()
    expect(answer.choices[0]!.message.content).toBe(streamed.choices[0]!.message.content)
    expect(answer.usage).toEqual(streamed.usage)
  })

  test("tools: a call, then text after its result, streamed and whole", async () => {
    for (const stream of [true, false]) {
      const ask = { model: "tools", messages: user("weather?"), tools: [weather] }
      const first = stream
        ? await client.chat.completions.stream(ask).finalChatCompletion()
        : await client.chat.completions.create(ask)
      const message = first.choices[0]!.message
      const call = message.tool_calls![0]!
      expect(first.choices[0]!.finish_reason).toBe("tool_calls")
      expect(call.type === "function" && JSON.parse(call.function.arguments)).toEqual({ city: "sim", days: 1 })
      const second = await client.chat.completions.create({
        ...ask,
        messages: [...user("weather?"), { role: "assistant", tool_calls: [call] }, { role: "tool", tool_call_id: call.id, content: "sunny" }]
      })
      expect(second.choices[0]!.message.content).toBe("The tool answered: sunny")
    }
  })

  test("several choices are told apart by index", async () => {
    const texts = ["", ""]
    const stream = await client.chat.completions.create({ model: "tokens-3", messages: user("x"), n: 2, stream: true })
    for await (const chunk of stream) for (const choice of chunk.choices) texts[choice.index] += choice.delta.content ?? ""
    expect(texts).toEqual(["the model reads", "the model reads"])
  })

  test("reasoning comes before text and counts as completion tokens", async () => {
    const answer = await client.chat.completions.create({ model: "reason-5", messages: user("why") })
    expect(answer.choices[0]!.message).toMatchObject({ content: "why", reasoning_content: "the model reads each word" })
    expect(answer.usage).toMatchObject({ completion_tokens: 6, completion_tokens_details: { reasoning_tokens: 5 } })
  })

  test("max_tokens, stop and response_format shape the answer", async () => {
    const cut = await client.chat.completions.create({ model: "tokens-50", messages: user("x"), max_completion_tokens: 4 })
    expect(cut.choices[0]).toMatchObject({ finish_reason: "length", message: { content: "the model reads each" } })
    const stopped = await client.chat.completions.create({ model: "tokens-50", messages: user("x"), stop: [" each"] })
    expect(stopped.choices[0]).toMatchObject({ finish_reason: "stop", message: { content: "the model reads" } })
    const json = await client.chat.completions.create({
      model: "echo",
      messages: user("x"),
      response_format: { type: "json_schema", json_schema: { name: "a", schema: { type: "object", properties: { ok: { type: "boolean" } } } } }
    })
    expect(JSON.parse(json.choices[0]!.message.content!)).toEqual({ ok: true })
  })

  test("errors arrive as the vendor's classes, with retry-after", async () => {
    const error = await client.chat.completions.create({ model: "error-429-3", messages: user("x") }).catch((cause: unknown) => cause)
    expect(error).toBeInstanceOf(OpenAI.RateLimitError)
    expect((error as InstanceType<typeof OpenAI.RateLimitError>).headers.get("retry-after")).toBe("3")
    await expect(client.chat.completions.create({ model: "no-such", messages: user("x") })).rejects.toMatchObject({ status: 404, code: "model_not_found" })
    await expect(client.chat.completions.create({ model: "broken-2", messages: user("x"), stream: true }).then(async (stream) => {
      for await (const _ of stream);
    })).rejects.toThrow()
  })

  test("models and embeddings", async () => {
    const ids = []
    for await (const model of client.models.list()) ids.push(model.id)
    expect(ids).toContain("echo")
    expect((await client.models.retrieve("tokens-12")).id).toBe("tokens-12")
    const made = await client.embeddings.create({ model: "embed", input: ["a", "b", "a"], dimensions: 8 })
    expect(made.data.map((one) => one.embedding.length)).toEqual([8, 8, 8])
    expect(made.data[0]!.embedding).toEqual(made.data[2]!.embedding)
    expect(Math.hypot(...made.data[1]!.embedding)).toBeCloseTo(1, 5)
    const floats = await client.embeddings.create({ model: "embed", input: "a", dimensions: 8, encoding_format: "float" })
    expect(floats.data[0]!.embedding[0]).toBeCloseTo(made.data[0]!.embedding[0]!, 5)
  })
})

const call = { id: "c1", type: "function", function: { name: "w", arguments: "{}" } }

test.each([
  ["no model", { messages: user("x") }, null],
  ["no messages", { model: "echo" }, "messages"],
  ["messages that are no array", { model: "echo", messages: "x" }, "messages"],
  ["no message at all", { model: "echo", messages: [] }, "messages"],
  ["an unknown role", { model: "echo", messages: [{ role: "robot", content: "x" }] }, "messages[0].role"],
  ["a message without role", { model: "echo", messages: [{ content: "x" }] }, "messages[0].role"],
  ["user content that is null", { model: "echo", messages: [{ role: "user", content: null }] }, "messages[0].content"],
  ["an unknown content part", { model: "echo", messages: [{ role: "user", content: [{ type: "smell" }] }] }, "messages[0].content[0].type"],
  ["a tool message without a call", { model: "echo", messages: [...user("x"), { role: "tool", tool_call_id: "c", content: "r" }] }, "messages.[1].role"],
  [
    "a tool message of another call",
    { model: "echo", messages: [...user("x"), { role: "assistant", tool_calls: [call] }, { role: "tool", tool_call_id: "c2", content: "r" }] },
    "messages.[2].tool_call_id"
  ],
  ["a call without its result", { model: "echo", messages: [...user("x"), { role: "assistant", tool_calls: [call] }, ...user("y")] }, "messages.[2].role"],
  ["stream_options without stream", { model: "echo", messages: user("x"), stream_options: { include_usage: true } }, "stream_options"],
  ["stream that is a string", { model: "echo", messages: user("x"), stream: "yes" }, "stream"],
  ["a temperature out of range", { model: "echo", messages: user("x"), temperature: 3 }, "temperature"],
  ["tool_choice without tools", { model: "echo", messages: user("x"), tool_choice: "auto" }, "tool_choice"],
  ["a tool without a name", { model: "echo", messages: user("x"), tools: [{ type: "function", function: {} }] }, "tools[0].function.name"]
])("%s is refused with 400 and names the parameter", async (_, body, param) => {
  const reply = await raw(sim.port, body)
  expect(reply.status).toBe(400)
  expect(JSON.parse(reply.body.toString())).toMatchObject({ error: { type: "invalid_request_error", param } })
})

test("a body that is no JSON, an unknown path and a wrong method are refused as the vendor does", async () => {
  expect((await raw(sim.port, "{", {})).status).toBe(400)
  expect(await raw(sim.port, {}, { path: "/v1/nothing" })).toMatchObject({ status: 404 })
  expect(await raw(sim.port, undefined, { method: "GET" })).toMatchObject({ status: 405 })
})

test("keys: any by default, a list by option, one by script", async () => {
  const strict = await startSim({ keys: ["sk-good"] })
  const chat = { model: "echo", messages: user("x") }
  const status = async (port: number, key?: string) =>
    (await raw(port, chat, key === undefined ? {} : { headers: { authorization: `Bearer ${key}` } })).status
  expect(await status(sim.port)).toBe(200)
  expect(await status(strict.port)).toBe(401)
  expect(await status(strict.port, "sk-bad")).toBe(401)
  expect(await status(strict.port, "sk-good")).toBe(200)
  await strict.stop()
  await sim.rule({ script: { requireKey: "sk-mine" } })
  expect(await status(sim.port, "sk-other")).toBe(401)
  expect(await status(sim.port, "sk-mine")).toBe(200)
})
