/** Structured items of POST /v1/embeddings: what is refused before anything is sent, and what each vendor is asked. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import * as OAuthServer from "#test/support/oauthServer.ts"
import { errorIn, type Lab, startLab } from "#test/support/lab.ts"

let lab: Lab
let oauth: OAuthServer.OAuthServer
beforeAll(async () => {
  lab = await startLab()
  const { operator } = lab.gateway
  oauth = await OAuthServer.start()
  oauth.clock = () => Date.now() / 1000
  await operator.setFlag("GATEWAY_ALLOW_LOCAL_PROVIDER_URLS", "true")
  await operator.createConnection({
    provider: "vertex", apiKey: OAuthServer.serviceAccount(oauth.tokenUrl), providerSpecificData: { baseUrl: `${lab.sim.url}/v1/projects/{project}/locations/{region}/publishers/google` }
  })
  for (const [provider, path] of [["jina", "/v1"], ["voyage", "/v1"], ["cohere", ""], ["gemini", "/v1beta"]] as const) {
    await operator.createConnection({ provider, apiKey: `${provider}-structured-00000001`, providerSpecificData: { baseUrl: `${lab.sim.url}${path}` } })
  }
})
afterAll(async () => {
  await lab.close()
  await oauth.close()
})

const embed = (body: Readonly<Record<string, unknown>>) => Http.send(lab.gateway.url, { path: "/v1/embeddings", body })
const png = Buffer.from("not really a picture").toString("base64")
const text = (said: string) => ({ type: "text", text: said })
const image = { type: "image", source: { type: "base64", data: png, media_type: "image/png" } }
const pdf = { type: "document", source: { type: "base64", data: png, media_type: "application/pdf" } }
const video = { type: "video", source: { type: "url", url: `data:video/mp4;base64,${png}` } }
const inline = (bytes: number) => ({ type: "image", source: { type: "base64", data: "A".repeat(Math.ceil(bytes / 3) * 4), media_type: "image/png" } })
const answered = (reply: Http.Reply) => {
  expect([reply.status, reply.text]).toEqual([200, expect.any(String)])
  return JSON.parse(reply.text) as { model: string; data: ReadonlyArray<{ index: number; embedding: ReadonlyArray<number> }>; usage: { prompt_tokens: number } }
}
const bodyOf = async (model: string) => (await lab.sim.entries({ model })).at(-1)?.body as Record<string, unknown>

const omni = "jina/jina-embeddings-v5-omni-nano"

describe("structured items are refused", () => {
  it.each([
    ["more than 32 items", { model: omni, input: Array.from({ length: 33 }, () => text("a")) }, "input", "Field 'input' must have at most 32 structured items."],
    ["an unknown type", { model: omni, input: [{ type: "smell" }] }, "input[0].type", "Field 'input[0].type' must be 'text', 'image', 'audio', 'video' or 'document'."],
    ["no source", { model: omni, input: [text("a"), { type: "image" }] }, "input[1].source", "Field 'input[1].source' must be {type: 'url', url} or {type: 'base64', data, media_type}."],
    ["an http URL", { model: omni, input: [{ type: "image", source: { type: "url", url: "http://example.com/a.png" } }] }, "input[0].source.url", "Field 'input[0].source.url' must be a public HTTPS URL."],
    ["a native http URL", { model: omni, input: [{ image: "http://example.com/a.png" }] }, "input[0].image", "Field 'input[0].image' must be a public HTTPS URL."],
    ["another type of bytes", { model: omni, input: [{ type: "image", source: { type: "base64", data: png, media_type: "text/html" } }] }, "input[0].source.media_type", "Field 'input[0].source.media_type' must be a media type of image."],
    ["no base64", { model: omni, input: [{ type: "image", source: { type: "base64", data: "%%%", media_type: "image/png" } }] }, "input[0].source.data", "Field 'input[0].source.data' must be base64."],
    ["two spellings", { model: omni, input: [text("a"), { image: png }] }, "input[1]", "Field 'input[1]' is spelled another way than the items before it: use {type, source} for all, or for none."],
    ["texts beside items", { model: omni, input: [text("a"), "b"] }, "input[0]", "Field 'input' must hold structured items only, or none: write a text as {type: 'text', text}."],
    ["a model that reads text only", { model: "jina/jina-embeddings-v3", input: [image] }, "input", "Model 'jina-embeddings-v3' does not embed image: it reads text."],
    ["native, a model that reads text only", { model: "jina/jina-embeddings-v3", input: [{ image: png }] }, "input", "Model 'jina-embeddings-v3' does not embed image: it reads text."],
    ["a model without metadata", { model: "lab/st-refused", input: [text("a")] }, "input[0]", "Model 'st-refused' has no modality metadata: structured input needs a model that names what it reads."]
  ] as const)("for %s, with nothing sent and nothing charged", async (_name, body, param, message) => {
    const before = (await lab.sim.entries({})).length
    const reply = await embed(body)
    expect([reply.status, errorIn(reply)]).toEqual([400, { message, type: "invalid_request_error", code: "bad_request", param }])
    expect((await lab.sim.entries({})).length).toBe(before)
    expect((await lab.rows(reply)).reduce((sum, { costUsd }) => sum + (costUsd ?? 0), 0)).toBe(0)
  })

  it("for more than 8 MiB in an item and more than 16 MiB in all", { timeout: 180_000 }, async () => {
    const long = await embed({ model: omni, input: [inline(8 * 1024 * 1024 + 3)] })
    expect([long.status, errorIn(long)["param"]]).toEqual([400, "input[0].source.data"])
    const many = await embed({ model: omni, input: [inline(5.5 * 1024 * 1024), inline(5.5 * 1024 * 1024), inline(5.2 * 1024 * 1024)] })
    expect([many.status, errorIn(many)["message"]]).toEqual([400, "Field 'input' holds more than 16777216 bytes of media: a request may have 16 MiB."])
    expect((await lab.sim.entries({ model: "jina-embeddings-v5-omni-nano" })).length).toBe(0)
  })

  it("in the vendor's spelling by the dialects of others", async () => {
    const reply = await embed({ model: "gemini/gemini-embedding-2", input: [{ image: `data:image/png;base64,${png}` }] })
    expect([reply.status, errorIn(reply)]).toEqual([400, { message: "Invalid request", type: "invalid_request_error", code: "bad_request" }])
    expect((await lab.sim.entries({ model: "gemini-embedding-2" })).length).toBe(0)
  })

  it("at a path that does not exist", async () => {
    const reply = await Http.send(lab.gateway.url, { path: "/v1/multimodal-embeddings", body: { model: omni, input: [text("a")] } })
    expect([reply.status, errorIn(reply)["code"]]).toEqual([404, "unknown_route"])
  })
})

describe("structured items", () => {
  it("become objects by modality for Jina, one vector each, under the canonical id", async () => {
    const reply = answered(await embed({ model: "jina/jina-embeddings-v5-omni", input: [text("a"), image, pdf], task: "retrieval.query" }))
    expect([reply.model, reply.data.map(({ index }) => index)]).toEqual(["jina/jina-embeddings-v5-omni", [0, 1, 2]])
    expect(await bodyOf("jina-embeddings-v5-omni-small")).toEqual({
      model: "jina-embeddings-v5-omni-small", task: "retrieval.query",
      input: [{ text: "a" }, { image: `data:image/png;base64,${png}` }, { pdf: `data:application/pdf;base64,${png}` }]
    })
  })

  it("in Jina's own spelling are forwarded as they came", async () => {
    const input = [{ text: "a" }, { image: `data:image/png;base64,${png}` }, { image: png }, { content: [{ text: "b" }, { image: png }] }]
    expect(answered(await embed({ model: "jina/jina-embeddings-v5-omni-small", input })).data.length).toBe(4)
    expect(await bodyOf("jina-embeddings-v5-omni-small")).toEqual({ model: "jina-embeddings-v5-omni-small", input })
  })

  it("become the parts of one request for Gemini, and one vector", async () => {
    const reply = answered(await embed({ model: "gemini/gemini-embedding-2", input: [text("a"), image], dimensions: 4 }))
    expect([reply.model, reply.data.length, reply.data[0]?.embedding.length]).toEqual(["gemini/gemini-embedding-2", 1, 4])
    expect(await bodyOf("gemini-embedding-2")).toEqual({
      requests: [{ model: "models/gemini-embedding-2", outputDimensionality: 4, content: { parts: [{ text: "a" }, { inlineData: { mimeType: "image/png", data: png } }] } }]
    })
  })

  it("become inputs with content for Voyage's multimodal models, which have a path of their own", async () => {
    const reply = answered(await embed({ model: "voyage/voyage-multimodal-3.5", input: [text("a"), image], dimensions: 4, input_type: "query" }))
    expect([reply.data.map(({ embedding }) => embedding.length), reply.usage.prompt_tokens > 0]).toEqual([[4, 4], true])
    const [entry] = await lab.sim.entries({ model: "voyage-multimodal-3.5" })
    expect([entry?.path, entry?.body]).toEqual(["/v1/multimodalembeddings", {
      model: "voyage-multimodal-3.5", input_type: "query", output_dimension: 4,
      inputs: [{ content: [{ type: "text", text: "a" }] }, { content: [{ type: "image_base64", image_base64: `data:image/png;base64,${png}` }] }]
    }])
    expect(answered(await embed({ model: "voyage/voyage-multimodal-3", input: ["a", "b"] })).data.length).toBe(2)
  })

  it("become inputs with content for Cohere, whose answer is read for texts as well", async () => {
    const reply = answered(await embed({ model: "cohere/embed-v4.0", input: [text("a"), image], dimensions: 4, truncate: "END" }))
    expect([reply.model, reply.data.map(({ embedding }) => embedding.length)]).toEqual(["cohere/embed-v4.0", [4, 4]])
    const [entry] = await lab.sim.entries({ model: "embed-v4.0" })
    expect([entry?.path, entry?.body]).toEqual(["/v2/embed", {
      model: "embed-v4.0", input_type: "search_document", embedding_types: ["float"], truncate: "END", output_dimension: 4,
      inputs: [{ content: [{ type: "text", text: "a" }] }, { content: [{ type: "image_url", image_url: { url: `data:image/png;base64,${png}` } }] }]
    }])
    expect(answered(await embed({ model: "cohere/embed-v4.0", input: ["a", "b"] })).data.length).toBe(2)
  })

  it("become instances for the multimodal model of Vertex AI, one vector each", async () => {
    const reply = answered(await embed({ model: "vertex/multimodalembedding@001", input: [text("a"), image, video], dimensions: 128 }))
    expect(reply.data.map(({ embedding }) => embedding.length)).toEqual([128, 128, 128])
    expect(await bodyOf("multimodalembedding@001")).toEqual({
      instances: [{ text: "a" }, { image: { bytesBase64Encoded: png, mimeType: "image/png" } }, { video: { bytesBase64Encoded: png, mimeType: "video/mp4" } }], parameters: { dimension: 128 }
    })
    const audio = await embed({ model: "vertex/multimodalembedding@001", input: [{ type: "audio", source: { type: "base64", data: png, media_type: "audio/mpeg" } }] })
    expect([audio.status, errorIn(audio)["message"]]).toEqual([400, "Model 'multimodalembedding@001' does not embed audio: it reads text, image, video."])
  })

  it("of 15 MiB are taken, in a thread", { timeout: 180_000 }, async () => {
    const reply = answered(await embed({ model: "jina/jina-clip-v2", input: [inline(7.5 * 1024 * 1024), inline(7.5 * 1024 * 1024)] }))
    expect(reply.data.length).toBe(2)
  })
})
