/** Embeddings for Google's client and for the AI SDK, unmodified, towards Google's servers and towards others. */
import { createGoogleGenerativeAI } from "@ai-sdk/google"
import { createOpenAI } from "@ai-sdk/openai"
import { ApiError, GoogleGenAI } from "@google/genai"
import { embed, embedMany } from "ai"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { vectorOf } from "#src/simulator/formats/embeddings.ts"
import * as Http from "#test/support/http.ts"
import { type Lab, startLab } from "#test/support/lab.ts"

let lab: Lab
let genai: GoogleGenAI
let key: string
beforeAll(async () => {
  lab = await startLab()
  const { operator } = lab.gateway
  await operator.createConnection({ provider: "gemini", apiKey: "AIza-sdk-contents-00001", providerSpecificData: { baseUrl: `${lab.sim.url}/v1beta` } })
  key = (await operator.createKey("contents")).key
  genai = new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: lab.gateway.url } })
})
afterAll(() => lab.close())

const near = (actual: ReadonlyArray<number> | undefined, text: string, dimensions: number) => {
  expect(actual?.length).toBe(dimensions)
  for (const [i, value] of vectorOf(text, dimensions).entries()) expect(actual?.[i]).toBeCloseTo(value, 6)
}

describe.each(["gemini/gemini-embedding-001", "lab/em-contents"])("models.embedContent with %s", (model) => {
  it("answers a vector for each content", async () => {
    const { embeddings } = await genai.models.embedContent({ model, contents: ["red", "green"], config: { outputDimensionality: 8 } })
    expect(embeddings?.length).toBe(2)
    near(embeddings?.[0]?.values, "red", 8)
    near(embeddings?.[1]?.values, "green", 8)
  })

  it("answers one content outside of a list", async () => {
    const reply = await Http.send(lab.gateway.url, {
      path: `/v1beta/models/${model}:embedContent`, headers: { "x-goog-api-key": key }, body: { content: { parts: [{ text: "blue" }] }, outputDimensionality: 4, taskType: "RETRIEVAL_QUERY" }
    })
    expect(reply.status).toBe(200)
    near((JSON.parse(reply.text) as { embedding: { values: ReadonlyArray<number> } }).embedding.values, "blue", 4)
    expect(await lab.rows(reply)).toMatchObject([{ endpoint: "/v1beta/models", sourceFormat: "embeddings", outcome: "completed" }])
  })

  it("serves embed and embedMany of the AI SDK", async () => {
    const google = createGoogleGenerativeAI({ baseURL: `${lab.gateway.url}/v1beta`, apiKey: key })
    const providerOptions = { google: { outputDimensionality: 8 } }
    near((await embed({ model: google.textEmbeddingModel(model), value: "one", providerOptions })).embedding, "one", 8)
    const many = await embedMany({ model: google.textEmbeddingModel(model), values: ["one", "two"], providerOptions })
    near(many.embeddings[1], "two", 8)
    const openai = createOpenAI({ baseURL: `${lab.gateway.url}/v1`, apiKey: key })
    near((await embedMany({ model: openai.textEmbeddingModel(model), values: ["one", "two"], providerOptions: { openai: { dimensions: 8 } } })).embeddings[1], "two", 8)
  })
})

describe("models.embedContent", () => {
  it("makes one vector of several parts where the model reads media", async () => {
    const inlineData = { mimeType: "image/png", data: Buffer.from("picture").toString("base64") }
    const { embeddings } = await genai.models.embedContent({ model: "gemini/gemini-embedding-2", contents: [{ parts: [{ text: "a" }, { inlineData }] }], config: { outputDimensionality: 8 } })
    expect(embeddings?.length).toBe(1)
    const [entry] = await lab.sim.entries({ model: "gemini-embedding-2" })
    expect(entry?.body).toEqual({ requests: [{ model: "models/gemini-embedding-2", outputDimensionality: 8, content: expect.objectContaining({ parts: [{ text: "a" }, { inlineData }] }) }] })
  })

  it("refuses media for a model that reads text, in the format of the client", async () => {
    const contents = [{ parts: [{ inlineData: { mimeType: "image/png", data: "AAAA" } }] }]
    const asked = genai.models.embedContent({ model: "gemini/gemini-embedding-001", contents })
    await expect(asked).rejects.toThrow(ApiError)
    const reply = await Http.send(lab.gateway.url, { path: "/v1beta/models/nope/x:batchEmbedContents", headers: { "x-goog-api-key": key }, body: { requests: [{ content: contents[0] }] } })
    expect([reply.status, JSON.parse(reply.text)]).toEqual([400, { error: expect.objectContaining({ code: 400, status: "INVALID_ARGUMENT", message: "Unknown embedding provider: nope" }) }])
  })

  it("refuses a body without contents, and one key that may only talk", async () => {
    const empty = await Http.send(lab.gateway.url, { path: "/v1beta/models/gemini/gemini-embedding-001:embedContent", headers: { "x-goog-api-key": key }, body: {} })
    expect([empty.status, (JSON.parse(empty.text) as { error: { message: string } }).error.message]).toEqual([400, "Field 'content' must be an object with 'parts'."])
    const talks = await lab.gateway.operator.createKey("talks", { allowedEndpoints: ["chat"] })
    const refused = new GoogleGenAI({ apiKey: talks.key, httpOptions: { baseUrl: lab.gateway.url } }).models.embedContent({ model: "gemini/gemini-embedding-001", contents: "a" })
    await expect(refused).rejects.toThrow(expect.objectContaining({ status: 403 }))
  })
})
