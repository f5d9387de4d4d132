/** The vendor's own client, unmodified, against /v1: what it sends must arrive, what it expects must come back. */
import OpenAI from "openai"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Lab, startLab } from "#test/support/lab.ts"

let lab: Lab
let key = ""
let openai: OpenAI
beforeAll(async () => {
  lab = await startLab()
  key = (await lab.gateway.operator.createKey("sdk")).key
  await lab.gateway.operator.call("POST", "/api/provider-models", { provider: "lab", modelId: "echo", modelName: "Echo" })
  openai = new OpenAI({ baseURL: `${lab.gateway.url}/v1`, apiKey: key, maxRetries: 0 })
})
afterAll(() => lab.close())

type Body = OpenAI.ChatCompletionCreateParams
const say = (content: string): Body["messages"] => [{ role: "user", content }]
const entryOf = async (id: string) => {
  const [entry] = await lab.sim.entries({ id: id.replace("chatcmpl-", "") })
  if (entry === undefined) throw new Error(`the simulator has no request ${id}`)
  return entry
}

const weather = {
  type: "function",
  function: {
    name: "get_weather", description: "Weather of a city", strict: true,
    parameters: { type: "object", properties: { city: { type: "string" }, days: { type: "integer" } }, required: ["city", "days"], additionalProperties: false }
  }
} as const satisfies OpenAI.ChatCompletionTool

describe("chat.completions.create", () => {
  it("answers a whole completion", async () => {
    const completion = await openai.chat.completions.create({ model: "lab/echo", messages: say("Hello from the client") })
    expect(completion.object).toBe("chat.completion")
    expect(completion.choices[0]?.message.content).toBe("Hello from the client")
    expect(completion.choices[0]?.finish_reason).toBe("stop")
    expect(completion.usage?.completion_tokens).toBe((await entryOf(completion.id)).tokensSent)
  })

  it("streams content and a finish reason; usage comes only when stream_options.include_usage asks for it", async () => {
    for (const include of [undefined, false, true]) {
      const stream = await openai.chat.completions.create({
        model: "lab/echo", messages: say("a stream of several words"), stream: true,
        ...(include === undefined ? {} : { stream_options: { include_usage: include } })
      })
      let text = ""
      let finish: string | null = null
      const usages: Array<OpenAI.CompletionUsage> = []
      for await (const chunk of stream) {
        text += chunk.choices[0]?.delta.content ?? ""
        finish = chunk.choices[0]?.finish_reason ?? finish
        if (chunk.usage !== undefined && chunk.usage !== null) usages.push(chunk.usage)
      }
      expect([text, finish, usages.length]).toEqual(["a stream of several words", "stop", include === true ? 1 : 0])
    }
  })

  it("n > 1: every choice arrives under its index", async () => {
    const whole = await openai.chat.completions.create({ model: "lab/tokens-5", messages: say("x"), n: 3 })
    expect(whole.choices.map((choice) => choice.index)).toEqual([0, 1, 2])
    const texts = ["", "", ""]
    const finished = new Set<number>()
    for await (const chunk of await openai.chat.completions.create({ model: "lab/tokens-5", messages: say("x"), n: 3, stream: true })) {
      for (const choice of chunk.choices) {
        texts[choice.index] = (texts[choice.index] ?? "") + (choice.delta.content ?? "")
        if (choice.finish_reason !== null) finished.add(choice.index)
      }
    }
    expect(texts.map((text, index) => [text, finished.has(index)])).toEqual(whole.choices.map((choice) => [choice.message.content, true]))
  })

  it("every field, known or not, arrives upstream as it was sent, but for model and stream_options", async () => {
    for (const stream of [false, true]) {
      const body = {
        model: "lab/echo", messages: [
          { role: "developer", content: "be brief" },
          { role: "user", content: [{ type: "text", text: "look 👀" }, { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=", detail: "low" } }] }
        ],
        stream, temperature: 0.2, top_p: 0.9, seed: 7, stop: ["END"], logit_bias: { "50256": -100 }, user: "u-1", metadata: { a: "b" }, n: 1,
        response_format: { type: "text" }, reasoning_effort: "low", parallel_tool_calls: false, service_tier: "auto", store: false,
        tools: [weather], tool_choice: "none", vendor_extension: { nested: [1, 2.5, null, { deep: true }], "ключ": "значение" }, top_k: 40
      }
      const raw = await openai.post("/chat/completions", { body, __binaryResponse: true, stream: false }) as Response
      expect(raw.status).toBe(200)
      const text = await raw.text()
      const id = /chatcmpl-\w+/.exec(text)?.[0] ?? ""
      const received = { ...(await entryOf(id)).body as Record<string, unknown> }
      delete received["stream_options"]
      expect(received).toEqual({ ...body, model: "echo" })
    }
  })

  it("the bytes of a whole answer equal what the simulator sends", async () => {
    const verbatim = { id: "chatcmpl-verbatim", object: "chat.completion", created: 1, model: "m", choices: [{ index: 0, message: { role: "assistant", content: "ünï©ode \u2028" }, logprobs: null, finish_reason: "stop" }], usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 }, x_vendor: [1.0, 1e-7] }
    await lab.sim.rule({ match: { model: "verbatim" }, script: { body: verbatim } })
    const through = await openai.chat.completions.create({ model: "lab/verbatim", messages: say("x") }).asResponse()
    const direct = await new OpenAI({ baseURL: `${lab.sim.url}/v1`, apiKey: "any" }).chat.completions.create({ model: "verbatim", messages: say("x") }).asResponse()
    expect(Buffer.from(await through.arrayBuffer()).equals(Buffer.from(await direct.arrayBuffer()))).toBe(true)
  })

  it("response headers are at hand by withResponse", async () => {
    const { data, request_id, response } = await openai.chat.completions.create({ model: "lab/echo", messages: say("x") }).withResponse()
    expect(response.headers.get("x-gateway-decision")).toMatch(/^strategy=single; provider=lab; latency_ms=\d+$/)
    expect(response.headers.get("x-gateway-response-cost")).toBe("0.0000000000")
    expect(response.headers.get("x-gateway-tokens-out")).toBe(String(data.usage?.completion_tokens))
    expect(request_id === null || typeof request_id === "string").toBe(true)
    const streamed = await openai.chat.completions.create({ model: "lab/echo", messages: say("x"), stream: true }).withResponse()
    expect(streamed.response.headers.get("x-gateway-model")).toBe("lab/echo")
    for await (const chunk of streamed.data) expect(chunk.object).toBe("chat.completion.chunk")
  })
})

describe("tools", () => {
  it("a loop of two turns: the call, its result, the final text", async () => {
    for (const stream of [false, true]) {
      const messages: Array<OpenAI.ChatCompletionMessageParam> = [{ role: "user", content: "Weather in Bern for 3 days?" }]
      const ask = async () => stream
        ? (await openai.chat.completions.stream({ model: "lab/tools", messages, tools: [weather] }).finalChatCompletion()).choices[0]
        : (await openai.chat.completions.create({ model: "lab/tools", messages, tools: [weather] })).choices[0]
      const first = await ask()
      expect(first?.finish_reason).toBe("tool_calls")
      const call = first?.message.tool_calls?.[0]
      if (call?.type !== "function") throw new Error("no function call")
      expect(call.function.name).toBe("get_weather")
      expect(Object.keys(JSON.parse(call.function.arguments) as object).sort()).toEqual(["city", "days"])
      messages.push({ role: "assistant", content: null, tool_calls: [call] }, { role: "tool", tool_call_id: call.id, content: "{\"sky\":\"clear\"}" })
      const second = await ask()
      expect(second?.finish_reason).toBe("stop")
      expect(second?.message.content?.length).toBeGreaterThan(0)
    }
  })

  it("parallel calls whose arguments are cut into many frames are put together by the client", async () => {
    const calls = [
      { name: "get_weather", arguments: { city: "Zürich \"HB\"", days: 2 } }, { name: "get_weather", arguments: { city: "東京", days: 5 } },
      { name: "get_weather", arguments: { city: "São Paulo\n", days: 1 } }
    ]
    await lab.sim.rule({ match: { model: "parallel" }, script: { toolCalls: calls, tokenSize: 2, split: { random: 11, max: 23 } } })
    const final = await openai.chat.completions.stream({ model: "lab/parallel", messages: say("three cities"), tools: [weather], parallel_tool_calls: true }).finalChatCompletion()
    const made = (final.choices[0]?.message.tool_calls ?? []).map((call) => call.type === "function" ? { name: call.function.name, arguments: JSON.parse(call.function.arguments) as unknown } : null)
    expect(made).toEqual(calls)
    expect(new Set((final.choices[0]?.message.tool_calls ?? []).map((call) => call.id)).size).toBe(3)
  })
})

describe("errors are the client's own classes", () => {
  const failing = (run: () => PromiseLike<unknown>) => Promise.resolve(run()).then(() => null, (error: unknown) => error)

  it("400 BadRequestError, with code and param", async () => {
    const error = await failing(() => openai.chat.completions.create({ model: "lab/echo", messages: [] }))
    expect(error).toBeInstanceOf(OpenAI.BadRequestError)
    expect(error).toMatchObject({ status: 400, code: "bad_request", type: "invalid_request_error", param: "messages" })
  })

  it("401 AuthenticationError for a wrong key", async () => {
    const stranger = new OpenAI({ baseURL: `${lab.gateway.url}/v1`, apiKey: "sk-wrong", maxRetries: 0 })
    expect(await failing(() => stranger.chat.completions.create({ model: "lab/echo", messages: say("x") }))).toBeInstanceOf(OpenAI.AuthenticationError)
    expect(await failing(() => stranger.models.list())).toBeInstanceOf(OpenAI.AuthenticationError)
  })

  it("403 PermissionDeniedError for a model that the key may not use", async () => {
    const { key: narrow } = await lab.gateway.operator.createKey("narrow", { blockedModels: ["*"] })
    const client = new OpenAI({ baseURL: `${lab.gateway.url}/v1`, apiKey: narrow, maxRetries: 0 })
    expect(await failing(() => client.chat.completions.create({ model: "lab/echo", messages: say("x") }))).toBeInstanceOf(OpenAI.PermissionDeniedError)
  })

  it("404 NotFoundError, 422 UnprocessableEntityError, 429 RateLimitError, 500 InternalServerError", async () => {
    for (const [model, kind] of [
      ["no-such-model", OpenAI.NotFoundError], ["lab/error-422", OpenAI.UnprocessableEntityError], ["lab/error-429-3", OpenAI.RateLimitError],
      ["lab/error-500", OpenAI.InternalServerError]
    ] as const) {
      for (const stream of [false, true]) {
        const error = await failing(() => openai.chat.completions.create({ model, messages: say("x"), stream }))
        expect(error).toBeInstanceOf(kind)
        if (error instanceof OpenAI.RateLimitError) expect(error.headers?.get("retry-after")).toBe("3")
      }
    }
  })

  it("each names its request: by the provider's id where it has one, else by the gateway's", async () => {
    const own = await failing(() => openai.chat.completions.create({ model: "no-such-model", messages: say("x") })) as InstanceType<typeof OpenAI.APIError>
    expect([own.requestID, typeof own.requestID]).toEqual([own.headers?.get("x-gateway-request-id"), "string"])
    const passed = await failing(() => openai.chat.completions.create({ model: "lab/error-422", messages: say("x") })) as InstanceType<typeof OpenAI.APIError>
    expect([passed.requestID, passed.headers?.get("request-id")]).toEqual([passed.headers?.get("x-upstream-request-id"), passed.requestID])
    expect(passed.requestID).toMatch(/^req_sim/)
    await expect(openai.responses.retrieve("resp_none")).rejects.toMatchObject({ requestID: expect.any(String) as unknown })
    await expect(openai.models.retrieve("lab/none")).rejects.toMatchObject({ requestID: expect.any(String) as unknown })
  })

  it("an error inside a stream is thrown while it is read, after the content that came", async () => {
    let text = ""
    const error = await failing(async () => {
      for await (const chunk of await openai.chat.completions.create({ model: "lab/broken-4", messages: say("x"), stream: true })) text += chunk.choices[0]?.delta.content ?? ""
    })
    expect(error).toBeInstanceOf(OpenAI.APIError)
    expect(text.length).toBeGreaterThan(0)
  })

  it("the client's automatic retries: a 429 with Retry-After and a 503 are tried again, a 400 is not", async () => {
    const patient = new OpenAI({ baseURL: `${lab.gateway.url}/v1`, apiKey: key, maxRetries: 2 })
    await lab.sim.rule({ match: { model: "recovers" }, times: 1, script: { status: 429, headers: { "x-should-retry": "true" }, retryAfter: 1 } })
    await lab.sim.rule({ match: { model: "recovers" }, times: 1, script: { status: 503 } })
    const completion = await patient.chat.completions.create({ model: "lab/recovers", messages: say("x") })
    expect(completion.choices.length).toBe(1)
    expect((await lab.sim.entries({ model: "recovers" })).map((entry) => entry.status)).toEqual([429, 503, 200])
    await lab.sim.rule({ match: { model: "stays-bad" }, script: { status: 400 } })
    expect(await failing(() => patient.chat.completions.create({ model: "lab/stays-bad", messages: say("x") }))).toBeInstanceOf(OpenAI.BadRequestError)
    expect((await lab.sim.entries({ model: "stays-bad" })).length).toBe(1)
  })
})

describe("abort", () => {
  it("an AbortController ends the stream, the upstream call, and leaves a client-abort row", async () => {
    const controller = new AbortController()
    const stream = await openai.chat.completions.create({ model: "lab/tokens-500@10", messages: say("x"), stream: true }, { signal: controller.signal })
    let chunks = 0
    for await (const chunk of stream) {
      expect(chunk.choices.length).toBe(1)
      if (++chunks === 5) controller.abort()
    }
    expect(chunks).toBeLessThan(100)
    const [entry] = await lab.sim.ended({ model: "tokens-500@10" })
    expect(entry?.outcome).toBe("client-aborted")
    const row = (await lab.gateway.rows()).find((one) => one.model === "tokens-500@10")
    expect(row).toMatchObject({ outcome: "client-abort", status: 499, estimated: true })
  })

  it("a timeout of the client before any answer cancels the upstream call, too", async () => {
    await lab.sim.rule({ match: { model: "silent" }, script: { neverHead: true } })
    const error = await openai.chat.completions.create({ model: "lab/silent", messages: say("x") }, { timeout: 300 }).then(() => null, (cause: unknown) => cause)
    expect(error).toBeInstanceOf(OpenAI.APIConnectionTimeoutError)
    expect((await lab.sim.ended({ model: "silent" }))[0]?.outcome).toBe("client-aborted")
  })
})

describe("models", () => {
  it("models.list pages through, models.retrieve finds one", async () => {
    const ids: Array<string> = []
    for await (const model of openai.models.list()) ids.push(model.id)
    expect(ids).toContain("lab/echo")
    expect(await openai.models.retrieve("lab/echo")).toMatchObject({ id: "lab/echo", object: "model", owned_by: "lab" })
    await expect(openai.models.retrieve("lab/none")).rejects.toBeInstanceOf(OpenAI.NotFoundError)
  })
})
