/** Flag EXPOSE_CC_DISCOVERY_ALIASES over HTTP: models under ids that a coding agent lists, and what such an id reaches. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { converged } from "#test/support/cluster.ts"
import * as Http from "#test/support/http.ts"
import { type Lab, messages, startLab } from "#test/support/lab.ts"

let lab: Lab
const expose = async (value: "true" | "false"): Promise<void> => {
  await lab.gateway.operator.setFlag("EXPOSE_CC_DISCOVERY_ALIASES", value)
  await converged(lab.gateway)
}
beforeAll(async () => {
  lab = await startLab()
  await lab.gateway.operator.call("POST", "/api/provider-models", { provider: lab.node, modelId: "kimi", modelName: "Kimi" })
  await lab.gateway.operator.call("POST", "/api/provider-models", { provider: lab.node, modelId: "vectors", modelName: "Vectors", modelType: "embedding" })
  await expose("true")
})
afterAll(() => lab.close())

const mirror = "claude/lab/kimi"
const list = async (headers: Readonly<Record<string, string>> = {}, query = ""): Promise<ReadonlyArray<string>> =>
  (JSON.parse((await Http.send(lab.gateway.url, { path: `/v1/models${query}`, headers })).text) as { data: ReadonlyArray<{ id: string }> }).data.map(({ id }) => id)
const ask = (model: string, headers: Readonly<Record<string, string>> = {}) =>
  Http.send(lab.gateway.url, { path: "/v1/messages", headers, body: { model, max_tokens: 50, messages } })

describe("discovery aliases", () => {
  it.each([{}, { "anthropic-version": "2023-06-01" }])("are listed beside the models of other vendors, for headers %j", async (headers) => {
    const ids = await list(headers)
    expect(ids).toContain("lab/kimi")
    expect(ids).toContain(mirror)
    expect(ids).not.toContain("claude/lab/vectors")
    expect(ids.filter((id) => id.startsWith("claude/") && !id.startsWith("claude/sim/") && !id.startsWith("claude/lab/"))).toEqual([])
  })

  it("reach the model that they name, and the answer names it", async () => {
    const reply = await ask(mirror)
    expect(reply.status, reply.text).toBe(200)
    expect(reply.headers["x-gateway-model"]).toBe("lab/kimi")
    expect((await lab.sim.entries({ model: "kimi" })).length).toBe(1)
    expect((await lab.rows(reply))[0]).toMatchObject({ model: "kimi" })
  })

  it("are a key's as their models are", async () => {
    const { key } = await lab.gateway.operator.createKey("narrow", { allowedModels: ["lab/other"] })
    const bearer = { authorization: `Bearer ${key}` }
    expect(await list(bearer)).not.toContain(mirror)
    expect((await ask(mirror, bearer)).status).toBe(403)
  })

  it("are unknown while the flag is off", async () => {
    await expose("false")
    expect(await list()).not.toContain(mirror)
    const asked = (await lab.sim.entries({ model: "kimi" })).length
    const [off, unknown] = [await ask(mirror), await ask("claude/nobody/kimi")]
    await expose("true")
    const nobody = await ask("claude/nobody/kimi")
    expect(off.status).toBeGreaterThanOrEqual(400)
    expect([unknown.status, nobody.status]).toEqual([off.status, off.status])
    expect((await lab.sim.entries({ model: "kimi" })).length).toBe(asked)
  })
})
