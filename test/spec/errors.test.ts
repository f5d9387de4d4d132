import { Agent } from "node:http"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { version } from "#schemas/version.ts"
import { errorIn, type Lab, messages, startLab } from "#test/support/lab.ts"
import * as Http from "#test/support/http.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab({ environment: { MAX_BODY_SIZE_BYTES: "65536" } })
})
afterAll(() => lab.close())

const post = (body: unknown, headers: Record<string, string> = {}) =>
  Http.send(lab.gateway.url, { path: "/v1/chat/completions", body, headers })

describe("error replies", () => {
  it("400 invalid_json when the body is not JSON", async () => {
    for (const body of ["", "{", "{\"model\":\"lab/echo\",}", "nonsense", "{\"model\":\"lab/echo\"} x"]) {
      const reply = await post(body)
      expect([body, reply.status]).toEqual([body, 400])
      expect(errorIn(reply)).toMatchObject({ type: "invalid_request_error", code: "invalid_json", param: "body" })
    }
  })

  it.each<readonly [string, Record<string, unknown>]>([
    ["/v1/chat/completions", { messages }], ["/v1/messages", { messages, max_tokens: 5 }], ["/v1/responses", { input: "hello" }], ["/v1/embeddings", { input: "hello" }]
  ])("none at %s for a byte order mark before the body, which some editors write: it is left out", async (path, body) => {
    const model = `marked-${path.replaceAll("/", "-")}`
    const reply = await Http.send(lab.gateway.url, { path, body: `\uFEFF${JSON.stringify({ ...body, model: `lab/${model}` })}` })
    expect([reply.status, (await lab.sim.entries({ model })).length], reply.text).toEqual([200, 1])
  })

  const invalid: ReadonlyArray<readonly [string, string, unknown]> = [
    ["the body is no object", "body", [1, 2]],
    ["the body is a text", "body", JSON.stringify("text")],
    ["model is missing", "model", { messages }],
    ["model is empty", "model", { model: "", messages }],
    ["model is a number", "model", { model: 7, messages }],
    ["messages is missing", "messages", { model: "lab/echo" }],
    ["messages is empty", "messages", { model: "lab/echo", messages: [] }],
    ["messages is a text", "messages", { model: "lab/echo", messages: "hello" }],
    ["a message has no role", "messages[1]", { model: "lab/echo", messages: [...messages, { content: "x" }] }],
    ["a message is null", "messages[0]", { model: "lab/echo", messages: [null] }],
    ["stream is a text", "stream", { model: "lab/echo", messages, stream: "yes" }],
    ["stream_options is a number", "stream_options", { model: "lab/echo", messages, stream_options: 1 }]
  ]
  it.each(invalid)("400 bad_request when %s, naming the field %s", async (_, param, body) => {
    const reply = await post(body)
    expect(reply.status).toBe(400)
    expect(errorIn(reply)).toMatchObject({ type: "invalid_request_error", code: "bad_request", param })
  })

  const deepest = 256
  const deep = (levels: number): string => `${"{\"a\":".repeat(levels)}1${"}".repeat(levels)}`
  const faces: ReadonlyArray<readonly [string, Record<string, unknown>]> = [
    ["/v1/chat/completions", { model: "lab/echo", messages }],
    ["/v1/messages", { model: "lab/echo", messages, max_tokens: 5 }],
    ["/v1/responses", { model: "lab/echo", input: "hello" }],
    ["/v1/completions", { model: "lab/echo", prompt: "hello" }],
    ["/v1/api/chat", { model: "lab/echo", messages, stream: false }],
    ["/v1/api/show", { model: "lab/echo" }],
    ["/v1/messages/count_tokens", { model: "lab/echo", messages }],
    ["/v1beta/models/lab/echo:generateContent", { contents: [{ parts: [{ text: "hello" }] }] }]
  ]
  it.each(faces)("400 for a body that nests too deep, before it is parsed, at %s", async (path, body) => {
    const text = (levels: number): string => `${JSON.stringify(body).slice(0, -1)},"x_unknown":${deep(levels)}}`
    const refused = await Http.send(lab.gateway.url, { path, body: text(5_000) })
    expect([path, refused.status]).toEqual([path, 400])
    const { length } = text(0)
    const at = length - 2 + (deepest - 1) * 5
    expect(refused.text).toContain(`nested deeper than ${deepest} levels (byte ${at})`)
    // The same field where it is allowed to be that deep.
    const served = await Http.send(lab.gateway.url, { path, body: text(deepest - 1) })
    expect([path, served.status]).toEqual([path, path === "/v1/api/show" ? 404 : 200])
  })

  it("every error body of the gateway's own has message, type and code as texts, and is JSON", async () => {
    for (const reply of [await post("{"), await post({ model: "lab/echo" }), await post({ model: "x/y", messages }), await post({ model: "lab/cut-0", messages })]) {
      expect(reply.headers["content-type"]).toContain("application/json")
      const error = errorIn(reply)
      expect([typeof error["message"], typeof error["type"], typeof error["code"]]).toEqual(["string", "string", "string"])
    }
  })

  it("404 not_found / unknown_route, with path, for a route that does not exist", async () => {
    for (const path of ["/v1/multimodal-embeddings", "/v1/chat", "/v2/chat/completions", "/nothing"]) {
      const reply = await Http.send(lab.gateway.url, { method: "POST", path: `${path}?a=1`, body: {} })
      expect([path, reply.status]).toEqual([path, 404])
      expect(errorIn(reply)).toMatchObject({ type: "not_found", code: "unknown_route", path })
    }
  })

  it("404 unknown_route in the form of local model servers, whose clients show the member error as it stands", async () => {
    for (const path of ["/api/chat", "/api/generate", "/api/embed", "/api/ps", "/v1/api/pull", "/api/blobs/sha256:1"]) {
      const reply = await Http.send(lab.gateway.url, { method: "POST", path, body: {} })
      expect([path, reply.status, reply.headers["content-type"]]).toEqual([path, 404, "application/json"])
      expect(JSON.parse(reply.text)).toMatchObject({ error: expect.stringContaining(`POST ${path}`) as unknown, type: "not_found", code: "unknown_route", path })
      expect(reply.headers["x-gateway-version"]).toBe(version)
    }
    const { text } = await Http.send(lab.gateway.url, { method: "POST", path: "/api/chat", body: {} })
    expect(text).toContain("/v1/api/chat")
  })

  it.each(["/v1/files/", "/v1/batches/", "/v1/responses/", "/v1/conversations/", "/v1/models/", "/v1beta/models/"])(
    "404 not_found / unknown_route, with path, for GET %s, whose id is empty",
    async (path) => {
      const reply = await Http.send(lab.gateway.url, { path: `${path}?a=1` })
      expect([reply.status, errorIn(reply)]).toMatchObject([404, { message: `Unknown route: GET ${path}`, type: "not_found", code: "unknown_route", path }])
    }
  )

  it("404 model_not_found for a model nobody offers", async () => {
    const reply = await post({ model: "no-such-model-anywhere", messages })
    expect([reply.status, errorIn(reply)["code"]]).toEqual([404, "model_not_found"])
    const unknownPrefix = await post({ model: "nobody/model", messages })
    expect([400, 404]).toContain(unknownPrefix.status)
    expect(String(errorIn(unknownPrefix)["message"])).toContain("nobody")
  })

  it("400 provider_required with candidates for a bare model that several providers serve", async () => {
    const { operator } = lab.gateway
    await operator.createConnection({ provider: "openai", apiKey: "sk-spec-openai-000000001" })
    await operator.createConnection({ provider: "openrouter", apiKey: "sk-spec-openrouter-00001" })
    const other = await operator.createNode({ prefix: "twin", baseUrl: `${lab.sim.url}/v1` })
    await operator.createConnection({ provider: other, apiKey: "sk-spec-twin-000000000001" })
    for (const provider of ["lab", "twin"]) await operator.call("POST", "/api/provider-models", { provider, modelId: "shared-model", modelName: "S" })
    const reply = await post({ model: "shared-model", messages })
    expect([reply.status, errorIn(reply)["code"]]).toEqual([400, "provider_required"])
    expect([...errorIn(reply)["candidates"] as ReadonlyArray<string>].sort()).toEqual(["lab/shared-model", "twin/shared-model"])
  })

  it("400 'No credentials for provider: <provider>' when nothing is stored for it", async () => {
    const reply = await post({ model: "groq/llama-3.3-70b-versatile", messages })
    expect(reply.status).toBe(400)
    expect(errorIn(reply)).toMatchObject({ type: "invalid_request_error", code: "bad_request", message: "No credentials for provider: groq" })
  })

  it("503 ALL_ACCOUNTS_INACTIVE when every connection is inactive", async () => {
    const [id = ""] = await lab.pool("asleep", ["sk-spec-asleep-00000001"])
    await lab.gateway.operator.changeConnection(id, { isActive: false })
    const reply = await post({ model: "asleep/echo", messages })
    expect(reply.status).toBe(503)
    expect(errorIn(reply)).toMatchObject({ type: "service_unavailable", code: "ALL_ACCOUNTS_INACTIVE" })
  })

  it("405 with Allow where the path exists for another method", async () => {
    for (const method of ["GET", "PUT", "DELETE", "PATCH"]) {
      const reply = await Http.send(lab.gateway.url, { method, path: "/v1/chat/completions" })
      expect([method, reply.status, reply.headers["allow"]]).toEqual([method, 405, "POST"])
    }
    const forms: ReadonlyArray<readonly [string, Record<string, unknown>]> = [
      ["/v1/chat/completions", { error: { type: "invalid_request_error", code: "method_not_allowed" } }],
      ["/v1/responses", { error: { type: "invalid_request_error", code: "method_not_allowed" } }],
      ["/v1/messages", { type: "error", error: { type: "invalid_request_error" } }],
      ["/v1beta/models/lab:generateContent", { error: { code: 405 } }],
      ["/v1/api/chat", { error: expect.any(String) as unknown }]
    ]
    for (const [path, body] of forms) {
      const reply = await Http.send(lab.gateway.url, { method: "DELETE", path })
      expect([path, reply.status, (reply.headers["allow"] ?? "").includes("POST")]).toEqual([path, 405, true])
      expect(JSON.parse(reply.text)).toMatchObject(body)
      expect(reply.text).not.toContain("requestId")
    }
    const management = await Http.send(lab.gateway.url, { method: "DELETE", path: "/api/auth/login" })
    expect([management.status, errorIn(management)["type"]]).toEqual([405, "invalid_request"])
    const models = await Http.send(lab.gateway.url, { method: "POST", path: "/v1/models", body: {} })
    expect(models.status).toBe(405)
    expect(models.headers["allow"]).toContain("GET")
    for (const path of ["/v1/models/lab", "/v1/models/lab/echo", "/v1/models/lab%2Fecho", "/v1beta/models/lab/echo/more"]) {
      const one = await Http.send(lab.gateway.url, { method: "PUT", path, body: {} })
      expect([path, one.status, one.headers["allow"]?.split(", ").toSorted()]).toEqual([path, 405, ["GET", "HEAD", "POST"]])
    }
  })

  it("413 payload_too_large above MAX_BODY_SIZE_BYTES, declared or chunked; just below it passes", async () => {
    const of = (size: number) => {
      const body = JSON.stringify({ model: "lab/echo", messages: [{ role: "user", content: "" }] })
      return body.replace("\"content\":\"\"", `"content":"${"x".repeat(size - body.length)}"`)
    }
    expect((await post(of(65_536))).status).toBe(200)
    const declared = await post(of(65_537))
    expect([declared.status, errorIn(declared)["code"]]).toEqual([413, "payload_too_large"])
    const chunked = await post(of(65_537), { "transfer-encoding": "chunked" })
    expect([chunked.status, errorIn(chunked)["code"]]).toEqual([413, "payload_too_large"])
    expect((await post(of(65_536), { "transfer-encoding": "chunked" })).status).toBe(200)
  })

  it("the setting maxBodySizeMb overrides MAX_BODY_SIZE_BYTES at runtime", async () => {
    await lab.gateway.operator.call("PATCH", "/api/settings", { maxBodySizeMb: 1 })
    const reply = await post({ model: "lab/tokens-1", messages: [{ role: "user", content: "x".repeat(200_000) }] })
    expect(reply.status).toBe(200)
  })

  it("415 unsupported_media_type for a body in an unknown coding; identity is accepted", async () => {
    const reply = await post({ model: "lab/echo", messages }, { "content-encoding": "compress" })
    expect([reply.status, errorIn(reply)["code"]]).toEqual([415, "unsupported_media_type"])
    expect((await post({ model: "lab/echo", messages }, { "content-encoding": "identity" })).status).toBe(200)
  })

  it("a connection that is kept alive goes on after every refusal", async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const on = (path: string, body: unknown, headers: Record<string, string> = {}) => Http.send(lab.gateway.url, { method: "POST", path, body, headers, agent })
    const good = () => on("/v1/chat/completions", { model: "lab/tokens-2", messages })
    for (const refused of [
      () => on("/v1/chat/completions", "{"), () => on("/nothing", "x".repeat(100_000)), () => on("/v1/models", { a: 1 }),
      () => on("/v1/chat/completions", { model: "lab/error-500", messages }), () => on("/v1/chat/completions", "x".repeat(2_000), { "content-encoding": "gzip" }),
      () => on("/v1/chat/completions", { model: "lab/echo", messages }, { authorization: "Bearer sk-wrong" }),
      () => on("/v1/chat/completions", { model: "lab/cut-3", messages, stream: true })
    ]) {
      expect((await refused()).status).not.toBe(0)
      expect((await good()).status).toBe(200)
    }
    agent.destroy()
  })

  it("a refusal costs no upstream call and leaves no row", async () => {
    const { requests } = await lab.sim.summary()
    const rows = (await lab.gateway.rows()).length
    for (const body of ["{", { model: "lab/echo" }, { model: "no/such", messages }]) await post(body)
    expect((await lab.sim.summary()).requests).toBe(requests)
    expect((await lab.gateway.rows()).length).toBe(rows)
  })
})

describe("paths are matched exactly", () => {
  const variants = [
    "/V1/chat/completions", "/v1/Chat/completions", "/v1/chat/completions/", "//v1/chat/completions", "/v1//chat/completions",
    "/v1/chat%2Fcompletions", "/v1/%63hat/completions", "/v1/chat/./completions", "/v1/x/../chat/completions", "/v1/chat/completions;a=b",
    "/v1/chat/completions%00", "/v1/chat/completions%20", "/v1\\chat\\completions"
  ]
  it.each(variants)("POST %s is 404 unknown_route, never another route", async (path) => {
    const before = (await lab.sim.summary()).requests
    const reply = await Http.send(lab.gateway.url, { method: "POST", path, body: { model: "lab/echo", messages } })
    expect(reply.status).toBe(404)
    expect(errorIn(reply)).toMatchObject({ code: "unknown_route", path })
    expect((await lab.sim.summary()).requests).toBe(before)
  })

  it.each(["/v1/Models", "/v1/models/", "//v1/models", "/v1//models", "/v1/%6dodels", "/V1/models"])("GET %s is 404", async (path) => {
    expect((await Http.send(lab.gateway.url, { path })).status).toBe(404)
  })

  it.each(["/API/providers", "/api/Providers", "/api/%70roviders", "//api/providers", "/api/providers/"])("GET %s opens nothing of the management API", async (path) => {
    expect([401, 404]).toContain((await Http.send(lab.gateway.url, { path })).status)
  })
})
