/** Pictures, sound and moderations for the vendors' own clients, unmodified: `openai`, `ai` and `@google/genai`. */
import { createOpenAI } from "@ai-sdk/openai"
import { GoogleGenAI } from "@google/genai"
import { generateImage, generateSpeech, transcribe } from "ai"
import OpenAI, { toFile } from "openai"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { toneOf } from "#src/simulator/formats/audio.ts"
import { pictureOf } from "#src/simulator/formats/images.ts"
import { tone, toneSeconds } from "#test/support/audio.ts"
import { type Lab, startLab } from "#test/support/lab.ts"

let lab: Lab
let openai: OpenAI
let vercel: ReturnType<typeof createOpenAI>
let google: GoogleGenAI
/** Its newest versions draw so for accounts of the vendor's cloud only. */
let painter: GoogleGenAI
beforeAll(async () => {
  lab = await startLab()
  const { operator, url } = lab.gateway
  const { key } = await operator.createKey("sdk")
  openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 })
  vercel = createOpenAI({ baseURL: `${url}/v1`, apiKey: key })
  google = new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: url } })
  painter = new GoogleGenAI({ vertexai: true, apiKey: key, httpOptions: { baseUrl: url, apiVersion: "v1beta" } })
  for (const [provider, path] of [["gemini", "v1beta"], ["elevenlabs", "v1"], ["deepgram", "v1"], ["assemblyai", "v2"]] as const) {
    await operator.createConnection({ provider, apiKey: `${provider}-sdk-credential-01`, providerSpecificData: { baseUrl: `${lab.sim.url}/${path}` } })
  }
})
afterAll(() => lab.close())

const picture = (prompt: string, size = "8x8") => pictureOf(prompt, size).toString("base64")
const song = () => toFile(tone, "song.wav", { type: "audio/wav" })
const speakers = ["lab/sm-speaks", "elevenlabs/eleven_v3", "deepgram/aura-2-thalia-en"]
const hearers = [["lab/sm-hears", "Heard song.wav."], ["elevenlabs/scribe_v1", "Heard song.wav."], ["deepgram/nova-3", `Heard ${tone.length} bytes.`], ["assemblyai/universal-2", `Heard ${tone.length} bytes.`]] as const

describe("openai", () => {
  it("draws", async () => {
    const made = await openai.images.generate({ model: "lab/sm-draws", prompt: "a bird", size: "256x256", n: 2 })
    expect(made.data?.map(({ b64_json: data }) => data)).toEqual([picture("a bird", "256x256"), picture("a bird", "256x256")])
    const { data, response } = await openai.images.generate({ model: "lab/sm-draws", prompt: "a fish", response_format: "url" }).withResponse()
    expect([data.data?.[0]?.url, response.headers.get("x-gateway-model")]).toEqual([expect.stringMatching(/^https:\/\//), "lab/sm-draws"])
  })

  it("changes one picture or several", async () => {
    const image = await toFile(pictureOf("a", "8x8"), "a.png", { type: "image/png" })
    for (const given of [image, [image, image]]) {
      const made = await openai.images.edit({ model: "lab/sm-edits", prompt: "a hat", image: given, mask: image, n: 2 })
      expect(made.data?.map(({ b64_json: data }) => data)).toEqual([picture("a hat"), picture("a hat")])
    }
    await expect(openai.images.edit({ model: "lab/sm-edits", prompt: "", image })).rejects.toThrow(OpenAI.BadRequestError)
  })

  it.each(speakers)("has %s speak", async (model) => {
    const made = await openai.audio.speech.create({ model, input: "Hello there!", voice: "alloy", response_format: "wav" })
    expect([made.headers.get("content-type"), Buffer.from(await made.arrayBuffer()).equals(toneOf("Hello there!"))]).toEqual(["audio/wav", true])
  })

  it.each(hearers)("has %s write down what it hears", async (model, text) => {
    expect((await openai.audio.transcriptions.create({ model, file: await song() })).text).toBe(text)
    const verbose = await openai.audio.transcriptions.create({ model, file: await song(), response_format: "verbose_json" })
    expect([verbose.text, typeof verbose.duration]).toEqual([text, "number"])
    const subtitles = await openai.audio.transcriptions.create({ model, file: await song(), response_format: "srt" })
    expect(subtitles).toMatch(/^1\n00:00:00,000 --> /)
  })

  it("hears a transcription event by event", async () => {
    const events: Array<string> = []
    for await (const event of await openai.audio.transcriptions.create({ model: "lab/sm-events", file: await song(), stream: true })) events.push(event.type)
    expect(events).toEqual(["transcript.text.delta", "transcript.text.done"])
  })

  it("translates and moderates", async () => {
    const translated = await openai.audio.translations.create({ model: "lab/sm-translates", file: await song(), response_format: "verbose_json" })
    expect(translated).toMatchObject({ text: "Heard song.wav.", task: "translate", duration: toneSeconds })
    const { results } = await openai.moderations.create({ model: "lab/sm-moderates", input: ["a cake", "violence"] })
    expect(results.map(({ flagged }) => flagged)).toEqual([false, true])
  })

  it("is told of errors by its own classes", async () => {
    await lab.sim.rule({ match: { model: "sm-limited" }, script: { status: 429, retryAfter: 3, error: { message: "slow down" } } })
    await expect(openai.audio.speech.create({ model: "lab/sm-limited", input: "a", voice: "alloy" })).rejects.toThrow(OpenAI.RateLimitError)
    await expect(openai.images.generate({ model: "lab/sm-limited", prompt: "a" })).rejects.toThrow(OpenAI.RateLimitError)
    await expect(openai.audio.transcriptions.create({ model: "lab/sm-limited", file: await song() })).rejects.toThrow(OpenAI.RateLimitError)
  })
})

describe("ai", () => {
  it("draws", async () => {
    const { images, usage } = await generateImage({ model: vercel.image("lab/sm-draws"), prompt: "a bird", n: 2, size: "16x16", maxImagesPerCall: 2 })
    expect(images.map(({ base64, mediaType }) => [base64, mediaType])).toEqual([[picture("a bird", "16x16"), "image/png"], [picture("a bird", "16x16"), "image/png"]])
    expect(usage).toMatchObject({ inputTokens: expect.any(Number) })
  })

  it.each(speakers)("has %s speak", async (model) => {
    const { audio } = await generateSpeech({ model: vercel.speech(model), text: "Hello there!", voice: "alloy", outputFormat: "wav" })
    expect(Buffer.from(audio.uint8Array).equals(toneOf("Hello there!"))).toBe(true)
  })

  it.each(hearers)("has %s write down what it hears", async (model) => {
    expect((await transcribe({ model: vercel.transcription(model), audio: tone })).text).toMatch(/^Heard .+\.$/)
  })
})

describe("@google/genai", () => {
  const drawn = {
    candidates: [{ index: 0, finishReason: "STOP", content: { role: "model", parts: [{ text: "Here it is." }, { inlineData: { mimeType: "image/png", data: picture("a bird") } }] } }],
    usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 1_290, totalTokenCount: 1_293 }
  }

  it("draws by a model that answers with pictures", async () => {
    await lab.sim.rule({ match: { model: "gemini-2.5-flash-image" }, script: { status: 200, body: drawn } })
    const made = await google.models.generateContent({ model: "gemini/gemini-2.5-flash-image", contents: "Draw a bird.", config: { responseModalities: ["TEXT", "IMAGE"], imageConfig: { aspectRatio: "16:9" } } })
    expect([made.text, made.data, made.usageMetadata?.totalTokenCount]).toEqual(["Here it is.", picture("a bird"), 1_293])
    const [entry] = await lab.sim.entries({ model: "gemini-2.5-flash-image" })
    expect(entry?.body).toMatchObject({ generationConfig: { responseModalities: ["TEXT", "IMAGE"], imageConfig: { aspectRatio: "16:9" } } })
    const [row] = (await lab.gateway.rows()).filter(({ model }) => model === "gemini-2.5-flash-image")
    expect(row).toMatchObject({ outcome: "completed", tokensIn: 3, tokensOut: 1_290 })
  })

  it.each(["gemini/imagen-4.0-generate-001", "lab/sm-predicts"])("has %s draw by generateImages", async (model) => {
    const { generatedImages } = await painter.models.generateImages({ model: `models/${model}`, prompt: "a bird", config: { numberOfImages: 2, aspectRatio: "1:1" } })
    const size = model.startsWith("lab/") ? "1024x1024" : "8x8"
    expect(generatedImages?.map(({ image }) => [image?.mimeType, image?.imageBytes])).toEqual([["image/png", picture("a bird", size)], ["image/png", picture("a bird", size)]])
    await expect(painter.models.generateImages({ model: `models/${model}`, prompt: "" })).rejects.toThrow(expect.objectContaining({ status: 400 }))
  })

  it("sees a picture in a stream", async () => {
    const frame = `data: ${JSON.stringify(drawn)}\r\n\r\n`
    await lab.sim.rule({ match: { model: "gemini-3-pro-image" }, script: { status: 200, body: frame, contentType: "text/event-stream" } })
    const pictures: Array<string | undefined> = []
    for await (const chunk of await google.models.generateContentStream({ model: "gemini/gemini-3-pro-image", contents: "Draw a bird." })) pictures.push(chunk.data)
    expect(pictures).toEqual([picture("a bird")])
  })
})
