/** Which model ids an endpoint takes: how long they may be, and which models of the registry answer conversations. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { errorIn, type Lab, messages, startLab } from "#test/support/lab.ts"
import { callOf, oneShots } from "#test/support/oneShots.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab()
})
afterAll(() => lab.close())

/** The longest id, and one that is longer. */
const [longest, longer] = [200, 201].map((length) => `lab/${"m".repeat(length - 4)}`) as [string, string]

const conversations: ReadonlyArray<readonly [string, (model: string) => Http.Call]> = [
  ["/v1/chat/completions", (model) => ({ path: "/v1/chat/completions", body: { model, messages } })],
  ["/v1/messages", (model) => ({ path: "/v1/messages", body: { model, messages, max_tokens: 5 } })],
  ["/v1/messages/count_tokens", (model) => ({ path: "/v1/messages/count_tokens", body: { model, messages } })],
  ["/v1/responses", (model) => ({ path: "/v1/responses", body: { model, input: "hello" } })],
  ["/v1/completions", (model) => ({ path: "/v1/completions", body: { model, prompt: "hello" } })],
  ["/v1/api/chat", (model) => ({ path: "/v1/api/chat", body: { model, messages, stream: false } })],
  ["/v1beta/models", (model) => ({ path: `/v1beta/models/${model}:generateContent`, body: { contents: [{ parts: [{ text: "hello" }] }] } })]
]
const asks = [...conversations, ...oneShots.filter(({ kind }) => kind !== "search").map((row) => [row.path, (model: string) => callOf(row, model)] as const)]
/** These formats name no field. */
const unnamed = new Set(["/v1/messages", "/v1/messages/count_tokens", "/v1beta/models", "/v1/api/chat"])

describe("a model id of more than 200 characters", () => {
  it.each(asks)("is refused at %s, and nothing is sent", async (path, ask) => {
    const reply = await Http.send(lab.gateway.url, ask(longer))
    expect([reply.status, reply.text]).toEqual([400, expect.stringContaining("Field 'model' must have at most 200 characters")])
    if (!unnamed.has(path)) expect(errorIn(reply)).toMatchObject({ code: "bad_request", param: "model" })
    expect(await lab.sim.entries({ model: longer.slice(4) })).toEqual([])
  })

  it.each(conversations)("is none with 200 at %s", async (_path, ask) => {
    expect((await Http.send(lab.gateway.url, ask(longest))).status).toBe(200)
  })

  it("is called by an alias", async () => {
    const { operator } = lab.gateway
    await operator.call("PUT", "/api/models/alias", { alias: "short", model: longer })
    const reply = await Http.send(lab.gateway.url, { path: "/v1/chat/completions", body: { model: "short", messages } })
    expect([reply.status, reply.headers["x-gateway-model"]]).toEqual([200, longer])
  })
})

describe("a model of the registry that is for other requests", () => {
  const refused = ["gemini/gemini-embedding-001", "openai/whisper-1", "openai/gpt-image-1", "openai/omni-moderation-latest", "cohere/rerank-v3.5", "mistral/mistral-ocr-latest", "xai/grok-imagine-video"]
  const asked = conversations.filter(([path]) => path !== "/v1/messages/count_tokens")

  it.each(refused.flatMap((model) => asked.map(([path, ask]) => [model, path, ask] as const)))("%s takes no conversations at %s", async (model, _path, ask) => {
    const reply = await Http.send(lab.gateway.url, ask(model))
    expect([reply.status, reply.text]).toEqual([406, expect.stringContaining(`Model '${model}' takes no conversations.`)])
  })

  it("is refused with model_not_supported by its bare name, and inside a provider's own route", async () => {
    await lab.gateway.operator.createConnection({ provider: "gemini", apiKey: "AIza-kinds-000000001", providerSpecificData: { baseUrl: `${lab.sim.url}/v1beta` } })
    for (const call of [
      { path: "/v1/chat/completions", body: { model: "gemini-embedding-001", messages } },
      { path: "/v1/providers/gemini/chat/completions", body: { model: "gemini-embedding-001", messages } }
    ]) {
      const reply = await Http.send(lab.gateway.url, call)
      expect([reply.status, errorIn(reply)["code"]]).toEqual([406, "model_not_supported"])
    }
    expect(await lab.sim.entries({ model: "gemini-embedding-001" })).toEqual([])
  })

  it("is asked where it answers conversations, too, and where an operator added it", async () => {
    const { operator } = lab.gateway
    await operator.createConnection({ provider: "mistral", apiKey: "mi-kinds-000000001", providerSpecificData: { baseUrl: `${lab.sim.url}/v1` } })
    await operator.createConnection({ provider: "openai", apiKey: "sk-kinds-000000001", providerSpecificData: { baseUrl: `${lab.sim.url}/v1` } })
    await operator.call("POST", "/api/provider-models", { provider: "openai", modelId: "whisper-1", modelName: "Talks" })
    for (const model of ["gemini/gemini-2.5-flash-image", "mistral/voxtral-mini-latest", "openai/whisper-1", "gemini/some-new-embedding"]) {
      expect([model, (await lab.chat({ model })).status]).toEqual([model, 200])
    }
  })
})

describe("an alias that leads nowhere", () => {
  it("is told with what it leads to, and is never suggested", async () => {
    const { operator } = lab.gateway
    await operator.call("PUT", "/api/models/alias", { alias: "idsbroken", model: "idsgone/one" })
    const refused = await lab.gateway.operator.raw("POST", "/v1/chat/completions", { model: "idsbroken", messages })
    expect([refused.status, errorIn(refused)["message"]]).toEqual([404,
      "Model 'idsbroken' was not found: an alias leads to 'idsgone/one', and no provider, alias or node has the prefix 'idsgone'. Ask for <provider>/<model>, or see GET /v1/models for what is offered."])
    const near = await lab.gateway.operator.raw("POST", "/v1/chat/completions", { model: "idsbroke", messages })
    expect([near.status, String(errorIn(near)["message"]).includes("idsbroken")]).toEqual([404, false])
  })
})
