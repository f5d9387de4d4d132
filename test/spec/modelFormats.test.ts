/** Models that are spoken to in another way than their provider: format, tool call ids, roles, headers and presets, over HTTP. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { ofNine } from "#src/wire/shortIds.ts"
import * as Http from "#test/support/http.ts"
import { type Lab, messages, startLab } from "#test/support/lab.ts"

let lab: Lab
let beta: string
beforeAll(async () => {
  lab = await startLab()
  beta = await lab.gateway.operator.createNode({ prefix: "beta", baseUrl: `${lab.sim.url}/v1beta` })
  await lab.gateway.operator.createConnection({ provider: beta, apiKey: "sk-beta-formats-000001" })
})
afterAll(() => lab.close())

type Body = Readonly<Record<string, unknown>>
const model = (modelId: string, more: Body, provider = lab.node) =>
  lab.gateway.operator.call<{ model: Body }>("POST", "/api/provider-models", { provider, modelId, ...more })
const told = async (name: string) => {
  const entry = (await lab.sim.entries({ model: name })).at(-1)
  if (entry === undefined) throw new Error(`${name} was not asked`)
  return { ...entry, body: entry.body as Body }
}
const ask = async (call: Http.Call): Promise<Http.Reply> => {
  const reply = await Http.send(lab.gateway.url, call)
  expect(reply.status, reply.text).toBe(200)
  return reply
}

/** The clients: how each asks, and the words of its answers. */
const clients = [
  ["chat completions", (id: string, stream: boolean) => ({ path: "/v1/chat/completions", body: { model: id, messages, stream } }), '"object":"chat.completion', "data: [DONE]"],
  ["messages", (id: string, stream: boolean) => ({ path: "/v1/messages", body: { model: id, messages, max_tokens: 50, stream } }), '"type":"message', "event: message_stop"],
  ["responses", (id: string, stream: boolean) => ({ path: "/v1/responses", body: { model: id, input: "hello", stream } }), '"object":"response"', "event: response.completed"]
] as const

const targets = [
  ["openai", "/chat/completions", "/chat/completions", "authorization"], ["openai-responses", "/responses", "/responses", "authorization"],
  ["claude", "/messages", "/messages", "x-api-key"], ["gemini", ":generateContent", ":streamGenerateContent", "x-goog-api-key"]
] as const

describe("a model's own format", () => {
  it.each(targets.flatMap((target) => clients.map((client) => [target[0], client[0], target, client] as const)))(
    "%s is asked and answered in for a client of %s, whole and streamed", async (format, _name, [, path, streamPath, credential], [, call, whole, last]) => {
      const [node, base, prefix] = format === "gemini" ? [beta, "/v1beta", "beta"] : [lab.node, "/v1", "lab"]
      const name = `as-${format}`
      await model(name, { targetFormat: format }, node)
      const at = (end: string) => format === "gemini" ? `${base}/models/${name}${end}` : `${base}${end}`
      expect((await ask(call(`${prefix}/${name}`, false))).text).toContain(whole)
      const first = await told(name)
      expect([first.path, first.headers[credential] === undefined, first.stream]).toEqual([at(path), false, false])
      for (const other of ["authorization", "x-api-key", "x-goog-api-key"]) if (other !== credential) expect(first.headers[other]).toBeUndefined()
      expect(first.headers["anthropic-version"]).toBe(format === "claude" ? "2023-06-01" : undefined)
      expect((await ask(call(`${prefix}/${name}`, true))).text).toContain(last)
      const second = await told(name)
      expect([second.path, second.stream]).toEqual([at(streamPath), true])
    }
  )

  it("is named in the ledger, and gone when it is cleared", async () => {
    await model("once", { targetFormat: "claude" })
    expect((await lab.rows(await lab.chat({ model: "once" })))[0]?.targetFormat).toBe("messages")
    await model("once", { targetFormat: null })
    expect((await lab.rows(await lab.chat({ model: "once" })))[0]?.targetFormat).toBe("chat-completions")
  })

  it("stands beside the path of a node's own, and is Bearer on a node of another vendor's type", async () => {
    const { operator } = lab.gateway
    const deep = await operator.call<{ node: { id: string } }>("POST", "/api/provider-nodes", {
      type: "anthropic-compatible", name: "deep", prefix: "deep", baseUrl: lab.sim.url, chatPath: "/v1/messages"
    })
    await operator.createConnection({ provider: deep.node.id, apiKey: "sk-deep-formats-000001" })
    await model("beside", { targetFormat: "openai" }, deep.node.id)
    await ask({ path: "/v1/messages", body: { model: "deep/beside", messages, max_tokens: 5 } })
    const entry = await told("beside")
    expect([entry.path, entry.headers["x-api-key"], entry.headers["authorization"] === undefined]).toEqual(["/v1/chat/completions", undefined, false])
  })

  it("holds for a model of the registry, before the client's own format", async () => {
    await lab.gateway.operator.createConnection({ provider: "openai", apiKey: "sk-formats-000001", providerSpecificData: { baseUrl: `${lab.sim.url}/v1` } })
    const say = () => ask({ path: "/v1/chat/completions", body: { model: "openai/gpt-4.1", messages } })
    await say()
    expect((await told("gpt-4.1")).path).toBe("/v1/chat/completions")
    await lab.gateway.operator.call("PUT", "/api/provider-models", { provider: "openai", modelId: "gpt-4.1", targetFormat: "openai-responses" })
    await say()
    expect((await told("gpt-4.1")).path).toBe("/v1/responses")
  })

  it("is probed in, and counted in", async () => {
    await lab.gateway.operator.call("POST", "/api/provider-models/validate-and-add", { provider: lab.node, modelId: "probed", targetFormat: "claude" })
    expect((await told("probed")).path).toBe("/v1/messages")
    await ask({ path: "/v1/messages/count_tokens", body: { model: "lab/probed", messages } })
    expect((await told("probed")).path).toBe("/v1/messages/count_tokens")
  })
})

const calls = [
  { role: "user", content: "What is it?" },
  { role: "assistant", content: null, tool_calls: [{ id: "call_first_1", type: "function", function: { name: "look", arguments: "{}" } }, { id: "Abc123xyz", type: "function", function: { name: "look", arguments: "{}" } }] },
  { role: "tool", tool_call_id: "call_first_1", content: "a" }, { role: "tool", tool_call_id: "Abc123xyz", content: "b" }
]
const tools = [{ type: "function", function: { name: "look", parameters: { type: "object", properties: {} } } }]
const sentIds = (body: Body) => (body["messages"] as ReadonlyArray<{ tool_calls?: ReadonlyArray<{ id: string }>; tool_call_id?: string }>)
  .flatMap((message) => [...message.tool_calls?.map(({ id }) => id) ?? [], ...message.tool_call_id === undefined ? [] : [message.tool_call_id]])

describe("ids of tool calls", () => {
  const first = ofNine("call_first_1")

  it("are nine letters and digits for a client of either format, the same in every turn, and the server's own as they are", async () => {
    await model("nine", { normalizeToolCallId: true })
    await lab.chat({ model: "nine", messages: calls, tools })
    expect(sentIds((await told("nine")).body)).toEqual([first, "Abc123xyz", first, "Abc123xyz"])
    await lab.chat({ model: "nine", messages: [...calls, { role: "assistant", content: "It is." }, { role: "user", content: "Sure?" }], tools, stream: true })
    expect(sentIds((await told("nine")).body)).toEqual([first, "Abc123xyz", first, "Abc123xyz"])
    await ask({ path: "/v1/messages", body: {
      model: "lab/nine", max_tokens: 50, tools: [{ name: "look", input_schema: { type: "object" } }],
      messages: [
        { role: "user", content: "What is it?" }, { role: "assistant", content: [{ type: "tool_use", id: "call_first_1", name: "look", input: {} }] },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "call_first_1", content: "a" }] }
      ]
    } })
    expect(sentIds((await told("nine")).body)).toEqual([first, first])
  })

  it("stay for other models, and for clients of a format that an operator exempts", async () => {
    await lab.chat({ model: "plain", messages: calls, tools })
    expect(sentIds((await told("plain")).body)[0]).toBe("call_first_1")
    await model("exempt", { normalizeToolCallId: true, compatByProtocol: { openai: { normalizeToolCallId: false } } })
    await lab.chat({ model: "exempt", messages: calls, tools })
    expect(sentIds((await told("exempt")).body)[0]).toBe("call_first_1")
  })
})

describe("the role developer", () => {
  const said = [{ role: "developer", content: "Be brief." }, ...messages]
  const roles = async (name: string) => ((await told(name)).body["messages"] as ReadonlyArray<{ role: string }>).map(({ role }) => role)

  it("is kept, or system, as an operator says, in the client's own format and from another", async () => {
    for (const [name, preserve, own, translated] of [["unsaid", null, "developer", "system"], ["kept", true, "developer", "developer"], ["system", false, "system", "system"]] as const) {
      await model(`role-${name}`, { preserveOpenAIDeveloperRole: preserve })
      await lab.chat({ model: `role-${name}`, messages: said })
      expect([name, await roles(`role-${name}`)]).toEqual([name, [own, "user"]])
      await ask({ path: "/v1/responses", body: { model: `lab/role-${name}`, input: said } })
      expect([name, await roles(`role-${name}`)]).toEqual([name, [translated, "user"]])
    }
  })
})

describe("a body that a thread reads", () => {
  it("says all of it, too, in the client's own format and in another", async () => {
    await model("large", { normalizeToolCallId: true, preserveOpenAIDeveloperRole: false, generationConfig: { preset: { temperature: 0.25 } } })
    await model("large-claude", { targetFormat: "claude", generationConfig: { preset: { temperature: 0.25 } } })
    const long = [{ role: "developer", content: "long ".repeat(500_000) }, ...calls]
    await lab.chat({ model: "large", messages: long, tools })
    const { body } = await told("large")
    expect([body["temperature"], sentIds(body)[0], (body["messages"] as ReadonlyArray<{ role: string }>)[0]?.role]).toEqual([0.25, ofNine("call_first_1"), "system"])
    await lab.chat({ model: "large-claude", messages: long, tools })
    expect((await told("large-claude")).body).toMatchObject({ temperature: 0.25, messages: expect.anything() })
  })
})

describe("headers for clients of one format", () => {
  it("are sent for them beside the model's own, and shown without their secrets", async () => {
    const made = await model("headed", {
      upstreamHeaders: { "x-one": "1", "x-two": "2" }, compatByProtocol: { claude: { upstreamHeaders: { "x-two": "3", "x-own-token": "secret" } } }
    })
    expect(made.model["compatByProtocol"]).toEqual({ claude: { upstreamHeaders: { "x-two": "3", "x-own-token": "[redacted]" } } })
    await model("headed", { compatByProtocol: made.model["compatByProtocol"] })
    await ask({ path: "/v1/messages", body: { model: "lab/headed", messages, max_tokens: 5 } })
    expect((await told("headed")).headers).toMatchObject({ "x-one": "1", "x-two": "3", "x-own-token": "secret" })
    await lab.chat({ model: "headed" })
    const { headers } = await told("headed")
    expect([headers["x-one"], headers["x-two"], headers["x-own-token"]]).toEqual(["1", "2", undefined])
  })

  it.each([
    [{ openai: { upstreamHeaders: { "content-length": "5" } } }, "compatByProtocol.openai.upstreamHeaders"], [{ gemini: {} }, "compatByProtocol"], [{ openai: { other: true } }, "compatByProtocol"]
  ])("are refused as %j", async (compatByProtocol, field) => {
    const reply = await lab.gateway.operator.raw("POST", "/api/provider-models", { provider: lab.node, modelId: "refused", compatByProtocol })
    expect(reply.status, reply.text).toBe(400)
    expect(reply.text).toContain(field)
  })
})

describe("a preset of the answer", () => {
  const preset = { temperature: 0.25, maxOutputTokens: 123, stopSequences: ["END"] }

  it("is said where the client says nothing, in the client's own format and in another", async () => {
    await model("preset", { generationConfig: { preset } })
    await lab.chat({ model: "preset", max_tokens: 7 })
    expect((await told("preset")).body).toMatchObject({ temperature: 0.25, max_tokens: 7, stop: ["END"] })
    await ask({ path: "/v1/messages", body: { model: "lab/preset", messages, max_tokens: 9, temperature: 1 } })
    expect((await told("preset")).body).toMatchObject({ temperature: 1, max_tokens: 9, stop: ["END"] })
    await model("preset-claude", { generationConfig: { preset }, targetFormat: "claude" })
    await lab.chat({ model: "preset-claude" })
    expect((await told("preset-claude")).body).toMatchObject({ temperature: 0.25, max_tokens: 123, stop_sequences: ["END"] })
    await model("preset", { generationConfig: {} })
    await lab.chat({ model: "preset" })
    expect((await told("preset")).body).toEqual({ model: "preset", messages })
  })

  it("makes another answer: one that was kept before belongs to the preset that it was made with", async () => {
    const ask = async () => (await lab.chat({ model: "cached", temperature: 0 })).headers["x-gateway-cache"]
    expect([await ask(), await ask()]).toEqual(["MISS", "HIT"])
    await model("cached", { generationConfig: { preset } })
    expect([await ask(), await ask()]).toEqual(["MISS", "HIT"])
  })

  it("is refused outside its bounds", async () => {
    for (const wrong of [{ temperature: 3 }, { maxOutputTokens: 0 }, { temprature: 1 }]) {
      const reply = await lab.gateway.operator.raw("POST", "/api/provider-models", { provider: lab.node, modelId: "refused", generationConfig: { preset: wrong } })
      expect([reply.status, reply.text]).toEqual([400, expect.stringContaining("generationConfig")])
    }
  })
})

describe("reasoningControl of a connection", () => {
  it("says in the variables of the chat template whether to think, for clients of either format", async () => {
    const node = await lab.gateway.operator.createNode({ prefix: "templ", baseUrl: `${lab.sim.url}/v1` })
    await lab.gateway.operator.createConnection({ provider: node, apiKey: "sk-template-000001", providerSpecificData: { reasoningControl: "chat-template" } })
    const kwargs = async (call: Http.Call) => {
      await ask(call)
      const { body } = await told("templated")
      return [body["chat_template_kwargs"], body["reasoning_effort"]]
    }
    const chat = (more: Body) => ({ path: "/v1/chat/completions", body: { model: "templ/templated", messages, ...more } })
    const on = (effort: string) => [{ enable_thinking: true, thinking: true, reasoning_effort: effort }, undefined]
    const off = [{ enable_thinking: false, thinking: false }, undefined]
    expect(await kwargs(chat({ reasoning_effort: "high" }))).toEqual(on("high"))
    expect(await kwargs(chat({ reasoning_effort: "none" }))).toEqual(off)
    expect(await kwargs(chat({}))).toEqual([undefined, undefined])
    expect(await kwargs({ path: "/v1/responses", body: { model: "templ/templated", input: "hi", reasoning: { effort: "low" } } })).toEqual(on("low"))
    expect(await kwargs({ path: "/v1/messages", body: { model: "templ/templated", messages, max_tokens: 50, thinking: { type: "disabled" } } })).toEqual(off)
  })

  it("is refused as another word", async () => {
    const reply = await lab.gateway.operator.raw("PUT", `/api/providers/${lab.connection}`, { providerSpecificData: { reasoningControl: "other" } })
    expect([reply.status, reply.text]).toEqual([400, expect.stringContaining("providerSpecificData.reasoningControl")])
  })
})
