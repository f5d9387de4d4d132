/** The models of a provider node are offered without a manual sync, and take no bare id away from anyone. */
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
