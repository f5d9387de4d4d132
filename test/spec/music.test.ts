/** POST /v1/music/generations over HTTP: what each vendor is asked, one shape of answer, what is refused, and what it costs. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { toneOf } from "#src/simulator/formats/audio.ts"
import * as Http from "#test/support/http.ts"
import { errorIn, type Lab, startLab } from "#test/support/lab.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab()
  const { operator } = lab.gateway
  for (const provider of ["elevenlabs", "minimax"]) {
    await operator.createConnection({ provider, apiKey: `${provider}-music-0000000001`, providerSpecificData: { baseUrl: `${lab.sim.url}/v1` } })
  }
  const vertex = `${lab.sim.url}/v1/projects/p/locations/us-central1/publishers/google`
  await operator.createConnection({ provider: "vertex", apiKey: "ya29-music-00000000001", providerSpecificData: { project: "p", baseUrl: vertex } })
})
afterAll(() => lab.close())

const prompt = "a calm piano piece"
const sound = toneOf(prompt)
const second = prompt.length * 0.02
const compose = (body: Readonly<Record<string, unknown>>) => Http.send(lab.gateway.url, { path: "/v1/music/generations", body: { prompt, ...body } })
const seen = (model: string) => lab.sim.entries({ model })
const itemsIn = (reply: Http.Reply) => {
  expect([reply.status, reply.text]).toEqual([200, expect.any(String)])
  return (JSON.parse(reply.text) as { created: number; data: ReadonlyArray<Record<string, unknown>> }).data
}
const bytesIn = (item: Readonly<Record<string, unknown>> | undefined): Buffer => Buffer.from(String(item?.["b64_json"]), "base64")

describe("music", () => {
  it("of a server of the same format is asked for as it was, but for the model", async () => {
    await lab.gateway.operator.price(lab.node, "mu-own", { per_second: 1 })
    const reply = await compose({ model: "lab/mu-own", duration: 20, lyrics: "la", format: "wav" })
    const [item] = itemsIn(reply)
    expect([bytesIn(item).equals(sound), item?.["format"]]).toEqual([true, "wav"])
    expect((await seen("mu-own"))[0]?.body).toEqual({ model: "mu-own", prompt, duration: 20, lyrics: "la", format: "wav" })
    expect(await lab.rows(reply)).toMatchObject([{ endpoint: "/v1/music/generations", outcome: "completed", units: { second: expect.closeTo(second, 6) }, costUsd: expect.closeTo(second, 6) }])
    expect(itemsIn(await compose({ model: "lab/mu-own", response_format: "url" }))[0]?.["url"]).toMatch(/^https:/)
  })

  it("of a vendor that answers with the sound is given as base64, and costs the sound's own seconds", async () => {
    await lab.gateway.operator.price("elevenlabs", "music_v1", { per_second: 1 })
    const reply = await compose({ model: "elevenlabs/music_v1", duration: 12.5, lyrics: "la", format: "opus", style: "jazz" })
    const [item] = itemsIn(reply)
    expect([bytesIn(item).equals(sound), item?.["format"], reply.headers["x-gateway-omitted"]]).toEqual([true, "opus", "style"])
    const [entry] = await seen("music_v1")
    expect([entry?.path, entry?.query, entry?.headers["xi-api-key"]]).toEqual(["/v1/music", "output_format=opus_48000_128", "…0001"])
    expect(entry?.body).toEqual({ prompt, model_id: "music_v1", music_length_ms: 12_500, lyrics_text: "la" })
    expect(await lab.rows(reply)).toMatchObject([{ outcome: "completed", costUsd: expect.closeTo(second, 6), targetFormat: "music/elevenlabs" }])
  })

  it("of a vendor that answers with hex digits or an address is given in the clients' shape", async () => {
    const reply = await compose({ model: "minimax/music-2.6", lyrics: "[verse]\nla", duration: 30, format: "wav" })
    expect(bytesIn(itemsIn(reply)[0]).equals(sound)).toBe(true)
    expect(reply.headers["x-gateway-omitted"]).toBe("duration")
    expect((await seen("music-2.6"))[0]?.body).toEqual({
      model: "music-2.6", prompt, lyrics: "[verse]\nla", output_format: "hex", audio_setting: { sample_rate: 44_100, bitrate: 256_000, format: "wav" }
    })
    expect(await lab.rows(reply)).toMatchObject([{ units: { request: 1, second: expect.closeTo(second, 6) }, unpriced: false, costUsd: 0.15 }])
    const wordless = await compose({ model: "minimax/music-2.6", response_format: "url" })
    expect(itemsIn(wordless)[0]?.["url"]).toMatch(/^https:/)
    expect((await seen("music-2.6")).at(-1)?.body).toMatchObject({ lyrics_optimizer: true, output_format: "url" })
  })

  it("of a model of `:predict` costs what its files last", async () => {
    const reply = await compose({ model: "vertex/lyria-002", negative_prompt: "drums" })
    expect(itemsIn(reply)).toEqual([{ b64_json: sound.toString("base64"), format: "wav" }])
    expect((await seen("lyria-002"))[0]?.body).toEqual({ instances: [{ prompt, negative_prompt: "drums" }], parameters: {} })
    const [row] = await lab.rows(reply)
    expect(row?.costUsd).toBeCloseTo(second * 0.002, 9)
  })

  it.each([
    ["no prompt", { prompt: undefined }, "prompt", "Field 'prompt' must be a non-empty string."], ["a word as length", { duration: "long" }, "duration", "Field 'duration' must be a number of seconds above 0, at most 600."],
    ["empty lyrics", { lyrics: "" }, "lyrics", "Field 'lyrics' must be a non-empty string."], ["a number as format", { format: 3 }, "format", "Field 'format' must be a non-empty string."],
    ["another shape", { response_format: "hex" }, "response_format", "Field 'response_format' must be 'url' or 'b64_json'."]
  ])("with %s is refused by the name of the field, and nothing is sent", async (_name, body, param, message) => {
    const reply = await compose({ model: "lab/mu-refused", ...body })
    expect([reply.status, errorIn(reply)]).toEqual([400, expect.objectContaining({ code: "bad_request", param, message })])
    expect((await seen("mu-refused")).length).toBe(0)
  })

  it.each([
    ["elevenlabs/mu-one", { format: "flac" }, "This model makes mp3, opus, pcm only."], ["elevenlabs/mu-one", { response_format: "url" }, "This model answers with bytes only: set 'response_format' to 'b64_json'."],
    ["minimax/mu-one", { format: "flac" }, "This model makes mp3, wav, pcm only."], ["vertex/mu-one", { format: "mp3" }, "This model makes wav only."]
  ])("that %s cannot make (%o) is refused, and nothing is sent", async (model, body, message) => {
    const reply = await compose({ model, ...body })
    expect([reply.status, errorIn(reply)["message"]]).toEqual([400, message])
    expect((await seen("mu-one")).length).toBe(0)
  })

  it.each([
    ["elevenlabs/mu-told", 422, { detail: { status: "bad_prompt", message: "A brand was named." } }, 422, "A brand was named."],
    ["minimax/mu-empty", 200, { base_resp: { status_code: 1008, status_msg: "insufficient balance" } }, 402, "insufficient balance"],
    ["minimax/mu-limited", 200, { base_resp: { status_code: 1002, status_msg: "rate limit" } }, 429, "rate limit"]
  ])("that fails at %s is told in the vendor's words", async (model, status, body, told, message) => {
    await lab.sim.rule({ match: { model: model.split("/")[1] as string }, script: { status, body } })
    const reply = await compose({ model })
    expect([reply.status, errorIn(reply)["message"]]).toEqual([told, message])
  })

  it("is listed by its models, and made by no others", async () => {
    const { data } = JSON.parse((await Http.send(lab.gateway.url, { method: "GET", path: "/v1/music/generations" })).text) as { data: ReadonlyArray<{ id: string; type: string }> }
    expect([data.some(({ id }) => id === "minimax/music-2.6"), data.every(({ type }) => type === "music")]).toEqual([true, true])
    expect(errorIn(await compose({ model: "elevenlabs/eleven_v3" }))["message"]).toBe("Model 'elevenlabs/eleven_v3' makes no music: see GET /v1/music/generations for those that do.")
  })

  it("of a server with jobs is asked for until it is there", async () => {
    await lab.sim.rule({ match: { model: "mu-job" }, script: { status: 202, body: { id: "job-1", status: "queued" } } })
    await lab.sim.rule({ match: { path: "/v1/music/job-1" }, script: { status: 200, body: { created: 1, data: [{ url: "https://example.com/a.mp3", format: "mp3" }] } } })
    const reply = await compose({ model: "lab/mu-job" })
    expect(JSON.parse(reply.text)).toEqual({ created: 1, data: [{ url: "https://example.com/a.mp3", format: "mp3" }] })
    expect(await lab.rows(reply)).toMatchObject([{ outcome: "completed", attempt: 1, final: true }])
  })
})
