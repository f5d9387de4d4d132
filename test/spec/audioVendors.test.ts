/** Vendors of sound with formats of their own: what they are asked at which path with which credential, and how their answers are told. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { toneOf } from "#src/simulator/formats/audio.ts"
import { formOf, tone, toneSeconds } from "#test/support/audio.ts"
import * as Http from "#test/support/http.ts"
import { errorIn, type Lab, startLab } from "#test/support/lab.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab()
  for (const provider of ["elevenlabs", "deepgram"]) {
    await lab.gateway.operator.createConnection({ provider, apiKey: `${provider}-credential-000001`, providerSpecificData: { baseUrl: `${lab.sim.url}/v1` } })
  }
  await lab.gateway.operator.createConnection({ provider: "assemblyai", apiKey: "assembly-credential-0001", providerSpecificData: { baseUrl: `${lab.sim.url}/v2` } })
})
afterAll(() => lab.close())

const say = (body: Readonly<Record<string, unknown>>) => Http.send(lab.gateway.url, { path: "/v1/audio/speech", body: { input: "Say it.", voice: "JBFq nC/sd", ...body } })
const hear = (fields: Readonly<Record<string, string | null>>, path = "/v1/audio/transcriptions", file = tone) =>
  Http.send(lab.gateway.url, { path, headers: { "content-type": "multipart/form-data; boundary=----b0undary" }, body: formOf(fields, file) })
const last = async (model: string) => (await lab.sim.entries({ model })).at(-1)

describe("speech of a vendor with the voice in its path", () => {
  it("is asked there with its own key, and costs its characters", async () => {
    const reply = await say({ model: "elevenlabs/eleven_v3", speed: 1.1, language: "de", instructions: "Loudly.", seed: 7 })
    expect([reply.status, reply.headers["content-type"], reply.bytes.equals(toneOf("Say it."))]).toEqual([200, "audio/mpeg", true])
    expect(reply.headers["x-gateway-omitted"]).toBe("instructions")
    const entry = await last("eleven_v3")
    expect([entry?.path, entry?.query, entry?.key?.last4]).toEqual(["/v1/text-to-speech/JBFq%20nC%2Fsd", "output_format=mp3_44100_128", "0001"])
    expect(entry?.headers["xi-api-key"]).toBe("…0001")
    expect(entry?.body).toEqual({ text: "Say it.", model_id: "eleven_v3", language_code: "de", seed: 7, voice_settings: { speed: 1.1 } })
    expect(await lab.rows(reply)).toMatchObject([{ outcome: "completed", units: { character: 7 }, costUsd: 0.0007, targetFormat: "speech/elevenlabs" }])
  })

  it.each([["opus", "opus_48000_128"], ["pcm", "pcm_24000"], ["wav", "wav_24000"]])("is made as %s", async (format, output) => {
    expect((await say({ model: "elevenlabs/eleven_v3", response_format: format })).status).toBe(200)
    expect((await last("eleven_v3"))?.query).toBe(`output_format=${output}`)
  })

  it("of a voice that would be another path, or in a format that is not made, is refused and nothing is sent", async () => {
    const before = (await lab.sim.entries({ model: "eleven_v3" })).length
    for (const [body, param] of [[{ voice: ".." }, "voice"], [{ response_format: "flac" }, "response_format"], [{ stream_format: "sse" }, "stream_format"]] as const) {
      const reply = await say({ model: "elevenlabs/eleven_v3", ...body })
      expect([reply.status, errorIn(reply)["param"]]).toEqual([400, param])
    }
    expect((await lab.sim.entries({ model: "eleven_v3" })).length).toBe(before)
  })
})

describe("speech of a vendor with all settings in its query", () => {
  it("is asked with its token", async () => {
    const reply = await say({ model: "deepgram/aura-2-thalia-en", response_format: "wav" })
    expect([reply.status, reply.headers["content-type"], reply.headers["x-gateway-omitted"], reply.bytes.equals(toneOf("Say it."))]).toEqual([200, "audio/wav", "voice", true])
    const entry = await last("aura-2-thalia-en")
    expect([entry?.path, entry?.query, entry?.body]).toEqual(["/v1/speak", "model=aura-2-thalia-en&encoding=linear16&container=wav", { text: "Say it." }])
    expect(entry?.headers["authorization"]).toMatch(/…0001$/)
  })
})

describe("a vendor among others", () => {
  it("gets a long text whole, and it is paid for", async () => {
    await lab.sim.rule({ match: { model: "eleven_flash_v2_5" }, script: { status: 200, body: "a little sound", contentType: "audio/mpeg" } })
    const input = "long ".repeat(100_000)
    const reply = await say({ model: "elevenlabs/eleven_flash_v2_5", input })
    expect([reply.status, reply.text]).toEqual([200, "a little sound"])
    const entry = await last("eleven_flash_v2_5")
    expect([entry?.path, (entry?.body as { text?: string } | undefined)?.text?.length]).toEqual(["/v1/text-to-speech/JBFq%20nC%2Fsd", input.length])
    expect(await lab.rows(reply)).toMatchObject([{ units: { character: input.length } }])
  })

  it("is asked at its own path after another one failed, and before another one", async () => {
    await lab.sim.rule({ match: { model: "av-away" }, script: { status: 500 } })
    await lab.sim.rule({ match: { model: "eleven_multilingual_v2" }, script: { status: 500 } })
    for (const [name, models, served] of [
      ["av-first", ["lab/av-away", "deepgram/aura-2-thalia-en"], "deepgram/aura-2-thalia-en"], ["av-second", ["elevenlabs/eleven_multilingual_v2", "lab/av-well"], "lab/av-well"]
    ] as const) {
      await lab.gateway.operator.call("POST", "/api/combos", { name, models, config: { maxRetries: 0 } })
      const reply = await say({ model: `combo/${name}` })
      expect([reply.status, reply.headers["x-gateway-model"], reply.headers["x-gateway-fallback-attempts"], reply.bytes.equals(toneOf("Say it."))]).toEqual([200, served, "1", true])
      expect((await lab.rows(reply)).map(({ outcome }) => outcome)).toEqual(["upstream-status", "completed"])
    }
    expect((await last("av-well"))?.path).toBe("/v1/audio/speech")
  })
})

describe("a transcription", () => {
  it("of a sound that is the body itself costs the seconds that the vendor counts", async () => {
    const reply = await hear({ model: "deepgram/nova-3", language: "de", prompt: "names", response_format: "verbose_json" })
    expect([reply.status, JSON.parse(reply.text)]).toEqual([200, {
      text: `Heard ${tone.length} bytes.`, task: "transcribe", duration: toneSeconds,
      segments: [{ id: 0, start: 0, end: 0.75, text: `Heard ${tone.length} bytes.` }],
      words: [{ word: "Heard", start: 0, end: 0.25 }, { word: String(tone.length), start: 0.25, end: 0.5 }, { word: "bytes.", start: 0.5, end: 0.75 }]
    }])
    expect(reply.headers["x-gateway-omitted"]).toBe("prompt")
    const entry = await last("nova-3")
    expect([entry?.path, entry?.query, entry?.body]).toEqual(["/v1/listen", "model=nova-3&smart_format=true&language=de", { bytes: tone.length, contentType: "audio/wav" }])
    const [row] = await lab.rows(reply)
    expect(row).toMatchObject({ units: { second: toneSeconds }, outcome: "completed" })
    expect(row?.costUsd).toBeCloseTo(toneSeconds * 0.0001283333, 9)
  })

  it("of a form with other names costs the seconds of the sound's header", async () => {
    const reply = await hear({ model: "elevenlabs/scribe_v1", language: "en", temperature: "0.2", diarize: "true", prompt: "names" })
    expect([reply.status, JSON.parse(reply.text)]).toEqual([200, { text: "Heard song.wav.", task: "transcribe", language: "en", duration: 0.5 }])
    expect(reply.headers["x-gateway-omitted"]).toBe("prompt")
    expect((await last("scribe_v1"))?.body).toEqual({
      model_id: "scribe_v1", language_code: "en", temperature: "0.2", diarize: "true", timestamps_granularity: "word", file: { filename: "song.wav", contentType: "audio/wav", bytes: tone.length }
    })
    expect(await lab.rows(reply)).toMatchObject([{ units: { second: toneSeconds }, outcome: "completed" }])
  })

  it("of a vendor with jobs is sent, ordered and asked for in one attempt", async () => {
    const reply = await hear({ model: "assemblyai/universal-2", language: "en", prompt: "names", response_format: "verbose_json", temperature: "0.2" })
    expect([reply.status, JSON.parse(reply.text)]).toEqual([200, {
      text: `Heard ${tone.length} bytes.`, task: "transcribe", language: "en", duration: toneSeconds,
      segments: [{ id: 0, start: 0, end: 0.75, text: `Heard ${tone.length} bytes.` }],
      words: [{ word: "Heard", start: 0, end: 0.25 }, { word: String(tone.length), start: 0.25, end: 0.5 }, { word: "bytes.", start: 0.5, end: 0.75 }]
    }])
    expect(reply.headers["x-gateway-omitted"]).toBe("temperature")
    const [upload] = await lab.sim.entries({ path: "/v2/upload" })
    expect([upload?.body, upload?.key?.last4]).toEqual([{ bytes: tone.length, contentType: "application/octet-stream" }, "0001"])
    const entries = await lab.sim.entries({ model: "universal-2" })
    expect(entries.map(({ method, path }) => [method, path.replace(/[\w-]{40,}$/, "{id}")])).toEqual([["POST", "/v2/transcript"], ["GET", "/v2/transcript/{id}"]])
    expect(entries[0]?.body).toEqual({ audio_url: `https://cdn.simulator.example/upload/${tone.length}`, speech_models: ["universal-2"], language_code: "en", prompt: "names" })
    expect([entries[0]?.headers["content-type"], entries[0]?.key?.last4]).toEqual(["application/json", "0001"])
    const [row, ...others] = await lab.rows(reply)
    expect([others, row]).toMatchObject([[], { outcome: "completed", units: { second: toneSeconds }, targetFormat: "transcriptions/assemblyai" }])
    expect(row?.costUsd).toBeCloseTo(toneSeconds * 4.16667e-05, 9)
  })

  it("of a vendor with jobs is asked for at one place while it is made", async () => {
    await lab.sim.rule({ match: { path: "/v2/transcript/WyJ*", model: "assembly-slow" }, times: 2, script: { status: 200, body: { id: "as-told", status: "processing" } } })
    expect((await hear({ model: "assemblyai/assembly-slow" })).status).toBe(200)
    const asked = (await lab.sim.entries({ model: "assembly-slow" })).filter(({ method }) => method === "GET").map(({ path }) => path)
    expect([asked.length, new Set(asked).size]).toEqual([3, 1])
  })

  it("of a vendor with jobs that fails, or is refused, is told so at once", async () => {
    await lab.sim.rule({ match: { path: "/v2/transcript/WyJ*", model: "assembly-broken" }, script: { status: 200, body: { id: "a", status: "error", error: "Audio is silent." } } })
    const failed = await hear({ model: "assemblyai/assembly-broken" })
    expect([failed.status, errorIn(failed)["message"]]).toEqual([502, "Audio is silent."])
    await lab.sim.rule({ match: { model: "assembly-refused" }, script: { status: 400, body: { error: "No such model." } } })
    const refused = await hear({ model: "assemblyai/assembly-refused" })
    expect([refused.status, errorIn(refused)["message"]]).toEqual([400, "No such model."])
    expect((await lab.sim.entries({ model: "assembly-refused" })).length).toBe(1)
    const spoken = await say({ model: "assemblyai/universal-2" })
    expect([spoken.status, errorIn(spoken)["message"]]).toEqual([400, "Unknown speech provider: assemblyai"])
  })

  it.each(["deepgram/nova-3", "elevenlabs/scribe_v1", "assemblyai/universal-3-5-pro"])("of %s comes as text and as subtitles", async (model) => {
    const replies = await Promise.all(["text", "srt", "vtt"].map((format) => hear({ model, response_format: format })))
    expect(replies.map(({ headers, status }) => [status, headers["content-type"]])).toEqual(Array.from({ length: 3 }, () => [200, "text/plain; charset=utf-8"]))
    expect(replies.map(({ text }) => text.slice(0, 18))).toEqual([expect.stringMatching(/^Heard .*\n?/), "1\n00:00:00,000 -->", "WEBVTT\n\n00:00:00.0"])
  })

  it.each(["deepgram/nova-3", "elevenlabs/scribe_v1", "assemblyai/universal-2"])("of %s is not streamed, nor a translation", async (model) => {
    const streamed = await hear({ model, stream: "true" })
    expect([streamed.status, errorIn(streamed)["param"]]).toEqual([400, "stream"])
    expect((await hear({ model }, "/v1/audio/translations")).status).toBe(400)
  })
})

describe("an error of a vendor", () => {
  it.each([
    ["elevenlabs/eleven_v3", "eleven_v3", { detail: { status: "voice_not_found", message: "A voice was not found." } }, "A voice was not found."],
    ["deepgram/aura-2-thalia-en", "aura-2-thalia-en", { err_code: "Bad Request", err_msg: "failed to process", request_id: "r" }, "failed to process"]
  ])("of %s is told in the common form", async (model, upstream, body, message) => {
    await lab.sim.rule({ match: { model: upstream }, times: 1, script: { status: 400, body } })
    const reply = await say({ model })
    expect([reply.status, errorIn(reply)["message"], errorIn(reply)["code"]]).toEqual([400, message, "bad_request"])
  })
})
