/** Dedicated provider routes, the tokenized editor aliases, thinking variants of model ids and what is left out. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { errorIn, type Lab, startLab } from "#test/support/lab.ts"

let lab: Lab
let messagesModel: string
beforeAll(async () => {
  lab = await startLab()
  const { operator } = lab.gateway
  const node = await operator.createNode({ prefix: "msg", type: "anthropic-compatible", baseUrl: `${lab.sim.url}/v1` })
  await operator.createConnection({ provider: node, apiKey: "canary-msg-0123456789" })
  messagesModel = "msg/echo"
})
afterAll(() => lab.close())

const messages = [{ role: "user", content: "Say something." }]
const post = (path: string, body: Record<string, unknown>, headers: Readonly<Record<string, string>> = {}) =>
  Http.send(lab.gateway.url, { path, headers, body })
const upstreamBody = async (model: string): Promise<Record<string, unknown>> => {
  const entries = await lab.sim.entries({ model })
  return entries.at(-1)?.body as Record<string, unknown>
}

describe("a provider's own route", () => {
  it("puts the provider in front of a model without it, and takes a model that has it", async () => {
    for (const model of ["tokens-2", "lab/tokens-2"]) {
      const reply = await post("/v1/providers/lab/chat/completions", { model, messages })
      expect([reply.status, reply.headers["x-gateway-model"]]).toEqual([200, "lab/tokens-2"])
    }
  })

  it("takes the ids without thinking that its list of models names, with the provider and without it", async () => {
    await lab.gateway.operator.createConnection({ provider: "anthropic", apiKey: "sk-ant-routes-0000000001", providerSpecificData: { baseUrl: `${lab.sim.url}/v1` } })
    const [path, model] = ["/v1/providers/anthropic", "claude-sonnet-4-5"]
    const { data } = JSON.parse((await Http.send(lab.gateway.url, { path: `${path}/models` })).text) as { data: ReadonlyArray<{ id: string }> }
    expect(data.map(({ id }) => id)).toContain(`claude-3-gateway-no-thinking/anthropic/${model}`)
    for (const variant of [`claude-3-gateway-no-thinking/anthropic/${model}`, `claude-3-gateway-no-thinking/${model}`, `no-think/claude/${model}`]) {
      const reply = await post(`${path}/chat/completions`, { model: variant, messages, reasoning_effort: "high" })
      expect([variant, reply.status, reply.headers["x-gateway-model"]]).toEqual([variant, 200, `anthropic/${model}`])
      expect(await upstreamBody(model)).toMatchObject({ model, thinking: { type: "disabled" } })
    }
  })

  it("400 model_mismatch for a model of another provider, 404 for an unknown provider", async () => {
    for (const model of [messagesModel, `claude-3-gateway-no-thinking/${messagesModel}`]) {
      const mismatch = await post("/v1/providers/lab/chat/completions", { model, messages })
      expect([mismatch.status, errorIn(mismatch)["code"]]).toEqual([400, "model_mismatch"])
    }
    expect((await post("/v1/providers/nobody/chat/completions", { model: "x", messages })).status).toBe(404)
  })
})

describe("editor aliases", () => {
  it("the key stands in the path: same handlers, same shapes, the same refusal for a wrong key", async () => {
    const { key } = await lab.gateway.operator.createKey("editor")
    const chat = await post(`/api/v1/editor/${key}/chat/completions`, { model: "lab/tokens-2", messages })
    expect([chat.status, (JSON.parse(chat.text) as { object: string }).object]).toEqual([200, "chat.completion"])
    const responses = await post(`/api/v1/editor/${key}/responses`, { model: "lab/tokens-2", input: "Hi." })
    expect([responses.status, (JSON.parse(responses.text) as { object: string }).object]).toEqual([200, "response"])
    const local = await post(`/api/v1/editor/${key}/api/chat`, { model: "lab/tokens-2", messages, stream: false })
    expect([local.status, (JSON.parse(local.text) as { done: boolean }).done]).toEqual([200, true])
    for (const path of ["api/tags", "api/version"]) {
      const wrong = await Http.send(lab.gateway.url, { path: `/api/v1/editor/nonsense/${path}` })
      expect([path, wrong.status, JSON.parse(wrong.text)]).toMatchObject([path, 401, { error: expect.stringContaining("not valid"), code: "invalid_api_key" }])
    }
    for (const path of ["models", "", "api/tags", "api/version"]) {
      expect((await Http.send(lab.gateway.url, { path: `/api/v1/editor/${key}/${path}` })).status).toBe(200)
    }
    const wrong = await post("/api/v1/editor/gwa_live_wrong/chat/completions", { model: "lab/tokens-2", messages })
    expect([wrong.status, errorIn(wrong)["code"]]).toEqual([401, "invalid_api_key"])
    expect((await Http.send(lab.gateway.url, { path: "/api/v1/editor/gwa_live_wrong/models" })).status).toBe(401)
  })

  it("clients of local model servers ask at the root as under /v1", async () => {
    for (const prefix of ["", "/v1"]) {
      const of = async (path: string, body?: object) => JSON.parse((await Http.send(lab.gateway.url, { path: `${prefix}${path}`, ...(body === undefined ? {} : { body }) })).text) as unknown
      expect(await of("/api/version")).toEqual({ version: expect.stringMatching(/^\d+\.\d+\.\d+$/) })
      expect(await of("/api/tags")).toMatchObject({ models: expect.arrayContaining([]) })
      const listed = await of("/api/tags") as { models: ReadonlyArray<{ model: string }> }
      expect(await of("/api/show", { model: listed.models[0]?.model })).toMatchObject({ capabilities: expect.arrayContaining(["completion"]) })
      expect(await of("/api/show", { model: "nobody" })).toMatchObject({ error: expect.stringContaining("not offered"), code: "model_not_found" })
    }
  })

  it("the key never reaches the upstream", async () => {
    const { key } = await lab.gateway.operator.createKey("editor-2")
    await post(`/api/v1/editor/${key}/chat/completions`, { model: "lab/tokens-3", messages })
    expect(JSON.stringify(await lab.sim.entries({ model: "tokens-3" }))).not.toContain(key)
  })
})

describe("thinking variants of a model id", () => {
  const connect = async (): Promise<void> => {
    await lab.gateway.operator.createConnection({
      provider: "anthropic", apiKey: "sk-ant-variants-000000001", providerSpecificData: { baseUrl: `${lab.sim.url}/v1` }
    })
  }

  it("no-thinking switches thinking off, -thinking on, a level sets the effort: in the format that is forwarded and in another", async () => {
    await connect()
    const ask = async (path: string, model: string) => {
      const reply = await post(path, path === "/v1/messages" ? { model, max_tokens: 30_000, messages } : { model, messages })
      expect(reply.status, reply.text).toBe(200)
      return upstreamBody("claude-sonnet-4-5")
    }
    for (const path of ["/v1/messages", "/v1/chat/completions"]) {
      expect((await ask(path, "claude-3-gateway-no-thinking/anthropic/claude-sonnet-4-5"))["thinking"]).toEqual({ type: "disabled" })
      expect((await ask(path, "anthropic/claude-sonnet-4-5-thinking"))["thinking"]).toMatchObject({ type: "enabled", budget_tokens: 10_240 })
      expect((await ask(path, "anthropic/claude-sonnet-4-5-low"))["thinking"]).toMatchObject({ type: "enabled", budget_tokens: 1_024 })
    }
  })

  it("levels are no suffixes with flag GATEWAY_DISABLE_THINKING_LEVEL_VARIANTS", async () => {
    const { operator } = lab.gateway
    const ids = async () => {
      const reply = await Http.send(lab.gateway.url, { path: "/v1/models" })
      return (JSON.parse(reply.text) as { data: ReadonlyArray<{ id: string }> }).data.map(({ id }) => id)
    }
    expect(await ids()).toContain("anthropic/claude-sonnet-4-5-high")
    await operator.setFlag("GATEWAY_DISABLE_THINKING_LEVEL_VARIANTS", "true")
    expect(await ids()).not.toContain("anthropic/claude-sonnet-4-5-high")
    await operator.clearFlags()
  })
})

describe("what a target cannot say", () => {
  it("is refused by its name when the answer would be another one", async () => {
    const reply = await post("/v1/chat/completions", { model: messagesModel, messages, n: 2 })
    expect([reply.status, errorIn(reply)["code"], errorIn(reply)["param"]]).toEqual([400, "capability_unsupported", "n"])
    expect((await lab.sim.entries({ model: "echo" })).length).toBe(0)
  })

  it("is left out and listed when it would not", async () => {
    const reply = await post("/v1/chat/completions", { model: messagesModel, messages, seed: 7, presence_penalty: 0.5 })
    expect(reply.status).toBe(200)
    expect((reply.headers["x-gateway-omitted"] ?? "").split(", ").sort()).toEqual(["max_tokens (set to 32000)", "presence_penalty", "seed"])
  })

  it("what is changed is listed in the same words, and a limit of our own is one of them", async () => {
    const reply = await post("/v1/chat/completions", { model: messagesModel, messages, temperature: 1.5 })
    expect(reply.headers["x-gateway-omitted"]).toBe("max_tokens (set to 32000), temperature (lowered to 1)")
    expect((await upstreamBody("echo"))["max_tokens"]).toBe(32_000)
    const limited = await post("/v1/chat/completions", { model: messagesModel, messages, max_tokens: 5_000 })
    expect([limited.status, limited.headers["x-gateway-omitted"]]).toEqual([200, undefined])
  })

  it.each([
    ["/v1/chat/completions", { messages, reasoning_effort: "high", max_tokens: 500 }, "max_tokens (raised to 32000)"],
    ["/v1/chat/completions", { messages, reasoning_effort: "high", max_completion_tokens: 500 }, "max_completion_tokens (raised to 32000)"],
    ["/v1/responses", { input: "Say something.", reasoning: { effort: "high" }, max_output_tokens: 500 }, "max_output_tokens (raised to 32000)"]
  ] as const)("at %s: a limit with no room beside the thoughts is raised, and listed: %#", async (path, body, listed) => {
    const reply = await post(path, { model: messagesModel, ...body })
    expect([reply.status, reply.headers["x-gateway-omitted"]]).toEqual([200, listed])
    expect((await upstreamBody("echo"))["max_tokens"]).toBe(32_000)
    const roomy = await post(path, { model: messagesModel, ...body, ...Object.fromEntries(Object.keys(body).filter((name) => name.startsWith("max_")).map((name) => [name, 200_000])) })
    expect([roomy.status, roomy.headers["x-gateway-omitted"]]).toEqual([200, undefined])
  })
})
