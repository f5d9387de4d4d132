/** POST /v1/videos/generations over HTTP: what each vendor is asked, jobs inside one attempt, what is refused, what it costs, and how a job ends. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { PublicError } from "#schemas/errors.ts"
import { markOf, videoOf } from "#src/simulator/formats/media/mp4.ts"
import { addressOf } from "#src/simulator/formats/media/videos.ts"
import { codec } from "#src/wire/videos/codec.ts"
import * as Http from "#test/support/http.ts"
import { errorIn, type Lab, startLab } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab()
  const { operator } = lab.gateway
  for (const [provider, path] of [["xai", "/v1"], ["gemini", "/v1beta"], ["zai", "/api/paas/v4"], ["openrouter", "/api/v1"]] as const) {
    await operator.createConnection({ provider, apiKey: `${provider}-video-0000000001`, providerSpecificData: { baseUrl: `${lab.sim.url}${path}` } })
  }
})
afterAll(() => lab.close())

const prompt = "a lighthouse"
const film = (body: Readonly<Record<string, unknown>>) => Http.send(lab.gateway.url, { path: "/v1/videos/generations", body: { prompt, ...body } })
const seen = (model: string) => lab.sim.entries({ model })
const address = addressOf(markOf(prompt))
const image = "data:image/png;base64,iVBORw0KGgo="
interface Answer {
  readonly created: number
  readonly data: ReadonlyArray<{ readonly url?: string; readonly b64_json?: string; readonly duration?: number }>
}
const answerIn = (reply: Http.Reply): Answer => {
  expect([reply.status, reply.text]).toEqual([200, expect.any(String)])
  return JSON.parse(reply.text) as Answer
}

describe("a video", () => {
  it("of a server of the same format is asked for as it was, but for the model", async () => {
    await lab.gateway.operator.price(lab.node, "vi-own", { per_second: 0.1 })
    const reply = await film({ model: "lab/vi-own", duration: 4, aspect_ratio: "9:16", n: 2, seed: 7 })
    expect(answerIn(reply)).toEqual({ created: expect.any(Number), data: [{ url: address, duration: 4 }, { url: address, duration: 4 }] })
    expect((await seen("vi-own"))[0]?.body).toEqual({ model: "vi-own", prompt, duration: 4, aspect_ratio: "9:16", n: 2, seed: 7 })
    expect(await lab.rows(reply)).toMatchObject([{ endpoint: "/v1/videos/generations", outcome: "completed", units: { second: 8 }, costUsd: 0.8 }])
    const bytes = answerIn(await film({ model: "lab/vi-own", response_format: "b64_json" }))
    expect(Buffer.from(bytes.data[0]?.b64_json ?? "", "base64").equals(videoOf(markOf(prompt), 5))).toBe(true)
  })

  it("of a vendor with jobs is asked for until it is there, as one attempt", async () => {
    const reply = await film({ model: "xai/grok-imagine-video", duration: 6, aspect_ratio: "16:9", resolution: "720p", image })
    expect(answerIn(reply).data).toEqual([{ url: address, duration: 6 }])
    const entries = await seen("grok-imagine-video")
    expect(entries.map(({ method, path }) => [method, path.replace(/[\w-]{40,}$/, "{id}")])).toEqual([["POST", "/v1/videos/generations"], ["GET", "/v1/videos/{id}"]])
    expect(entries[0]?.body).toEqual({ model: "grok-imagine-video", prompt, duration: 6, aspect_ratio: "16:9", resolution: "720p", image: { url: image } })
    expect(entries.map(({ key }) => key?.last4)).toEqual(["0001", "0001"])
    expect(await lab.rows(reply)).toMatchObject([{ outcome: "completed", attempt: 1, final: true, units: { second: 6 }, costUsd: 0.3, targetFormat: "videos/xai" }])
    expect(reply.headers["x-gateway-response-cost"]).toBe("0.3000000000")
  })

  it("of a vendor whose files need its key comes as bytes", async () => {
    const reply = await film({ model: "gemini/veo-3.1-generate-preview", duration: 4, aspect_ratio: "16:9", negative_prompt: "rain", image, style: "oil" })
    const [video] = answerIn(reply).data
    expect(Buffer.from(video?.b64_json ?? "", "base64").equals(videoOf(markOf(prompt), 4))).toBe(true)
    expect(reply.headers["x-gateway-omitted"]).toBe("style")
    const entries = await seen("veo-3.1-generate-preview")
    expect(entries.map(({ method }) => method)).toEqual(["POST", "GET", "GET"])
    expect(entries[0]?.body).toEqual({
      instances: [{ prompt, image: { bytesBase64Encoded: "iVBORw0KGgo=", mimeType: "image/png" } }], parameters: { aspectRatio: "16:9", durationSeconds: 4, negativePrompt: "rain" }
    })
    expect([entries[2]?.path.startsWith("/v1beta/files/"), entries[2]?.query, entries[2]?.headers["x-goog-api-key"]]).toEqual([true, "alt=media", "…0001"])
    expect(await lab.rows(reply)).toMatchObject([{ outcome: "completed", units: { second: 4 }, costUsd: 1.6, targetFormat: "videos/predict" }])
  })

  it("of a vendor with a price per video costs that", async () => {
    const reply = await film({ model: "zai/cogvideox-3", duration: 10, resolution: "1920x1080", aspect_ratio: "16:9", with_audio: true })
    expect(answerIn(reply).data).toEqual([{ url: address, cover_image_url: `${address}.png` }])
    expect(reply.headers["x-gateway-omitted"]).toBe("aspect_ratio")
    const entries = await seen("cogvideox-3")
    expect(entries[0]?.body).toEqual({ model: "cogvideox-3", prompt, duration: 10, with_audio: true, size: "1920x1080" })
    expect(entries.map(({ path }) => path.replace(/[\w-]{40,}$/, "{id}"))).toEqual(["/api/paas/v4/videos/generations", "/api/paas/v4/async-result/{id}"])
    expect(await lab.rows(reply)).toMatchObject([{ outcome: "completed", units: { request: 1, second: 10 }, costUsd: 0.2 }])
  })

  it("of a vendor with both comes as a signed address, or as bytes where the client wants them", async () => {
    const model = "openrouter/alibaba/wan-2.6"
    const reply = await film({ model, duration: 6, resolution: "1080p", generate_audio: false, image })
    expect(answerIn(reply).data).toEqual([{ url: address, duration: 6 }])
    const entries = await seen("alibaba/wan-2.6")
    expect(entries.map(({ method, path }) => [method, path.replace(/[\w-]{40,}/, "{id}")])).toEqual([["POST", "/api/v1/videos"], ["GET", "/api/v1/videos/{id}"]])
    expect(entries[0]?.body).toEqual({
      model: "alibaba/wan-2.6", prompt, duration: 6, resolution: "1080p", generate_audio: false,
      frame_images: [{ type: "image_url", image_url: { url: image }, frame_type: "first_frame" }]
    })
    const bytes = await film({ model, duration: 4, response_format: "b64_json" })
    expect(Buffer.from(answerIn(bytes).data[0]?.b64_json ?? "", "base64").equals(videoOf(markOf(prompt), 4))).toBe(true)
    expect((await seen("alibaba/wan-2.6")).at(-1)).toMatchObject({ method: "GET", query: "index=0" })
    expect(await lab.rows(bytes)).toMatchObject([{ outcome: "completed", units: { second: 4 }, targetFormat: "videos/openrouter" }])
    await lab.sim.rule({ match: { path: "/api/v1/videos/WyJ*", model: "alibaba/away" }, script: { status: 200, body: { id: "a", status: "failed", error: "The prompt was refused." } } })
    const failed = await film({ model: "openrouter/alibaba/away" })
    expect([failed.status, errorIn(failed)["message"]]).toEqual([502, "The prompt was refused."])
  })

  it.each([
    ["no prompt", {}, "prompt", "Field 'prompt' must be a non-empty string."], ["an empty prompt", { prompt: "" }, "prompt", "Field 'prompt' must be a non-empty string."],
    ["no length", { duration: 0 }, "duration", "Field 'duration' must be a number of seconds above 0, at most 60."], ["a long one", { duration: 61 }, "duration", "Field 'duration' must be a number of seconds above 0, at most 60."],
    ["a file of the host as image", { image: "file:///etc/passwd" }, "image", "Field 'image' must name an https address or a data: URI of an image."],
    ["a number as ratio", { aspect_ratio: 7 }, "aspect_ratio", "Field 'aspect_ratio' must be a non-empty string."], ["too many", { n: 5 }, "n", "Field 'n' must be a whole number from 1 to 4."],
    ["another format", { response_format: "mp4" }, "response_format", "Field 'response_format' must be 'url' or 'b64_json'."]
  ])("with %s is refused by the name of the field, and nothing is sent", async (_name, body, param, message) => {
    const reply = await film({ model: "lab/vi-refused", prompt: param === "prompt" ? undefined : prompt, ...body })
    expect([reply.status, errorIn(reply)]).toEqual([400, expect.objectContaining({ code: "bad_request", param, message })])
    expect((await seen("vi-refused")).length).toBe(0)
  })

  it.each([
    ["xai/vi-one", { n: 2 }, "n", "This model makes one video at a time."], ["xai/vi-one", { response_format: "b64_json" }, "response_format", "This model answers with addresses only: set 'response_format' to 'url'."],
    ["gemini/vi-one", { response_format: "url" }, "response_format", "This model answers with bytes only: set 'response_format' to 'b64_json'."]
  ])("that %s cannot make (%o) is refused, and nothing is sent", async (model, body, param, message) => {
    const reply = await film({ model, ...body })
    expect([reply.status, errorIn(reply)]).toEqual([400, expect.objectContaining({ param, message })])
    expect((await seen("vi-one")).length).toBe(0)
  })

  it("of a model or a provider that makes none is refused", async () => {
    expect(errorIn(await film({ model: "xai/grok-4" }))["message"]).toBe("Model 'xai/grok-4' makes no videos: see GET /v1/videos/generations for those that do.")
    expect(errorIn(await film({ model: "anthropic/claude-sonnet-4-5" }))["message"]).toBe("Unknown video provider: anthropic")
    const { data } = JSON.parse((await Http.send(lab.gateway.url, { method: "GET", path: "/v1/videos/generations" })).text) as { data: ReadonlyArray<{ id: string; type: string }> }
    expect([data.some(({ id }) => id === "xai/grok-imagine-video"), data.every(({ type }) => type === "video")]).toEqual([true, true])
  })

  it("is given to no private address by its image", async () => {
    const reply = await film({ model: "gemini/veo-3.1-fast-generate-preview", image: "https://127.0.0.1/a.png" })
    expect([reply.status, errorIn(reply)["param"], (await seen("veo-3.1-fast-generate-preview")).length]).toEqual([400, "image", 0])
  })
})

describe("a job", () => {
  /** Questions about jobs, whose ids begin so. */
  const asked = "/v1/videos/WyJ*"
  const polls = (model: string) => lab.sim.entries({ model }).then((entries) => entries.filter(({ method }) => method === "GET"))

  it("ends with its client, and what was ordered is paid for", async () => {
    await lab.sim.rule({ match: { path: asked, model: "grok-imagine-left" }, script: { status: 202, body: { status: "pending" } } })
    await lab.gateway.operator.price("xai", "grok-imagine-left", { per_second: 0.5 })
    const { request } = Http.open(lab.gateway.url, { path: "/v1/videos/generations", body: { model: "xai/grok-imagine-left", prompt, duration: 4 } })
    await eventually(() => polls("grok-imagine-left"), ({ length }) => length >= 1, "a question about the job")
    request.destroy()
    const rows = await eventually(async () => (await lab.gateway.rows()).filter(({ model }) => model === "grok-imagine-left"), ({ length }) => length === 1, "its row")
    expect(rows).toMatchObject([{ outcome: "client-abort", status: 499, units: { second: 4 }, costUsd: 2 }])
    const before = (await polls("grok-imagine-left")).length
    // Another job takes longer than the pause between two questions.
    await film({ model: "xai/grok-imagine-after" })
    await film({ model: "xai/grok-imagine-after" })
    expect((await polls("grok-imagine-left")).length).toBe(before)
  })

  it("outlives a question that is refused for a moment", async () => {
    await lab.sim.rule({ match: { path: asked, model: "grok-imagine-shaky" }, times: 1, script: { status: 503, error: { message: "away" } } })
    const reply = await film({ model: "xai/grok-imagine-shaky" })
    expect(answerIn(reply).data[0]?.url).toBe(address)
    expect((await polls("grok-imagine-shaky")).map(({ status }) => status)).toEqual([503, 200])
    expect(await lab.rows(reply)).toMatchObject([{ outcome: "completed" }])
  })

  it.each([
    ["failed", { status: "failed" }, 502, "The provider's job ended as failed."],
    ["withheld", { status: "done", video: { url: "", respect_moderation: false } }, 400, "The video was withheld by the provider's moderation."],
    ["unreadable", { hello: 1 }, 502, null]
  ])("that is %s ends at once", async (name, body, status, message) => {
    const model = `grok-imagine-${name}`
    await lab.sim.rule({ match: { path: asked, model }, script: { status: 200, body } })
    const reply = await film({ model: `xai/${model}` })
    expect([reply.status, message ?? errorIn(reply)["message"]]).toEqual([status, errorIn(reply)["message"]])
    expect((await polls(model)).length).toBe(1)
  })

  it("of a refused key or an odd id is asked for no further", async () => {
    await lab.sim.rule({ match: { model: "grok-imagine-odd" }, script: { status: 200, body: { request_id: "../../v1/keys" } } })
    const odd = await film({ model: "xai/grok-imagine-odd" })
    expect([odd.status, errorIn(odd)["code"], (await polls("grok-imagine-odd")).length]).toEqual([502, "upstream_invalid_response", 0])
    await lab.sim.rule({ match: { path: asked, model: "grok-imagine-key" }, script: { status: 401 } })
    expect((await film({ model: "xai/grok-imagine-key" })).status).toBe(401)
    expect((await polls("grok-imagine-key")).length).toBe(1)
  })

  it("whose file lies elsewhere is not followed there with the key", async () => {
    const body = { name: "models/veo-away/operations/a", done: true, response: { generateVideoResponse: { generatedSamples: [{ video: { uri: "https://elsewhere.example.com/a.mp4" } }] } } }
    await lab.sim.rule({ match: { model: "veo-away" }, script: { status: 200, body } })
    const reply = await film({ model: "gemini/veo-away" })
    expect([reply.status, errorIn(reply)["code"]]).toEqual([502, "upstream_invalid_response"])
  })

  it("whose video a filter left out is told so", async () => {
    const body = { name: "models/veo-filtered/operations/a", done: true, response: { generateVideoResponse: { raiMediaFilteredCount: 1, raiMediaFilteredReasons: ["People are not shown."] } } }
    await lab.sim.rule({ match: { model: "veo-filtered" }, script: { status: 200, body } })
    const reply = await film({ model: "gemini/veo-filtered" })
    expect([reply.status, errorIn(reply)["message"]]).toEqual([400, "People are not shown."])
  })

  it("is given up when its time is over, or after too many refusals in a row", () => {
    const running = { status: 200, headers: [], body: Buffer.from("{\"status\":\"pending\"}"), polls: 9, failures: 0 }
    const wanted = { head: { model: "m", stream: false, wantsUsage: false, seconds: null, count: 1 }, note: { seconds: null, wantsBytes: false }, model: "m", now: 0, makeId: () => "1", price: null, elapsed: () => ({ requestMs: 0, callMs: 0 }), estimate: () => 0 }
    expect(codec.pollOf?.("videos/xai", { ...running, elapsedMs: 599_999 }, wanted)).toEqual({ url: null, afterMs: 5_000 })
    const over = codec.pollOf?.("videos/xai", { ...running, elapsedMs: 600_000 }, wanted)
    expect(over instanceof PublicError && [over.status, over.code, over.message]).toEqual([504, "gateway_timeout", "The video was not made within 600 s."])
    expect(codec.pollOf?.("videos/xai", { ...running, status: 503, failures: 3, elapsedMs: 1 }, wanted)).toEqual({ url: null, afterMs: 5_000 })
    expect(codec.pollOf?.("videos/xai", { ...running, status: 503, failures: 4, elapsedMs: 1 }, wanted)).toBeNull()
    // A wait that the server names is kept, within a minute; a date is not read.
    const limited = (wait: string) => codec.pollOf?.("videos/xai", { ...running, status: 429, failures: 1, headers: ["retry-after", wait], elapsedMs: 1 }, wanted)
    expect(["20", "0", "3600", "Mon, 23 Nov 2026 16:00:00 GMT"].map(limited)).toEqual([20_000, 5_000, 60_000, 5_000].map((afterMs) => ({ url: null, afterMs })))
  })
})
