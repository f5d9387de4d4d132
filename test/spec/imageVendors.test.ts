/** Images of vendors with formats of their own, and the vendor's method for its clients: what is asked, how it is answered, and what is refused. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { pictureOf } from "#src/simulator/formats/images.ts"
import * as Http from "#test/support/http.ts"
import { errorIn, type Lab, startLab } from "#test/support/lab.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab()
  await lab.gateway.operator.createConnection({ provider: "gemini", apiKey: "AIza-images-000000001", providerSpecificData: { baseUrl: `${lab.sim.url}/v1beta` } })
})
afterAll(() => lab.close())

const prompt = "a bird"
const picture = pictureOf(prompt, "8x8").toString("base64")
const draw = (body: Readonly<Record<string, unknown>>) => Http.send(lab.gateway.url, { path: "/v1/images/generations", body: { prompt, ...body } })
const predict = (model: string, body: Readonly<Record<string, unknown>>) => Http.send(lab.gateway.url, { path: `/v1beta/models/${model}:predict`, body })
const last = async (model: string) => (await lab.sim.entries({ model })).at(-1)
const inline = "data:image/png;base64,iVBORw0KGgo="

describe("an image of `:predict`", () => {
  it("is asked for by the vendor's parameters, and costs its price", async () => {
    const reply = await draw({ model: "gemini/imagen-4.0-generate-001", n: 2, aspect_ratio: "16:9", image_size: "2K", seed: 7, output_format: "jpeg", quality: "high" })
    expect([reply.status, JSON.parse(reply.text)]).toEqual([200, { created: expect.any(Number), data: [{ b64_json: picture }, { b64_json: picture }] }])
    expect(reply.headers["x-gateway-omitted"]).toBe("quality")
    expect((await last("imagen-4.0-generate-001"))?.body).toEqual({
      instances: [{ prompt }], parameters: { sampleCount: 2, aspectRatio: "16:9", sampleImageSize: "2K", seed: 7, addWatermark: false, outputOptions: { mimeType: "image/jpeg" } }
    })
    expect(await lab.rows(reply)).toMatchObject([{ units: { image: 2 }, costUsd: 0.08, targetFormat: "images/predict" }])
    await draw({ model: "gemini/imagen-4.0-generate-001", size: "1792x1024", aspect_ratio: null })
    expect((await last("imagen-4.0-generate-001"))?.body).toMatchObject({ parameters: { sampleCount: 1 } })
  })

  it.each([
    ["an address", { response_format: "url" }, "response_format", "This model answers with bytes only: set 'response_format' to 'b64_json'."],
    ["another image", { image: inline }, "image", "This model makes images of a prompt alone: leave out 'image'."],
    ["a stream", { stream: true, partial_images: 1 }, "stream", "This model answers with whole images only: leave 'stream' out."]
  ])("is not made with %s", async (_name, body, param, message) => {
    const reply = await draw({ model: "gemini/imagen-4.0-fast-generate-001", ...body })
    expect([reply.status, errorIn(reply)]).toEqual([400, expect.objectContaining({ param, message })])
    expect(await last("imagen-4.0-fast-generate-001")).toBeUndefined()
  })
})

describe("an image of a model that talks", () => {
  const model = "gemini-3-pro-image-preview"
  const drawn = {
    candidates: [{ index: 0, finishReason: "STOP", content: { role: "model", parts: [{ thought: true, inlineData: { mimeType: "image/png", data: "ZHJhZnQ=" } }, { text: "Here." }, { inlineData: { mimeType: "image/png", data: picture } }] } }],
    usageMetadata: { promptTokenCount: 1_000, candidatesTokenCount: 1_290, totalTokenCount: 2_290 }
  }

  it("is asked for as a conversation with the images that the request names, and costs its tokens", async () => {
    await lab.sim.rule({ match: { model }, script: { status: 200, body: drawn } })
    const reply = await draw({ model: `gemini/${model}`, image: [inline, { url: inline }], size: "1024x1024", image_size: "4K", seed: 3, style: "vivid" })
    expect([reply.status, JSON.parse(reply.text)]).toEqual([200, { created: expect.any(Number), data: [{ b64_json: picture }] }])
    expect(reply.headers["x-gateway-omitted"]).toBe("style")
    const part = { inlineData: { mimeType: "image/png", data: "iVBORw0KGgo=" } }
    const entry = await last(model)
    expect([entry?.path, entry?.body]).toEqual([`/v1beta/models/${model}:generateContent`, {
      contents: [{ role: "user", parts: [{ text: prompt }, part, part] }],
      generationConfig: { responseModalities: ["TEXT", "IMAGE"], seed: 3, imageConfig: { aspectRatio: "1:1", imageSize: "4K" } }
    }])
    const [row] = await lab.rows(reply)
    expect(row).toMatchObject({ units: { image: 1 }, tokensIn: 1_000, tokensOut: 1_290, targetFormat: "images/content" })
    expect(row?.costUsd).toBeCloseTo(0.002 + 1_290 * 120e-6, 9)
  })

  it("that was left out by a filter is told so, and one without a reason is an upstream's failure", async () => {
    for (const [body, status, message] of [
      [{ candidates: [{ index: 0, finishReason: "IMAGE_SAFETY" }] }, 400, "The provider made no image: IMAGE_SAFETY."],
      [{ promptFeedback: { blockReason: "PROHIBITED_CONTENT" } }, 400, "The provider made no image: PROHIBITED_CONTENT."],
      [{ candidates: [{ index: 0, finishReason: "STOP", content: { parts: [{ text: "No." }] } }] }, 502, expect.any(String)]
    ] as const) {
      await lab.sim.rule({ match: { model: "gemini-2.5-flash-image" }, times: 1, script: { status: 200, body } })
      const reply = await draw({ model: "gemini/gemini-2.5-flash-image" })
      expect([reply.status, errorIn(reply)["message"]]).toEqual([status, message])
    }
  })

  it.each([
    ["two at once", { n: 2 }, "n", "This model makes one image at a time."], ["a mask", { image: inline, mask: inline }, "mask", "This model takes no mask: say in the prompt what is to be changed."],
    ["a private address", { image: "https://127.0.0.1/a.png" }, "image", expect.stringContaining("was not fetched")]
  ])("is not made with %s", async (_name, body, param, message) => {
    const before = (await lab.sim.entries({ model: "gemini-2.5-flash-image" })).length
    const reply = await draw({ model: "gemini/gemini-2.5-flash-image", ...body })
    expect([reply.status, errorIn(reply)]).toEqual([400, expect.objectContaining({ param, message })])
    expect((await lab.sim.entries({ model: "gemini-2.5-flash-image" })).length).toBe(before)
  })
})

describe("a form with images for a model that talks", () => {
  const file = pictureOf("before", "8x8")
  const edit = (fields: Readonly<Record<string, string>>, names: ReadonlyArray<string>, bytes: Buffer = file) => Http.send(lab.gateway.url, {
    path: "/v1/images/edits", headers: { "content-type": "multipart/form-data; boundary=edge" },
    body: Buffer.concat([
      ...Object.entries(fields).map(([name, value]) => Buffer.from(`--edge\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`)),
      ...names.flatMap((name) => [Buffer.from(`--edge\r\nContent-Disposition: form-data; name="${name}"; filename="a.png"\r\nContent-Type: image/webp\r\n\r\n`), bytes, Buffer.from("\r\n")]),
      Buffer.from("--edge--\r\n")
    ])
  })

  it("is asked for as a conversation with the files", async () => {
    await lab.sim.rule({ match: { model: "gemini-3-pro-image-preview" }, times: 1, script: { status: 200, body: { candidates: [{ index: 0, finishReason: "STOP", content: { parts: [{ inlineData: { mimeType: "image/png", data: picture } }] } }] } } })
    const reply = await edit({ model: "gemini/gemini-3-pro-image-preview", prompt: "a hat", n: "1", quality: "low" }, ["image[]", "image[]"])
    expect([reply.status, JSON.parse(reply.text)]).toEqual([200, { created: expect.any(Number), data: [{ b64_json: picture }] }])
    expect(reply.headers["x-gateway-omitted"]).toBe("quality")
    const part = { inlineData: { mimeType: "image/webp", data: file.toString("base64") } }
    expect((await last("gemini-3-pro-image-preview"))?.body).toEqual({ contents: [{ role: "user", parts: [{ text: "a hat" }, part, part] }], generationConfig: { responseModalities: ["TEXT", "IMAGE"] } })
    expect(await lab.rows(reply)).toMatchObject([{ endpoint: "/v1/images/edits", units: { image: 1 }, outcome: "completed", targetFormat: "image-edits/content" }])
  })

  it.each([
    ["a mask", { model: "gemini/gemini-2.5-flash-image", prompt: "a hat" }, ["image", "mask"], "mask", "This model takes no mask: say in the prompt what is to be changed."],
    ["two answers", { model: "gemini/gemini-2.5-flash-image", prompt: "a hat", n: "2" }, ["image"], "n", "This model makes one image at a time."],
    ["a stream", { model: "gemini/gemini-2.5-flash-image", prompt: "a hat", stream: "true" }, ["image"], "stream", "This model answers with whole images only: leave 'stream' out."]
  ])("is refused with %s", async (_name, fields, names, param, message) => {
    const before = (await lab.sim.entries({ model: "gemini-2.5-flash-image" })).length
    const reply = await edit(fields, names)
    expect([reply.status, errorIn(reply)]).toEqual([400, expect.objectContaining({ param, message })])
    expect((await lab.sim.entries({ model: "gemini-2.5-flash-image" })).length).toBe(before)
  })

  it("is asked for with files that were kept on disk meanwhile", async () => {
    const large = Buffer.alloc(3_000_000, "pixels \u0089 ", "latin1")
    const reply = await edit({ model: "gemini/gemini-3-pro-image-preview", prompt: "large" }, ["image", "image[]"], large)
    expect(reply.status).toBe(200)
    const sent = (await last("gemini-3-pro-image-preview"))?.body as { contents: ReadonlyArray<{ parts: ReadonlyArray<{ inlineData?: { data: string } }> }> } | undefined
    expect(sent?.contents[0]?.parts.slice(1).map(({ inlineData }) => inlineData?.data === large.toString("base64"))).toEqual([true, true])
    expect(errorIn(await edit({ model: "gemini/gemini-3-pro-image-preview", prompt: "too large" }, ["image"], Buffer.alloc(21 * 1024 * 1024)))["code"]).toBe("payload_too_large")
  })

  it("is refused for a model that draws only", async () => {
    expect(errorIn(await edit({ model: "gemini/imagen-4.0-generate-001", prompt: "a hat" }, ["image"]))["message"]).toBe("Unknown image edit provider: gemini")
  })
})

describe("a request that names images", () => {
  it("goes to a server of the common format as it came, and may have no prompt", async () => {
    await lab.sim.rule({ match: { model: "iv-edit" }, script: { status: 200, body: { created: 1, data: [{ url: "https://example.com/a.png" }] } } })
    const reply = await draw({ model: "lab/iv-edit", prompt: undefined, image: inline, mask: { url: inline } })
    expect([reply.status, (await last("iv-edit"))?.body]).toEqual([200, { model: "iv-edit", image: inline, mask: { url: inline } }])
  })

  it.each([
    ["a file of the host", { image: "file:///etc/passwd" }, "image"], ["plain http", { image: [inline, "http://example.com/a.png"] }, "image[1]"], ["a number as mask", { image: inline, mask: 7 }, "mask"],
    ["an address inside of the network", { image: "https://10.0.0.1/a.png" }, "image"], ["a word for a seed", { seed: "x" }, "seed"]
  ])("with %s is refused by the name of the field, and nothing is sent", async (_name, body, param) => {
    const reply = await draw({ model: "lab/iv-refused", ...body })
    expect([reply.status, errorIn(reply)["param"]]).toEqual([400, param])
    expect(await last("iv-refused")).toBeUndefined()
  })
})

describe("the vendor's own method", () => {
  const body = { instances: [{ prompt }], parameters: { sampleCount: 2, aspectRatio: "1:1", personGeneration: "dont_allow" } }

  it("goes to a server of that format as it came", async () => {
    const reply = await predict("gemini/imagen-4.0-generate-001", body)
    const prediction = { mimeType: "image/png", bytesBase64Encoded: picture }
    expect([reply.status, JSON.parse(reply.text)]).toEqual([200, { predictions: [prediction, prediction] }])
    expect((await last("imagen-4.0-generate-001"))?.body).toEqual(body)
    expect(await lab.rows(reply)).toMatchObject([{ endpoint: "/v1beta/models", sourceFormat: "images", units: { image: 2 }, costUsd: 0.08 }])
  })

  it("reaches a server of the common format, too", async () => {
    const reply = await predict("lab/iv-any", { ...body, parameters: { ...body.parameters, seed: 1 } })
    const drawn = { mimeType: "image/png", bytesBase64Encoded: pictureOf(prompt, "1024x1024").toString("base64") }
    expect([reply.status, JSON.parse(reply.text)]).toEqual([200, { predictions: [drawn, drawn] }])
    expect((await last("iv-any"))?.body).toEqual({ model: "iv-any", prompt, n: 2, seed: 1, size: "1024x1024", response_format: "b64_json" })
    expect(reply.headers["x-gateway-omitted"]).toBe("parameters.personGeneration")
  })

  it.each([
    ["no instance", {}, "Field 'instances' must be a list with one object."], ["two instances", { instances: [{ prompt }, { prompt }] }, "Field 'instances' must be a list with one object."],
    ["no prompt", { instances: [{}] }, "Field 'instances[0].prompt' must be a non-empty string."], ["a list of parameters", { instances: [{ prompt }], parameters: [] }, "Field 'parameters' must be an object."],
    ["too many samples", { instances: [{ prompt }], parameters: { sampleCount: 11 } }, "Field 'parameters.sampleCount' must be a whole number from 1 to 10."]
  ])("with %s is refused in the format of the client, and nothing is sent", async (_name, sent, message) => {
    const reply = await predict("lab/iv-bad", sent)
    expect([reply.status, errorIn(reply)]).toEqual([400, expect.objectContaining({ code: 400, status: "INVALID_ARGUMENT", message })])
    expect(await last("iv-bad")).toBeUndefined()
  })

  it("is refused to a key that may only talk", async () => {
    const { key } = await lab.gateway.operator.createKey("talks", { allowedEndpoints: ["chat"] })
    const reply = await Http.send(lab.gateway.url, { path: "/v1beta/models/lab/iv-denied:predict", headers: { "x-goog-api-key": key }, body })
    expect([reply.status, await last("iv-denied")]).toEqual([403, undefined])
  })
})
