/** The models of a provider node are offered without a manual sync, and take no bare id away from anyone. */
import * as NodeHttp from "node:http"
import type { AddressInfo } from "node:net"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { inProcess, type InProcess } from "#test/support/gateway.ts"
import * as Http from "#test/support/http.ts"
import { eventually } from "#test/support/operator.ts"
import { type Sim, startSim } from "#test/support/sim.ts"

let gateway: InProcess
let sim: Sim
beforeAll(async () => {
  sim = await startSim({ keys: ["sk-lists"], models: { "house-model": {}, "gpt-4o-mini": {} } })
  gateway = await inProcess({ environment: { GATEWAY_MODEL_LISTS_REFRESH_MS: "3600000" } })
})
afterAll(async () => {
  await gateway.close()
  await sim.stop()
})

const listed = async (): Promise<ReadonlyArray<string>> => {
  const { text } = await Http.send(gateway.url, { method: "GET", path: "/v1/models" })
  return (JSON.parse(text) as { data: ReadonlyArray<{ id: string }> }).data.map(({ id }) => id)
}
const node = (prefix: string, baseUrl: string) => gateway.operator.call("POST", "/api/provider-nodes", {
  type: "openai-compatible", apiType: "chat", name: prefix, prefix, baseUrl, apiKey: "sk-lists"
})

describe("a node's own model list", () => {
  it("is offered soon after the node got its first key", async () => {
    await node("own", `${sim.url}/v1`)
    await eventually(listed, (ids) => ids.includes("own/house-model"), "the node's models in /v1/models")
  })

  it("leaves a bare id with the provider that it belongs to, and gives its own bare ids to the node", async () => {
    await gateway.operator.createConnection({ provider: "openai", apiKey: "sk-real" })
    const explained = await gateway.operator.raw("POST", "/api/routing/explain", { model: "gpt-4o-mini" })
    expect([explained.status, explained.text]).toEqual([200, expect.stringContaining("openai/gpt-4o-mini")])
    const bare = await Http.send(gateway.url, { path: "/v1/chat/completions", body: { model: "house-model", messages: [{ role: "user", content: "hi" }] } })
    expect([bare.status, bare.headers["x-gateway-model"]]).toEqual([200, "own/house-model"])
  })

  it("that does not answer harms nothing: any id of the node is callable", async () => {
    await node("silent", "http://127.0.0.1:9/v1")
    const reply = await Http.send(gateway.url, { path: "/v1/chat/completions", body: { model: "silent/any", messages: [{ role: "user", content: "hi" }] } })
    expect(reply.status).toBe(502)
    expect(await listed()).toContain("own/house-model")
  })
})

describe("the limits that a node's list states", () => {
  const sentence = "The quick brown fox jumps over the lazy dog. "
  let data: ReadonlyArray<Record<string, unknown>> = []
  const bodies: Array<Record<string, unknown>> = []
  const server = NodeHttp.createServer((req, res) => {
    const parts: Array<Buffer> = []
    req.on("data", (part: Buffer) => parts.push(part))
    req.on("end", () => {
      res.setHeader("content-type", "application/json")
      if (req.method === "GET") return void res.end(JSON.stringify({ object: "list", data }))
      bodies.push(JSON.parse(Buffer.concat(parts).toString("utf8")) as Record<string, unknown>)
      res.end(JSON.stringify({
        id: "msg_1", type: "message", role: "assistant", model: "stated", content: [{ type: "text", text: "said" }], stop_reason: "end_turn",
        usage: { input_tokens: 1, output_tokens: 1 }
      }))
    })
  })
  afterAll(() => void server.close())

  const ask = (content: string) => Http.send(gateway.url, { path: "/v1/chat/completions", body: { model: "stating/stated", messages: [{ role: "user", content }] } })
  const modelAt = async () => {
    const { models } = await gateway.operator.call<{ models: ReadonlyArray<Record<string, unknown>> }>("GET", "/api/provider-models?provider=stating")
    return models.find(({ modelId }) => modelId === "stated")
  }

  it("bound the prompt and the answer, follow the list, and give way to the operator's", async () => {
    data = [{ id: "stated", max_model_len: 4_000, max_output_tokens: 2_500 }]
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
    const { node: { id } } = await gateway.operator.call<{ node: { id: string } }>("POST", "/api/provider-nodes", {
      type: "anthropic-compatible", name: "stating", prefix: "stating", baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
    })
    const connection = await gateway.operator.createConnection({ provider: id, apiKey: "sk-stating-limits" })
    await eventually(modelAt, (model) => model?.["contextWindowOverride"] === 4_000, "the stated window")
    expect((await ask(sentence.repeat(2_000))).status).toBe(400)
    expect((await ask("short")).status).toBe(200)
    expect(bodies.map((body) => body["max_tokens"])).toEqual([2_500])

    data = [{ id: "stated", max_model_len: 64_000 }]
    await gateway.operator.call("POST", `/api/providers/${connection}/sync-models`)
    expect(await modelAt()).toMatchObject({ contextWindowOverride: 64_000, max_output_tokens: null })
    expect((await ask(sentence.repeat(2_000))).status).toBe(200)
    expect(bodies[1]?.["max_tokens"]).toBe(32_000)

    await gateway.operator.call("PUT", "/api/provider-models", { provider: "stating", modelId: "stated", contextWindowOverride: 5_000, max_output_tokens: 1_234 })
    data = [{ id: "stated", max_model_len: 128_000, max_output_tokens: 9_000 }]
    await gateway.operator.call("POST", `/api/providers/${connection}/sync-models`)
    expect(await modelAt()).toMatchObject({ contextWindowOverride: 5_000, max_output_tokens: 1_234 })
    expect((await ask(sentence.repeat(2_000))).status).toBe(400)
    await ask("short")
    expect(bodies[2]?.["max_tokens"]).toBe(1_234)
  })
})
