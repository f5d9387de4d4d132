import OpenAI from "openai"
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest"
import { type Sim, startSim } from "#test/support/sim.ts"
import { raw } from "./rawClient.ts"

let sim: Sim
let client: OpenAI
beforeAll(async () => {
  sim = await startSim({ models: { "*": { answer: "echo" } } })
  client = new OpenAI({ apiKey: "sk-test", baseURL: `${sim.url}/v1`, maxRetries: 0 })
})
afterAll(() => sim.stop())
afterEach(() => sim.reset())

const user = [{ role: "user" as const, content: "hello there" }]
const fn = (parameters: object, strict = false) => ({ type: "function", function: { name: "f", parameters, strict } })
const call = (id: string) => ({ id, type: "function", function: { name: "f", arguments: "{}" } })
const part = (content: object) => ({ messages: [{ role: "user", content: [content] }] })

describe("a vendor's model refuses", () => {
  test.each([
    ["an unknown field", { messages: user, top_k: 4 }, "top_k"],
    ["an unknown member of a message", { messages: [...user, { role: "assistant", content: "x", reasoning_content: "y" }, ...user] }, "messages[1].reasoning_content"],
    ["an image that is no link", part({ type: "image_url", image_url: { url: "cat.png" } }), "messages[0].content[0].image_url.url"],
    ["an unknown detail", part({ type: "image_url", image_url: { url: "https://a.test/b", detail: "original" } }), "messages[0].content[0].image_url.detail"],
    ["audio of a rare kind", part({ type: "input_audio", input_audio: { data: "AA==", format: "flac" } }), "messages[0].content[0].input_audio.format"],
    ["a file without a name", part({ type: "file", file: { file_data: "data:application/pdf;base64,AA==" } }), "messages[0].content[0].file.filename"],
    ["a video", part({ type: "video_url", video_url: { url: "https://a.test/b" } }), "messages[0].content[0].type"],
    ["a picture as a tool's result", {
      messages: [...user, { role: "assistant", tool_calls: [call("c")] }, { role: "tool", tool_call_id: "c", content: [{ type: "image_url", image_url: { url: "https://a.test" } }] }]
    }, "messages[2].content[0].type"],
    ["an id too long", { messages: [...user, { role: "assistant", tool_calls: [call("c".repeat(41))] }] }, "messages[1].tool_calls[0].id"],
    ["a name with a space", { messages: [{ role: "user", content: "x", name: "Ada L" }] }, "messages[0].name"],
    ["a strict tool with an open object", { messages: user, tools: [fn({ type: "object", properties: {} }, true)] }, "tools[0].function.parameters"],
    ["an object schema without properties", { messages: user, tools: [fn({ type: "object" })] }, "tools[0].function.parameters"],
    ["JSON mode without the word", { messages: user, response_format: { type: "json_object" } }, "messages"],
    ["candidates without log probabilities", { messages: user, top_logprobs: 2 }, "top_logprobs"],
    ["metadata that is not stored", { messages: user, metadata: { a: "b" } }, "metadata"],
    ["an effort for a model that does not reason", { messages: user, reasoning_effort: "low" }, "reasoning_effort"],
    ["parallel calls without tools", { messages: user, parallel_tool_calls: true }, "parallel_tool_calls"],
    ["an unknown tier", { messages: user, service_tier: "standard_only" }, "service_tier"],
    ["speech without a voice", { messages: user, modalities: ["text", "audio"] }, "audio"]
  ])("%s", async (_, body, param) => {
    const reply = await raw(sim.port, { model: "gpt-4.1", ...body })
    expect(JSON.parse(reply.body.toString())).toMatchObject({ error: { type: "invalid_request_error", param } })
    expect(reply.status).toBe(400)
  })

  test.each([["max_tokens", 5], ["temperature", 0.3], ["logprobs", true]])("a reasoning model: %s", async (param, value) => {
    const reply = await raw(sim.port, { model: "o3", messages: user, [param]: value })
    expect(JSON.parse(reply.body.toString())).toMatchObject({ error: { param } })
  })
})

test("a compatible server takes the extensions", async () => {
  const reply = await raw(sim.port, {
    model: "llama", top_k: 4, messages: [...user, { role: "assistant", content: "x", reasoning_content: "y" }, ...user], unheard_of: 1
  })
  expect(reply.status).toBe(200)
})

describe("answers as asked for", () => {
  test("a refusal, streamed and whole", async () => {
    await sim.rule({ script: { text: "I cannot.", finishReason: "refusal" } })
    const whole = await client.chat.completions.create({ model: "gpt-4.1", messages: user })
    expect(whole.choices[0]).toMatchObject({ finish_reason: "stop", message: { content: null, refusal: "I cannot." } })
    const streamed = await client.chat.completions.stream({ model: "gpt-4.1", messages: user }).finalChatCompletion()
    expect(streamed.choices[0]).toMatchObject({ finish_reason: "stop", message: { refusal: "I cannot." } })
  })

  test("log probabilities of every token", async () => {
    const ask = { model: "gpt-4.1", messages: user, logprobs: true, top_logprobs: 2 }
    const whole = await client.chat.completions.create(ask)
    const streamed = await client.chat.completions.stream(ask).finalChatCompletion()
    expect(whole.choices[0]?.logprobs?.content?.map((one) => one.token).join("")).toBe("hello there")
    expect(whole.choices[0]?.logprobs?.content?.[0]?.top_logprobs).toHaveLength(2)
    expect(streamed.choices[0]?.logprobs?.content).toEqual(whole.choices[0]?.logprobs?.content)
  })

  test("calls of custom tools, citations, signed reasoning", async () => {
    const custom = await client.chat.completions.create({
      model: "gpt-5", messages: user, tools: [{ type: "custom", custom: { name: "sql" } }], tool_choice: { type: "custom", custom: { name: "sql" } }
    })
    expect(custom.choices[0]?.message.tool_calls?.[0]).toMatchObject({ type: "custom", custom: { name: "sql", input: expect.any(String) as string } })
    const cited = await client.chat.completions.create({ model: "gpt-4o-search-preview", messages: user, web_search_options: {} })
    expect(cited.choices[0]?.message.annotations).toMatchObject([{ type: "url_citation", url_citation: { start_index: 0, end_index: 5 } }])
    const signed = JSON.parse((await raw(sim.port, { model: "reason-2", messages: user, reasoning: { effort: "low" } })).body.toString()) as {
      readonly choices: ReadonlyArray<{ readonly message: object }>
    }
    expect(signed.choices[0]?.message).toMatchObject({
      reasoning: "the model", reasoning_details: [{ type: "reasoning.text", text: "the model", signature: expect.any(String) as string }]
    })
  })
})
