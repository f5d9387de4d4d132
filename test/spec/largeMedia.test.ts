/** Media of many kilobytes in requests without a conversation: they are planned by their beginning, and sent whole. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { formOf } from "#test/support/audio.ts"
import { pdfOf } from "#src/simulator/formats/media/pdf.ts"
import * as Http from "#test/support/http.ts"
import { type Lab, startLab } from "#test/support/lab.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab()
  const { operator } = lab.gateway
  for (const [provider, path] of [["mistral", "/v1"], ["gemini", "/v1beta"], ["xai", "/v1"], ["assemblyai", "/v2"], ["azure-documents", ""]] as const) {
    await operator.createConnection({ provider, apiKey: `${provider}-large-0000001`, providerSpecificData: { baseUrl: `${lab.sim.url}${path}` } })
  }
})
afterAll(() => lab.close())

const bytes = Buffer.alloc(1_500_000, "media")
const base64 = bytes.toString("base64")
const picture = `data:image/png;base64,${base64}`
const paper = `data:application/pdf;base64,${pdfOf(["media".repeat(bytes.length / 5)]).toString("base64")}`
const send = (path: string, body: Readonly<Record<string, unknown>>) => Http.send(lab.gateway.url, { path, body })
const sent = async (model: string) => (await lab.sim.entries({ model }))[0]
/** Large bodies are kept as their beginning. */
const sizeOf = async (model: string): Promise<number> => (await sent(model))?.bodyBytes ?? 0

describe("a large medium", () => {
  it.each([
    ["a document", "mistral-ocr-latest", "/v1/ocr", { model: "mistral/mistral-ocr-latest", document: { type: "document_url", document_url: paper } }],
    ["a document as a text", "lm-ocr", "/v1/ocr", { model: "mistral/lm-ocr", document: paper }],
    ["a document of a job", "prebuilt-read", "/v1/ocr", { model: "azure-documents/prebuilt-read", document: { type: "document_url", document_url: paper } }],
    ["an image that a video begins with", "grok-imagine-large", "/v1/videos/generations", { model: "xai/grok-imagine-large", prompt: "a", image: { url: picture } }],
    ["the same as a text", "veo-large", "/v1/videos/generations", { model: "gemini/veo-large", prompt: "a", image: picture }]
  ])("%s goes whole", async (_name, model, path, body) => {
    const reply = await send(path, body)
    expect([reply.status, reply.text.slice(0, 200)]).toEqual([200, expect.any(String)])
    expect(await sizeOf(model)).toBeGreaterThan(base64.length)
  })

  it("among the images to be changed goes whole", async () => {
    const drawn = { candidates: [{ index: 0, finishReason: "STOP", content: { parts: [{ inlineData: { mimeType: "image/png", data: "AAAA" } }] } }] }
    await lab.sim.rule({ match: { model: "gemini-2.5-flash-image" }, script: { status: 200, body: drawn } })
    for (const image of [picture, { url: picture }, [picture, { url: picture }]]) {
      const reply = await send("/v1/images/generations", { model: "gemini/gemini-2.5-flash-image", prompt: "a", image })
      expect([reply.status, reply.text.slice(0, 200)]).toEqual([200, expect.any(String)])
    }
    expect(await sizeOf("gemini-2.5-flash-image")).toBeGreaterThan(base64.length)
  })

  it("of sound is sent before its job is ordered", async () => {
    const form = formOf({ model: "assemblyai/universal-2" }, bytes)
    const reply = await Http.send(lab.gateway.url, { path: "/v1/audio/transcriptions", headers: { "content-type": "multipart/form-data; boundary=----b0undary" }, body: form })
    expect([reply.status, reply.text]).toEqual([200, expect.stringContaining(`Heard ${bytes.length} bytes.`)])
  })
})
