/** The model list as each vendor's client reads it, and what clients ask before their first call. */
import Anthropic from "@anthropic-ai/sdk"
import { GoogleGenAI } from "@google/genai"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Registry from "#src/providers/Registry.ts"
import * as Http from "#test/support/http.ts"
import { type Lab, startLab } from "#test/support/lab.ts"

let lab: Lab
let client: Anthropic
const connected = new Set<string>()
beforeAll(async () => {
  lab = await startLab()
  for (const modelId of ["a", "b", "c", "d", "e"]) await lab.gateway.operator.call("POST", "/api/provider-models", { provider: "lab", modelId, modelName: `Model ${modelId}` })
  const { key } = await lab.gateway.operator.createKey("lists")
  client = new Anthropic({ baseURL: lab.gateway.url, apiKey: key, maxRetries: 0 })
})
afterAll(() => lab.close())

const get = async (path: string, headers: Readonly<Record<string, string>> = {}) => {
  const reply = await Http.send(lab.gateway.url, { path, method: "GET", headers })
  return { status: reply.status, body: JSON.parse(reply.text) as Readonly<Record<string, unknown>> }
}
const version = { "anthropic-version": "2023-06-01" }

describe("GET /v1/models of a client of the messages format", () => {
  it("is that vendor's list, which its SDK pages through forwards", async () => {
    const all: Array<string> = []
    for await (const model of client.models.list({ limit: 2 })) {
      expect(model).toMatchObject({ type: "model", id: expect.any(String) as unknown, display_name: expect.any(String) as unknown })
      expect(Number.isNaN(Date.parse(model.created_at))).toBe(false)
      all.push(model.id)
    }
    expect(new Set(all).size).toBe(all.length)
    expect(all).toEqual(expect.arrayContaining(["a", "b", "c", "d", "e"].map((id) => `lab/${id}`)))
    const { body } = await get("/v1/models", version)
    expect(body).toMatchObject({ has_more: false, first_id: all[0], last_id: all.at(-1) })
    expect((body["data"] as ReadonlyArray<{ id: string }>).map(({ id }) => id)).toEqual(all)
  })

  it("pages backwards from before_id, and names the parameter that is wrong", async () => {
    const { body } = await get("/v1/models?limit=1000", version)
    const ids = (body["data"] as ReadonlyArray<{ id: string }>).map(({ id }) => id)
    const back = await get(`/v1/models?limit=2&before_id=${encodeURIComponent(ids[3] as string)}`, version)
    expect(back.body).toMatchObject({ data: [{ id: ids[1] }, { id: ids[2] }], has_more: true, first_id: ids[1], last_id: ids[2] })
    for (const [query, param] of [["limit=0", "limit"], ["limit=x", "limit"], ["limit=1001", "limit"], ["after_id=nothing", "after_id"], ["after_id=a&before_id=b", "before_id"]]) {
      expect(await get(`/v1/models?${query}`, version)).toMatchObject({ status: 400, body: { type: "error", error: { type: "invalid_request_error", param } } })
    }
  })

  it("has single models, and errors of that format", async () => {
    expect(await client.models.retrieve("lab/a")).toMatchObject({ type: "model", id: "lab/a", display_name: "Model a" })
    await expect(client.models.retrieve("lab/nothing")).rejects.toBeInstanceOf(Anthropic.NotFoundError)
    expect(await get("/v1/models", { ...version, "x-api-key": "wrong" })).toMatchObject({ status: 401, body: { type: "error", error: { type: "authentication_error" } } })
  })

  it("shows a key what it may use and no more", async () => {
    const { key } = await lab.gateway.operator.createKey("one model", { allowedModels: ["lab/b"] })
    const { body } = await get("/v1/models", { ...version, "x-api-key": key })
    expect((body["data"] as ReadonlyArray<{ id: string }>).map(({ id }) => id)).toEqual(["lab/b"])
  })
})

describe("GET /v1beta/models of a client of Google's", () => {
  it("is paged by pageSize as its SDK does, and whole without it", async () => {
    const { key } = await lab.gateway.operator.createKey("native lists")
    const google = new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: lab.gateway.url } })
    const all: Array<string | undefined> = []
    const pager = await google.models.list({ config: { pageSize: 2 } })
    expect(pager.pageLength).toBe(2)
    for await (const { name } of pager) all.push(name)
    const { body } = await get("/v1beta/models")
    expect(body).not.toHaveProperty("nextPageToken")
    expect((body["models"] as ReadonlyArray<{ name: string }>).map(({ name }) => name)).toEqual(all)
    expect(new Set(all).size).toBe(all.length)
    expect(all).toEqual(expect.arrayContaining(["a", "b", "c", "d", "e"].map((id) => `models/lab/${id}`)))
  })

  it.each([["pageSize=-1", "pageSize"], ["pageSize=x", "pageSize"], ["pageToken=nothing", "pageToken"]])("refuses ?%s", async (query, param) => {
    expect(await get(`/v1beta/models?${query}`)).toMatchObject({ status: 400, body: { error: { code: 400, status: "INVALID_ARGUMENT", details: [{ metadata: { param } }] } } })
  })
})

describe("one model by its bare id", () => {
  it("is the entry of the only provider that serves it, in each format, for keys that may use it", async () => {
    const { operator } = lab.gateway
    await operator.call("POST", "/api/provider-models", { provider: "lab", modelId: "only-here", modelName: "Only here" })
    expect((await get("/v1/models/only-here")).body).toMatchObject({ id: "lab/only-here", object: "model" })
    expect((await get("/v1/models/only-here", version)).body).toMatchObject({ id: "lab/only-here", type: "model" })
    expect((await get("/v1beta/models/only-here")).body).toMatchObject({ name: "models/lab/only-here" })
    expect((await Http.send(lab.gateway.url, { path: "/api/show", body: { model: "only-here" } })).status).toBe(200)
    const { key } = await operator.createKey("another model", { allowedModels: ["lab/b"] })
    expect((await get("/v1/models/only-here", { authorization: `Bearer ${key}` })).status).toBe(404)
    await lab.pool("lab2", ["lab-two-credential-0001"])
    await operator.call("POST", "/api/provider-models", { provider: "lab2", modelId: "only-here", modelName: "Here, too" })
    expect((await get("/v1/models/only-here")).status).toBe(404)
  })
})

it("GET /v1/models?client_version= has every field that Codex's parser has no default for", async () => {
  const { body } = await get("/v1/models?client_version=0.169.0")
  const models = body["models"] as ReadonlyArray<Readonly<Record<string, unknown>>>
  expect(models.map(({ slug }) => slug)).toContain("lab/a")
  for (const model of models) {
    expect(model).toMatchObject({
      slug: expect.any(String) as unknown, display_name: expect.any(String) as unknown, supported_reasoning_levels: expect.any(Array) as unknown,
      shell_type: "shell_command", visibility: "list", supported_in_api: true, priority: expect.any(Number) as unknown, support_verbosity: false,
      supports_reasoning_summaries: expect.any(Boolean) as unknown, truncation_policy: { mode: "bytes", limit: expect.any(Number) as unknown },
      supports_parallel_tool_calls: true, experimental_supported_tools: [], input_modalities: expect.any(Array) as unknown
    })
    expect(String(model["base_instructions"]).length).toBeGreaterThan(100)
    for (const field of ["description", "upgrade", "availability_nux", "default_verbosity", "apply_patch_tool_type"]) expect(model).toHaveProperty(field)
  }
})

it("HEAD answers wherever GET does, without a body: pages, lists, searches, sessions and the liveness probe", async () => {
  const { key } = await lab.gateway.operator.createKey("head")
  for (const path of [
    "/", "/api/hello", "/api/health/ping", "/v1/models", "/v1/models/lab/a", "/v1/models/health", "/v1/combos", "/v1/search", "/v1/search/analytics", "/v1/me/sessions", "/v1/responses/resp_none",
    "/v1/ws", "/v1/ws?handshake=1", "/v1/responses", "/responses", "/v1/files", "/v1/files/file-none", "/v1/batches", "/v1/quotas/check", "/v1beta/models"
  ]) {
    const headers = { authorization: `Bearer ${key}` }
    const [head, whole] = [await Http.send(lab.gateway.url, { path, method: "HEAD", headers }), await Http.send(lab.gateway.url, { path, method: "GET", headers })]
    expect([path, head.status, head.bytes.length, head.headers["content-type"]]).toEqual([path, whole.status, 0, whole.headers["content-type"]])
    expect([path, whole.status === 405, whole.bytes.length > 0]).toEqual([path, false, true])
  }
  for (const path of ["/", "/api/hello", "/v1/models", "/api/health/ping"]) {
    const reply = await Http.send(lab.gateway.url, { path, method: "HEAD" })
    expect([path, reply.status, reply.bytes.length]).toEqual([path, 200, 0])
  }
  expect(await get("/api/hello")).toEqual({ status: 200, body: { message: "hello" } })
})

it.each([
  ["/v1/embeddings", "embedding", undefined], ["/v1/images/generations", "image", undefined], ["/v1/videos/generations", "video", undefined], ["/v1/music/generations", "music", undefined],
  ["/v1/audio/speech", "audio", "speech"], ["/v1/audio/transcriptions", "audio", "transcription"], ["/v1/rerank", "rerank", undefined], ["/v1/moderations", "moderation", undefined], ["/v1/ocr", "ocr", undefined]
])("GET %s lists the models of its kind, and those alone that the key may use", async (path, type, subtype) => {
  const { operator } = lab.gateway
  for (const provider of ["openai", "gemini", "cohere", "mistral", "minimax", "deepgram"]) {
    if (connected.has(provider)) continue
    connected.add(provider)
    await operator.createConnection({ provider, apiKey: `${provider}-list-00000001` })
  }
  const read = async (headers: Readonly<Record<string, string>> = {}) => {
    const reply = await Http.send(lab.gateway.url, { method: "GET", path: `${path}?prefix=canonical`, headers })
    expect(reply.status).toBe(200)
    return (JSON.parse(reply.text) as { object: string; data: ReadonlyArray<{ id: string; object: string; type?: string; subtype?: string }> }).data
  }
  const all = await read()
  expect(all.length).toBeGreaterThan(0)
  expect(all.filter((entry) => entry.object !== "model" || entry.type !== type || (subtype !== undefined && entry.subtype !== subtype))).toEqual([])
  const [first] = all
  const { key } = await operator.createKey("one", { allowedModels: [first?.id ?? ""] })
  expect((await read({ authorization: `Bearer ${key}` })).map(({ id }) => id)).toEqual([first?.id])
})

describe("GET /api/v1/provider-plugin-manifest", () => {
  const path = "/api/v1/provider-plugin-manifest"
  interface Entry {
    readonly id: string
    readonly models: ReadonlyArray<{ readonly id: string }>
    readonly [member: string]: unknown
  }

  it("is the registry: each provider with its format, addresses, sign-in and models", async () => {
    const { body, status } = await get(path)
    expect([status, body["schemaVersion"], body["version"]]).toEqual([200, 1, expect.any(String)])
    const providers = body["providers"] as ReadonlyArray<Entry>
    expect(providers.map(({ id }) => id)).toEqual(Registry.builtin.all.map(({ id }) => id).filter((id) => id !== "sim"))
    for (const { id, models } of providers) expect([id, models]).toEqual([id, JSON.parse(JSON.stringify(Registry.builtin.byId.get(id)?.models))])
    expect(providers.find(({ id }) => id === "anthropic")).toMatchObject({
      alias: "claude", wireFormat: "messages", baseUrl: "https://api.anthropic.com/v1", chatPath: "/messages", auth: { type: "header", name: "x-api-key" }, authKinds: ["apikey", "oauth"]
    })
    expect(providers.find(({ id }) => id === "vertex")?.["oauth"]).toEqual({ authorizeUrl: expect.any(String), tokenUrl: expect.any(String), scopes: expect.any(Array) })
  })

  it("names no client of OAuth, no variable, no header of requests and no account", async () => {
    await lab.gateway.operator.createConnection({ provider: "openai", apiKey: "sk-manifest-000000001", name: "my account" })
    const { text } = await Http.send(lab.gateway.url, { path })
    // Where a key travels is said.
    const keyHeader = "x-api-key"
    const hidden = Registry.builtin.all.flatMap(({ env, headers = {}, oauth, tokenHeaders = {} }) =>
      [...env, ...[oauth?.clientId, oauth?.clientSecret].filter((name) => name !== undefined), ...Object.keys(headers), ...Object.keys(tokenHeaders), ...Object.values(tokenHeaders)]).filter((word) => word !== keyHeader)
    expect(hidden).toEqual(expect.arrayContaining(["OPENAI_API_KEY", "anthropic-beta"]))
    for (const word of [...hidden, "sk-manifest", "my account", lab.sim.url, "\"lab\""]) expect([word, text.includes(word)]).toEqual([word, false])
  })

  it("asks for a key as the lists do", async () => {
    const { operator } = lab.gateway
    const { key } = await operator.createKey("manifest")
    expect((await get(path, { authorization: `Bearer ${key}` })).status).toBe(200)
    expect((await get(path, { authorization: "Bearer wrong" })).status).toBe(401)
    await operator.setFlag("REQUIRE_API_KEY", "true")
    expect((await get(path)).status).toBe(401)
    await operator.clearFlags()
  })
})
