/** The vendors' own clients, unmodified, over combos whose first model fails: each kind of request goes on at the next one, and pays once. */
import { createGoogleGenerativeAI } from "@ai-sdk/google"
import { createOpenAI } from "@ai-sdk/openai"
import { GoogleGenAI } from "@google/genai"
import { embed, embedMany, generateImage, generateSpeech, transcribe } from "ai"
import { CohereClient, CohereClientV2 } from "cohere-ai"
import OpenAI, { toFile } from "openai"
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { toneOf } from "#src/simulator/formats/audio.ts"
import { vectorOf } from "#src/simulator/formats/embeddings.ts"
import { pictureOf } from "#src/simulator/formats/images.ts"
import { addressOf } from "#src/simulator/formats/media/videos.ts"
import { markOf } from "#src/simulator/formats/media/mp4.ts"
import { tone } from "#test/support/audio.ts"
import { type Lab, startLab } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"

let lab: Lab
let key: string
let openai: OpenAI
let vercel: ReturnType<typeof createOpenAI>
let google: GoogleGenAI
/** Draws by `generateImages`, which the client's other accounts lack. */
let painter: GoogleGenAI
beforeAll(async () => {
  lab = await startLab()
  const { operator, url } = lab.gateway
  key = (await operator.createKey("sdk")).key
  openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 })
  vercel = createOpenAI({ baseURL: `${url}/v1`, apiKey: key })
  google = new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: url } })
  painter = new GoogleGenAI({ vertexai: true, apiKey: key, httpOptions: { baseUrl: url, apiVersion: "v1beta" } })
})
afterAll(() => lab.close())

let made = 0
let combo: string
/** Upstream models of the combo, the first one down. */
let models: readonly [bad: string, good: string]
beforeEach(async () => {
  models = [`mc-bad-${++made}`, `mc-good-${made}`]
  combo = `combo/mc-${made}`
  await lab.sim.rule({ match: { model: models[0] }, script: { status: 503, error: { message: "away" } } })
  await lab.gateway.operator.price(lab.node, models[1], { per_request: 1 })
  await lab.gateway.operator.call("POST", "/api/combos", { name: `mc-${made}`, models: models.map((model) => `lab/${model}`), config: { maxRetries: 0 } })
})

/** What the ledger and the upstream's log say of the one call that was made. */
const paidOnce = async (costUsd = 1): Promise<void> => {
  const rows = await eventually(async () => (await lab.gateway.rows()).filter(({ model }) => models.includes(model)), ({ length }) => length >= 2, "the rows of the call")
  expect(rows.sort((a, b) => a.startedAt - b.startedAt)).toMatchObject([
    { model: models[0], outcome: "upstream-status", final: false, costUsd: 0 }, { model: models[1], outcome: "completed", final: true, costUsd }
  ])
  expect((await Promise.all(models.map((model) => lab.sim.entries({ model })))).map(({ length }) => length)).toEqual([1, 1])
}

const song = () => toFile(tone, "song.wav", { type: "audio/wav" })
const image = () => toFile(pictureOf("a", "8x8"), "a.png", { type: "image/png" })
const base64 = (prompt: string, size = "8x8") => pictureOf(prompt, size).toString("base64")
const near = (actual: ReadonlyArray<number> | undefined, text: string): void => {
  const expected = vectorOf(text, 8)
  expect(actual?.length).toBe(8)
  for (const [i, value] of expected.entries()) expect(actual?.[i]).toBeCloseTo(value, 6)
}

describe("openai", () => {
  it("embeds", async () => {
    const { data, model } = await openai.embeddings.create({ model: combo, input: ["red", "green"], dimensions: 8 })
    near(data[1]?.embedding, "green")
    expect(model).toBe(`lab/${models[1]}`)
    await paidOnce()
  })

  it("draws", async () => {
    expect((await openai.images.generate({ model: combo, prompt: "a bird" })).data?.[0]?.b64_json).toBe(base64("a bird"))
    await paidOnce()
  })

  it("draws with partial pictures", async () => {
    const events: Array<string> = []
    for await (const event of await openai.images.generate({ model: combo, prompt: "a bird", stream: true, partial_images: 2 })) {
      events.push(event.type)
      expect(event.b64_json).toBe(base64("a bird"))
    }
    expect(events).toEqual(["image_generation.partial_image", "image_generation.partial_image", "image_generation.completed"])
    await paidOnce()
  })

  it("changes a picture", async () => {
    expect((await openai.images.edit({ model: combo, prompt: "a hat", image: await image(), mask: await image() })).data?.[0]?.b64_json).toBe(base64("a hat"))
    await paidOnce()
  })

  it("changes a picture with partial ones", async () => {
    const events: Array<string> = []
    for await (const event of await openai.images.edit({ model: combo, prompt: "a hat", image: [await image(), await image()], stream: true, partial_images: 1 })) events.push(event.type)
    expect(events).toEqual(["image_edit.partial_image", "image_edit.completed"])
    await paidOnce()
  })

  it("speaks", async () => {
    const spoken = await openai.audio.speech.create({ model: combo, input: "Hello!", voice: "alloy", response_format: "wav" })
    expect(Buffer.from(await spoken.arrayBuffer()).equals(toneOf("Hello!"))).toBe(true)
    await paidOnce()
  })

  it.each(["transcriptions", "translations"] as const)("makes %s", async (kind) => {
    expect((await openai.audio[kind].create({ model: combo, file: await song() })).text).toBe("Heard song.wav.")
    await paidOnce()
  })

  it("moderates for nothing", async () => {
    expect((await openai.moderations.create({ model: combo, input: "violence" })).results[0]?.flagged).toBe(true)
    await paidOnce(0)
  })

  it("films by a request of its own", async () => {
    const { data } = await openai.post<{ data: ReadonlyArray<{ url: string }> }>("/videos/generations", { body: { model: combo, prompt: "a wave", duration: 4 } })
    expect(data[0]?.url).toBe(addressOf(markOf("a wave")))
    await paidOnce()
  })
})

describe("cohere-ai", () => {
  const documents = ["Berlin is in Germany", "Paris is the capital of France", "a capital idea"]
  const query = "capital of France"

  it("ranks by its version 2", async () => {
    const { results } = await new CohereClientV2({ environment: lab.gateway.url, token: key }).rerank({ model: combo, query, documents, topN: 2 })
    expect(results.map(({ index }) => index)).toEqual([1, 2])
    await paidOnce()
  })

  it("ranks by its version 1", async () => {
    const { results } = await new CohereClient({ environment: lab.gateway.url, token: key }).rerank({ model: combo, query, documents, topN: 1, returnDocuments: true })
    expect(results).toMatchObject([{ index: 1, document: { text: documents[1] } }])
    await paidOnce()
  })
})

describe("@google/genai", () => {
  it("embeds", async () => {
    const { embeddings } = await google.models.embedContent({ model: combo, contents: ["red", "green"], config: { outputDimensionality: 8 } })
    near(embeddings?.[0]?.values, "red")
    await paidOnce()
  })

  it("draws by generateImages", async () => {
    const { generatedImages } = await painter.models.generateImages({ model: `models/${combo}`, prompt: "a bird", config: { numberOfImages: 1 } })
    expect(generatedImages?.[0]?.image?.mimeType).toBe("image/png")
    await paidOnce()
  })
})

describe("ai", () => {
  it.each(["openai", "google"] as const)("embeds by its provider %s", async (provider) => {
    const model = provider === "openai" ? vercel.textEmbeddingModel(combo) : createGoogleGenerativeAI({ baseURL: `${lab.gateway.url}/v1beta`, apiKey: key }).textEmbeddingModel(combo)
    const providerOptions = provider === "openai" ? { openai: { dimensions: 8 } } : { google: { outputDimensionality: 8 } }
    near((await embed({ model, value: "one", providerOptions, maxRetries: 0 })).embedding, "one")
    await paidOnce()
    near((await embedMany({ model, values: ["one", "two"], providerOptions, maxRetries: 0 })).embeddings[1], "two")
  })

  it("draws", async () => {
    const { images } = await generateImage({ model: vercel.image(combo), prompt: "a bird", size: "16x16", maxRetries: 0 })
    expect(images[0]?.base64).toBe(base64("a bird", "16x16"))
    await paidOnce()
  })

  it("speaks", async () => {
    const { audio } = await generateSpeech({ model: vercel.speech(combo), text: "Hello!", voice: "alloy", outputFormat: "wav", maxRetries: 0 })
    expect(Buffer.from(audio.uint8Array).equals(toneOf("Hello!"))).toBe(true)
    await paidOnce()
  })

  it("writes down", async () => {
    expect((await transcribe({ model: vercel.transcription(combo), audio: tone, maxRetries: 0 })).text).toMatch(/^Heard /)
    await paidOnce()
  })
})
