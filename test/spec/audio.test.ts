/** Speech, transcriptions and translations over HTTP: bytes that pass as they come, forms that change in nothing but their model, what they cost. */
import OpenAI, { toFile } from "openai"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { toneOf } from "#src/simulator/formats/audio.ts"
import { formOf, tone, toneSeconds } from "#test/support/audio.ts"
import { type Combos, combosOf } from "#test/support/combos.ts"
import * as Http from "#test/support/http.ts"
import { errorIn, type Lab, startLab } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"

let lab: Lab
let combos: Combos
let openai: OpenAI
beforeAll(async () => {
  lab = await startLab()
  combos = combosOf(lab, "au")
  openai = new OpenAI({ baseURL: `${lab.gateway.url}/v1`, apiKey: (await lab.gateway.operator.createKey("sdk")).key, maxRetries: 0 })
})
afterAll(() => lab.close())

type Headers = Readonly<Record<string, string>>
const say = (body: Readonly<Record<string, unknown>>, headers: Headers = {}) =>
  Http.send(lab.gateway.url, { path: "/v1/audio/speech", headers, body: { input: "Say it.", voice: "alloy", ...body } })
const seen = (model: string) => lab.sim.entries({ model })

const hear = (body: Buffer, headers: Headers = {}, path = "/v1/audio/transcriptions", boundary = "----b0undary") =>
  Http.send(lab.gateway.url, { path, headers: { "content-type": `multipart/form-data; boundary=${boundary}`, ...headers }, body })

describe("speech", () => {
  it("passes as its server makes it, in the server's type, and costs what its characters cost", async () => {
    await lab.gateway.operator.price(lab.node, "au-speech", { per_character: 0.0001 })
    const reply = await say({ model: "lab/au-speech", response_format: "wav", speed: 1.5, instructions: "Loudly." })
    expect([reply.status, reply.headers["content-type"], reply.bytes.equals(toneOf("Say it."))]).toEqual([200, "audio/wav", true])
    expect((await seen("au-speech"))[0]?.body).toEqual({ model: "au-speech", input: "Say it.", voice: "alloy", response_format: "wav", speed: 1.5, instructions: "Loudly." })
    expect(await lab.rows(reply)).toMatchObject([{ endpoint: "/v1/audio/speech", outcome: "completed", stream: true, units: { character: 7 }, costUsd: 0.0007, final: true }])
    const [row] = await lab.rows(reply)
    expect([reply.headers["x-gateway-response-cost"], reply.headers["x-gateway-tokens-in"], reply.headers["x-gateway-tokens-out"]]).toEqual(["0.0007000000", String(row?.tokensIn), String(row?.tokensOut)])
  })

  it("begins before its end is made", async () => {
    await lab.sim.rule({ match: { model: "au-paced" }, script: { paceMs: 20, hangAfter: { frames: 2 } } })
    const opened = await Http.stream(lab.gateway.url, { path: "/v1/audio/speech", body: { model: "lab/au-paced", input: "long ".repeat(50), voice: "alloy" } })
    expect([opened.status, opened.headers["content-type"]]).toEqual([200, "audio/mpeg"])
    opened.leave()
    const [entry] = await eventually(() => seen("au-paced"), ([one]) => one?.outcome === "client-aborted", "the end of the upstream's call")
    expect(entry?.outcome).toBe("client-aborted")
    expect(await lab.rows(opened)).toMatchObject([{ outcome: "client-abort" }])
  })

  it("that breaks ends with its connection, without a word among its bytes", async () => {
    await lab.sim.rule({ match: { model: "au-broken" }, script: { resetAfter: { bytes: 5_000 } } })
    const reply = await say({ model: "lab/au-broken", input: "long ".repeat(50), response_format: "wav" })
    expect([reply.status, reply.whole, toneOf("long ".repeat(50)).subarray(0, reply.bytes.length).equals(reply.bytes)]).toEqual([200, false, true])
    expect(await lab.rows(reply)).toMatchObject([{ outcome: "upstream-reset", clientStatus: 200 }])
  })

  it.each([
    ["no input", { input: undefined }, "input"], ["no voice", { voice: undefined }, "voice"], ["too fast", { speed: 5 }, "speed"], ["a number for a format", { response_format: 1 }, "response_format"]
  ] as const)("with %s is refused by the name of the field, and nothing is sent", async (_name, body, param) => {
    const reply = await say({ model: "lab/au-refused", ...body })
    expect([reply.status, errorIn(reply)]).toEqual([400, expect.objectContaining({ code: "bad_request", param })])
    expect((await seen("au-refused")).length).toBe(0)
  })

  it("that is refused by its server is told in the common form, and a combo asks the next one", async () => {
    await lab.sim.rule({ match: { model: "au-error" }, script: { status: 400, error: { message: "no such voice" } } })
    const reply = await say({ model: "lab/au-error" })
    expect([reply.status, reply.headers["content-type"], errorIn(reply)["message"]]).toEqual([400, "application/json", "no such voice"])
    const [bad, good] = [await combos.place({ status: 503, error: { message: "away" } }), await combos.place()]
    const spoken = await say({ model: await combos.combo("priority", [bad.model, good.model], { config: { maxRetries: 0 } }) })
    expect([spoken.status, spoken.headers["x-gateway-model"], spoken.bytes.equals(toneOf("Say it."))]).toEqual([200, good.model, true])
  })

  it("as events costs the tokens that its last event counts", async () => {
    await lab.gateway.operator.price(lab.node, "au-spoken", { input: 1, output: 12 })
    await lab.sim.rule({ match: { model: "au-spoken" }, script: { usage: { promptTokens: 10, completionTokens: 500_000, totalTokens: 500_010 } } })
    const reply = await say({ model: "lab/au-spoken", stream_format: "sse" })
    expect([reply.status, reply.headers["content-type"]]).toEqual([200, "text/event-stream"])
    const events = Http.payloads(reply.text).map((data) => JSON.parse(data) as { type: string; audio?: string })
    expect(events.at(-1)?.type).toBe("speech.audio.done")
    expect(Buffer.concat(events.map(({ audio = "" }) => Buffer.from(audio, "base64"))).equals(toneOf("Say it."))).toBe(true)
    expect(await lab.rows(reply)).toMatchObject([{ outcome: "completed", tokensIn: 10, tokensOut: 500_000, costUsd: 6.00001 }])
  })

  it("is made once under one Idempotency-Key, whole and while it is made; events are made again", async () => {
    const headers = { "idempotency-key": "au-said-once" }
    await lab.sim.rule({ match: { model: "au-said" }, script: { paceMs: 20 } })
    const long = { model: "lab/au-said", input: "long ".repeat(50), response_format: "wav" }
    const [first, second] = await Promise.all([say(long, headers), say(long, headers)])
    const third = await say(long, headers)
    for (const reply of [first, second, third]) expect([reply.status, reply.headers["content-type"], reply.bytes.equals(toneOf(long.input))]).toEqual([200, "audio/wav", true])
    expect([first, second, third].filter((reply) => reply.headers["x-gateway-idempotent"] === "true").length).toBe(2)
    expect([third.headers["x-gateway-model"], third.headers["x-gateway-response-cost"], (await seen("au-said")).length]).toEqual(["lab/au-said", "0.0000000000", 1])
    expect((await say({ ...long, speed: 2 }, headers)).status).toBe(409)
    for (const _ of [1, 2]) expect((await say({ model: "lab/au-said-events", stream_format: "sse" }, { "idempotency-key": "au-events" })).status).toBe(200)
    expect((await seen("au-said-events")).length).toBe(2)
  })

  it("that breaks under an Idempotency-Key is made again by its repeat", async () => {
    const headers = { "idempotency-key": "au-broke-once" }
    const long = { model: "lab/au-broke-once", input: "long ".repeat(50), response_format: "wav" }
    await lab.sim.rule({ match: { model: "au-broke-once" }, script: { resetAfter: { bytes: 5_000 } }, times: 1 })
    const broken = await say(long, headers)
    const again = await say(long, headers)
    expect([broken.whole, again.status, again.bytes.equals(toneOf(long.input)), again.headers["x-gateway-idempotent"]]).toEqual([false, 200, true, undefined])
  })

  it("that is a page is no speech", async () => {
    await lab.sim.rule({ match: { model: "au-page" }, script: { html: true } })
    const reply = await say({ model: "lab/au-page" })
    expect([reply.status, errorIn(reply)["code"]]).toEqual([502, "upstream_invalid_response"])
  })

  it("is made for the vendor's own client, and not for a key of other endpoints", async () => {
    const made = await openai.audio.speech.create({ model: "lab/au-sdk", input: "Hello!", voice: "alloy", response_format: "wav" })
    expect(Buffer.from(await made.arrayBuffer()).equals(toneOf("Hello!"))).toBe(true)
    const { key } = await lab.gateway.operator.createKey("chats", { allowedEndpoints: ["chat"] })
    expect((await say({ model: "lab/au-denied" }, { authorization: `Bearer ${key}` })).status).toBe(403)
    expect((await seen("au-denied")).length).toBe(0)
  })
})

describe("a transcription", () => {
  it("goes on as it came but for the model, and costs what its seconds cost", async () => {
    await lab.gateway.operator.price(lab.node, "au-heard", { per_second: 0.5 })
    const reply = await hear(formOf({ model: "lab/au-heard", language: "en", temperature: "0.2" }))
    const seconds = toneSeconds
    expect([reply.status, JSON.parse(reply.text)]).toEqual([200, { text: "Heard song.wav.", usage: { type: "duration", seconds } }])
    expect((await seen("au-heard"))[0]?.body).toEqual({
      model: "au-heard", language: "en", temperature: "0.2", file: { filename: "song.wav", contentType: "audio/wav", bytes: tone.length }
    })
    const [row] = await lab.rows(reply)
    expect(row).toMatchObject({ endpoint: "/v1/audio/transcriptions", outcome: "completed", units: { second: seconds } })
    expect(row?.costUsd).toBeCloseTo(seconds / 2, 9)
  })

  it.each([
    ["text", "text/plain; charset=utf-8", "Heard song.wav.\n"], ["srt", "text/plain; charset=utf-8", "1\n00:00:00,000"],
    ["vtt", "text/plain; charset=utf-8", "WEBVTT\n"], ["verbose_json", "application/json", "{\"task\":\"transcribe\""]
  ])("as %s comes in its type", async (format, type, begins) => {
    const reply = await hear(formOf({ model: "lab/au-formats", response_format: format }))
    expect([reply.status, reply.headers["content-type"], reply.text.startsWith(begins)]).toEqual([200, type, true])
  })

  it("streams the events of its server", async () => {
    const reply = await hear(formOf({ model: "lab/au-events", stream: "true" }))
    expect([reply.status, reply.headers["content-type"], Http.payloads(reply.text).map((data) => (JSON.parse(data) as { type: string }).type)])
      .toEqual([200, "text/event-stream", ["transcript.text.delta", "transcript.text.done"]])
  })

  it("that is streamed costs the seconds that its last event counts", async () => {
    await lab.gateway.operator.price(lab.node, "au-counted", { per_second: 1 })
    await lab.sim.rule({ match: { model: "au-counted" }, script: { status: 200, contentType: "text/event-stream", body: `data: ${JSON.stringify({ type: "transcript.text.done", text: "a", usage: { type: "duration", seconds: 7 } })}\n\n` } })
    const reply = await hear(formOf({ model: "lab/au-counted", stream: "true" }))
    expect(await lab.rows(reply)).toMatchObject([{ outcome: "completed", units: { second: 7 }, costUsd: 7 }])
  })

  it.each([
    ["no file", formOf({ model: "lab/au-bad" }, null), 400, "file"], ["an empty file", formOf({ model: "lab/au-bad" }, Buffer.alloc(0)), 400, "file"],
    ["a picture", formOf({ model: "lab/au-bad" }, tone, "image/png"), 400, "file"], ["no model", formOf({ model: null }), 400, "model"],
    ["another format", formOf({ model: "lab/au-bad", response_format: "pdf" }), 400, "response_format"], ["no temperature", formOf({ model: "lab/au-bad", temperature: "hot" }), 400, "temperature"],
    ["a form that was cut", formOf({ model: "lab/au-bad" }).subarray(0, -20), 400, "body"], ["another boundary", formOf({ model: "lab/au-bad" }, tone, "audio/wav", "other"), 400, "body"]
  ])("with %s is refused, and nothing is sent", async (_name, body, status, param) => {
    const reply = await hear(body)
    expect([reply.status, errorIn(reply)["param"]]).toEqual([status, param])
    expect((await seen("au-bad")).length).toBe(0)
  })

  it("takes forms only, and refuses one above 26 MiB before it is read", async () => {
    const json = await Http.send(lab.gateway.url, { path: "/v1/audio/transcriptions", body: { model: "lab/au-bad" } })
    expect([json.status, errorIn(json)["code"]]).toEqual([415, "unsupported_media_type"])
    const large = await hear(formOf({ model: "lab/au-bad" }, Buffer.alloc(27 * 1024 * 1024)))
    expect([large.status, errorIn(large)["code"]]).toEqual([413, "payload_too_large"])
  })

  it("of 20 MiB passes whole", { timeout: 180_000 }, async () => {
    const reply = await hear(formOf({ model: "lab/au-large" }, Buffer.alloc(20 * 1024 * 1024, 7)))
    expect(reply.status).toBe(200)
    expect((await seen("au-large"))[0]?.body).toMatchObject({ file: { bytes: 20 * 1024 * 1024 } })
  })

  it("falls back inside a combo with the same file", async () => {
    const [bad, good] = [await combos.place({ status: 500, error: { message: "away" } }), await combos.place()]
    const model = await combos.combo("priority", [bad.model, good.model], { config: { maxRetries: 0 } })
    const reply = await hear(formOf({ model }))
    expect([reply.status, reply.headers["x-gateway-model"]]).toEqual([200, good.model])
    expect((await lab.rows(reply)).map(({ outcome }) => outcome)).toEqual(["upstream-status", "completed"])
  })

  it("is made once under one Idempotency-Key, whatever boundary stands between its parts", async () => {
    const headers = { "idempotency-key": "au-once" }
    const first = await hear(formOf({ model: "lab/au-once" }), headers)
    const again = await hear(formOf({ model: "lab/au-once" }, tone, "audio/wav", "another"), headers, undefined, "another")
    expect([first.status, again.headers["x-gateway-idempotent"], again.text]).toEqual([200, "true", first.text])
    const other = await hear(formOf({ model: "lab/au-once" }, toneOf("b song")), headers)
    expect(other.status).toBe(409)
    expect((await seen("au-once")).length).toBe(1)
  })

  it("is made for the vendor's own client, and a translation too", async () => {
    const file = await toFile(tone, "song.wav", { type: "audio/wav" })
    expect((await openai.audio.transcriptions.create({ model: "lab/au-sdk-heard", file })).text).toBe("Heard song.wav.")
    const translated = await openai.audio.translations.create({ model: "lab/au-sdk-translated", file, response_format: "verbose_json" })
    expect(translated).toMatchObject({ text: "Heard song.wav.", task: "translate" })
    await expect(openai.audio.transcriptions.create({ model: "nobody/x", file })).rejects.toThrow(OpenAI.BadRequestError)
  })
})
