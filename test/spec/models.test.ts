import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { errorIn, type Lab, startLab } from "#test/support/lab.ts"
import * as Http from "#test/support/http.ts"

interface Entry {
  readonly id: string
  readonly object: string
  readonly created: number
  readonly owned_by: string
  readonly permission: ReadonlyArray<unknown>
  readonly root: string
  readonly parent: string | null
  readonly name?: string
}

let lab: Lab
beforeAll(async () => {
  lab = await startLab()
  const { operator } = lab.gateway
  await operator.createConnection({ provider: "claude", apiKey: "sk-ant-spec-0000000000001" }).catch(() => operator.createConnection({ provider: "anthropic", apiKey: "sk-ant-spec-0000000000001" }))
  await operator.call("POST", "/api/provider-models", { provider: "lab", modelId: "house/special", modelName: "House special" })
})
afterAll(() => lab.close())

const get = (path: string) => Http.send(lab.gateway.url, { path })
const list = async (query = ""): Promise<ReadonlyArray<Entry>> => {
  const reply = await get(`/v1/models${query}`)
  expect(reply.status).toBe(200)
  const body = JSON.parse(reply.text) as { object: string; data: ReadonlyArray<Entry> }
  expect(body.object).toBe("list")
  return body.data
}

describe("models", () => {
  it("GET /v1/models lists entries of the documented shape, each id once", async () => {
    const entries = await list()
    expect(entries.length).toBeGreaterThan(1)
    for (const entry of entries) {
      expect(entry).toMatchObject({ object: "model", permission: [], created: expect.any(Number), owned_by: expect.any(String), root: expect.any(String) })
      expect(entry.parent === null || typeof entry.parent === "string").toBe(true)
    }
    expect(new Set(entries.map((entry) => entry.id)).size).toBe(entries.length)
  })

  it("models of an OpenAI-compatible node are listed under the node prefix", async () => {
    expect((await list()).find((entry) => entry.id === "lab/house/special")).toMatchObject({ name: "House special" })
    expect(JSON.stringify(await list())).not.toContain(lab.node)
  })

  it("the API type of a node decides the kind of its models, in every list", async () => {
    const { operator } = lab.gateway
    const kinds = [
      ["chat", undefined, "chat", undefined], ["responses", undefined, "chat", undefined], ["embeddings", "embedding", "embeddings", undefined],
      ["rerank", "rerank", "rerank", undefined], ["audio-speech", "audio", "audio-speech", "speech"],
      ["audio-transcriptions", "audio", "audio-transcriptions", "transcription"], ["images-generations", "image", "images-generations", undefined]
    ] as const
    for (const [apiType, type, endpoint, subtype] of kinds) {
      const prefix = `kind-${apiType}`
      const provider = await operator.createNode({ prefix, baseUrl: `${lab.sim.url}/v1`, apiType })
      await operator.createConnection({ provider, apiKey: "sk-kind-of-node-1234" })
      await operator.call("POST", "/api/provider-models", { provider, modelId: "m" })
      const entry = (await list()).find(({ id }) => id === `${prefix}/m`) as (Entry & Record<string, unknown>) | undefined
      expect([entry?.["type"], entry?.["supported_endpoints"], entry?.["subtype"]], apiType).toEqual([type, [endpoint], subtype])
    }
    const idsOf = async (path: string) => (JSON.parse((await get(path)).text) as { data: ReadonlyArray<Entry> }).data.map(({ id }) => id)
    expect(await idsOf("/v1/embeddings")).toContain("kind-embeddings/m")
    expect(await idsOf("/v1/images/generations")).toContain("kind-images-generations/m")
    expect((await idsOf("/v1/embeddings")).filter((id) => id.startsWith("kind-"))).toEqual(["kind-embeddings/m"])
  })

  it("a custom model's upstreamHeaders go upstream with its calls and with no other", async () => {
    const { operator } = lab.gateway
    const model = { provider: "lab", modelId: "with-headers", upstreamHeaders: { "X-House": "blue" } }
    await operator.call("POST", "/api/provider-models", model)
    for (const id of ["with-headers", "without-headers"]) expect((await lab.chat({ model: id })).status).toBe(200)
    const seen = async (id: string) => (await lab.sim.entries({ model: id })).map(({ headers }) => headers["x-house"])
    expect([await seen("with-headers"), await seen("without-headers")]).toEqual([["blue"], [undefined]])
    const reply = await operator.raw("PUT", "/api/provider-models", { ...model, upstreamHeaders: { authorization: "Bearer x" } })
    expect([reply.status, (errorIn(reply)["details"] as ReadonlyArray<{ field: string }>)[0]?.field]).toEqual([400, "upstreamHeaders.authorization"])
  })

  it("dual emits alias and canonical ids (the mirror names its parent), alias and canonical one entry per model", async () => {
    const dual = await list("?prefix=dual")
    const alias = await list("?prefix=alias")
    const canonical = await list("?prefix=canonical")
    expect(alias.length).toBe(canonical.length)
    expect(dual.length).toBeGreaterThan(alias.length)
    const ids = new Set(dual.map((entry) => entry.id))
    for (const entry of [...alias, ...canonical]) expect(ids.has(entry.id)).toBe(true)
    for (const mirror of dual.filter((entry) => entry.parent !== null)) expect(ids.has(mirror.parent ?? "")).toBe(true)
    expect(dual.some((entry) => entry.parent !== null)).toBe(true)
  })

  it("the default mode comes from flag MODELS_CATALOG_PREFIX_MODE and ?prefix= overrides it", async () => {
    const { operator } = lab.gateway
    await operator.setFlag("MODELS_CATALOG_PREFIX_MODE", "canonical")
    expect(await list()).toEqual(await list("?prefix=canonical"))
    expect(await list("?prefix=alias")).not.toEqual(await list())
    await operator.clearFlags()
    expect(await list()).toEqual(await list("?prefix=dual"))
  })

  it("name is omitted when flag MODEL_CATALOG_INCLUDE_NAMES is false", async () => {
    const { operator } = lab.gateway
    expect((await list()).every((entry) => typeof entry.name === "string")).toBe(true)
    await operator.setFlag("MODEL_CATALOG_INCLUDE_NAMES", "false")
    expect((await list()).some((entry) => "name" in entry)).toBe(false)
    await operator.clearFlags()
  })

  it("no-thinking variants vanish, and are unknown, when flag NO_THINKING_ALIAS_ENABLED is off", async () => {
    const { operator } = lab.gateway
    const variants = async () => (await list()).filter((entry) => entry.id.startsWith("claude-3-gateway-no-thinking/"))
    const listed = await variants()
    expect(listed.length).toBeGreaterThan(0)
    const id = listed[0]?.id ?? ""
    expect((await get(`/v1/models/${id}`)).status).toBe(200)
    await operator.setFlag("NO_THINKING_ALIAS_ENABLED", "false")
    expect(await variants()).toEqual([])
    expect((await get(`/v1/models/${id}`)).status).toBe(404)
    const call = await lab.chat({ model: id })
    expect(call.status).toBeGreaterThanOrEqual(400)
    expect(["model_not_found", "bad_request"]).toContain(errorIn(call)["code"])
    await operator.clearFlags()
  })

  it("GET /v1/models/{id} answers one entry, also for an id with slashes, plain or percent-encoded", async () => {
    for (const entry of (await list()).slice(0, 20)) {
      const plain = await get(`/v1/models/${entry.id}`)
      expect(JSON.parse(plain.text)).toMatchObject({ id: entry.id, object: "model" })
      expect((await get(`/v1/models/${encodeURIComponent(entry.id)}`)).status).toBe(200)
    }
  })

  it("GET /v1/models/{id} of an unknown model is 404 model_not_found", async () => {
    const reply = await get("/v1/models/lab%2Fnot-listed")
    expect([reply.status, errorIn(reply)["code"]]).toEqual([404, "model_not_found"])
  })

  it("broken percent-encoding in an id is a 404, never a failure", async () => {
    for (const id of ["%", "%zz", "%c3%28", "a%"]) expect([id, (await get(`/v1/models/${id}`)).status]).toEqual([id, 404])
  })

  it("every listed chat id of the lab can be called: resolution and list agree", async () => {
    const reply = await lab.chat({ model: "lab/house/special" })
    expect(reply.status).toBe(200)
    expect(reply.headers["x-gateway-model"]).toBe("lab/house/special")
    const [row] = await lab.rows(reply)
    expect(row?.model).toBe("house/special")
  })

  it("an alias resolves to its model, and the answer names the canonical id", async () => {
    await lab.gateway.operator.call("PUT", "/api/models/alias", { alias: "quick", model: "lab/echo" })
    const reply = await lab.chat({ model: "lab/echo" })
    const aliased = await Http.send(lab.gateway.url, { path: "/v1/chat/completions", body: { model: "quick", messages: [{ role: "user", content: "hi" }] } })
    expect([reply.status, aliased.status]).toEqual([200, 200])
    expect(aliased.headers["x-gateway-model"]).toBe("lab/echo")
    const [row] = await lab.rows(aliased)
    expect(row).toMatchObject({ requestedModel: "quick", model: "echo" })
  })

  it("the configuration acts at once: a model of a removed connection is not offered any more", async () => {
    const [id = ""] = await lab.pool("gone", ["sk-spec-gone-0000000001"])
    expect((await lab.chat({ model: "gone/echo" })).status).toBe(200)
    await lab.gateway.operator.removeConnection(id)
    expect((await lab.chat({ model: "gone/echo" })).status).toBe(400)
  })
})
