/** Requests with sound under the rules of all requests: faults and their rows, keys, budgets, nodes elsewhere, answers that are none. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { toneOf } from "#src/simulator/formats/audio.ts"
import { formOf, toneSeconds } from "#test/support/audio.ts"
import * as Http from "#test/support/http.ts"
import { errorIn, type Lab, startLab } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab({ environment: { FETCH_HEADERS_TIMEOUT_MS: "1500", STREAM_READINESS_TIMEOUT_MS: "1500", GATEWAY_MAX_ATTEMPTS: "1" } })
})
afterAll(() => lab.close())

type Headers = Readonly<Record<string, string>>
type Kind = "speech" | "transcriptions" | "translations"
const kinds: ReadonlyArray<Kind> = ["speech", "transcriptions", "translations"]

const callOf = (kind: Kind, model: string, headers: Headers = {}, more: Readonly<Record<string, string>> = {}): Http.Call => ({
  path: `/v1/audio/${kind}`,
  ...(kind === "speech"
    ? { headers, body: { model, input: "long ".repeat(50), voice: "alloy", ...more } }
    : { headers: { "content-type": "multipart/form-data; boundary=----b0undary", ...headers }, body: formOf({ model, ...more }) })
})
const ask = (kind: Kind, model: string, headers?: Headers, more?: Readonly<Record<string, string>>) => Http.send(lab.gateway.url, callOf(kind, model, headers, more))
const seen = (model: string) => lab.sim.entries({ model })
const logged = (model: string) =>
  lab.gateway.operator.call<ReadonlyArray<{ status: number; units: unknown; cost: number }>>("GET", `/api/usage/call-logs?model=${model}`)

interface Fault {
  readonly name: string
  readonly script: Record<string, unknown>
  /** Status and code of the reply; of speech, whose head went out before it was cut, 200. */
  readonly reply: readonly [status: number, code: string]
  readonly outcome: string
}

const faults: ReadonlyArray<Fault> = [
  { name: "429", script: { status: 429, retryAfter: 7, error: { message: "slow down" } }, reply: [429, "rate_limit_exceeded"], outcome: "upstream-status" },
  { name: "500", script: { status: 500, error: { message: "it broke", code: "internal" } }, reply: [500, "internal"], outcome: "upstream-status" },
  { name: "a reset before the head", script: { resetAfter: "request" }, reply: [502, "upstream_reset"], outcome: "upstream-reset" },
  { name: "silence", script: { neverHead: true }, reply: [504, "upstream_headers_timeout"], outcome: "gateway-timeout" },
  { name: "a page", script: { html: true }, reply: [502, "upstream_invalid_response"], outcome: "parse-error" }
]

describe.each(kinds)("%s", (kind) => {
  it.each(faults)("under $name: one call, one row, nothing charged", async ({ name, outcome, reply: [status, code], script }) => {
    const model = `ar-${kind}-${name.replace(/\W/g, "")}`
    await lab.gateway.operator.price(lab.node, model, { per_character: 1, per_second: 1 })
    await lab.sim.rule({ match: { model }, script })
    const reply = await ask(kind, `lab/${model}`)
    expect([reply.status, errorIn(reply)["code"]]).toEqual([status, code])
    expect((await seen(model)).length).toBe(1)
    expect(await lab.rows(reply)).toMatchObject([{ outcome, final: true, units: null, costUsd: 0, clientStatus: status }])
  })

  it("that is left by its client ends the call of its upstream", async () => {
    const model = `ar-${kind}-left`
    await lab.sim.rule({ match: { model }, script: { neverHead: true } })
    const { request } = Http.open(lab.gateway.url, callOf(kind, `lab/${model}`))
    await eventually(() => seen(model), ([one]) => one?.outcome === "open", "the call of the upstream")
    request.destroy()
    await eventually(() => seen(model), ([one]) => one?.outcome === "client-aborted", "its end")
    expect(await eventually(() => logged(model), ({ length }) => length > 0, "its row")).toMatchObject([{ status: 499 }])
  })

  it("of a model or a kind that a key may not use is refused before anything is sent", async () => {
    for (const policy of [{ allowedEndpoints: ["chat"] }, { allowedModels: ["lab/ar-other"] }, { blockedModels: [`lab/ar-${kind}-denied`] }]) {
      const { key } = await lab.gateway.operator.createKey("denied", policy)
      expect([policy, (await ask(kind, `lab/ar-${kind}-denied`, { authorization: `Bearer ${key}` })).status]).toEqual([policy, 403])
    }
    const { key } = await lab.gateway.operator.createKey("sound", { allowedEndpoints: ["audio"], allowedModels: [`lab/ar-${kind}-granted`] })
    expect((await ask(kind, `lab/ar-${kind}-granted`, { authorization: `Bearer ${key}` })).status).toBe(200)
    expect((await seen(`ar-${kind}-denied`)).length).toBe(0)
  })

  it("whose upstream was cut leaves a row for its call", async () => {
    const model = `ar-${kind}-cut`
    await lab.sim.rule({ match: { model }, script: { resetAfter: { bytes: 20 } } })
    const reply = await ask(kind, `lab/${model}`)
    expect([reply.status, reply.whole]).toEqual(kind === "speech" ? [200, false] : [502, true])
    expect(await lab.rows(reply)).toMatchObject([{ outcome: "upstream-reset", final: true }])
  })
})

describe("a budget", () => {
  it("reserves what the characters of a text cost while it is spoken, and no other text is spoken beyond it", async () => {
    const { operator } = lab.gateway
    await operator.price(lab.node, "ar-dear", { per_character: 0.01 })
    await lab.sim.rule({ match: { model: "ar-dear" }, script: { hangAfter: { frames: 1 } } })
    const key = await operator.createKey("speaks")
    await operator.call("POST", "/api/usage/budget", { apiKeyId: key.id, dailyLimitUsd: 3 })
    const headers = { authorization: `Bearer ${key.key}` }
    const held = await Http.stream(lab.gateway.url, callOf("speech", "lab/ar-dear", headers))
    expect(held.status).toBe(200)
    const refused = await ask("speech", "lab/ar-dear", headers)
    expect([refused.status, errorIn(refused)["code"]]).toEqual([429, "budget_exceeded"])
    held.leave()
    expect(await eventually(() => lab.rows(held), ({ length }) => length === 1, "its row")).toMatchObject([{ units: { character: 250 }, costUsd: 2.5 }])
    expect((await seen("ar-dear")).length).toBe(1)
  })

  it("is spent by the seconds that an answer names", async () => {
    const { operator } = lab.gateway
    await operator.price(lab.node, "ar-long", { per_second: 10 })
    const key = await operator.createKey("hears")
    await operator.call("POST", "/api/usage/budget", { apiKeyId: key.id, dailyLimitUsd: 1 })
    const headers = { authorization: `Bearer ${key.key}` }
    expect((await ask("transcriptions", "lab/ar-long", headers)).status).toBe(200)
    const refused = await ask("transcriptions", "lab/ar-long", headers)
    expect([refused.status, errorIn(refused)["code"]]).toEqual([429, "budget_exceeded"])
  })
})

describe("a node elsewhere", () => {
  /** For documentation only: no packet ever arrives there. */
  const far = "https://203.0.113.7/v1"

  it("serves sound only with the flag that allows it, by whatever address it is called", async () => {
    const { operator } = lab.gateway
    await operator.setFlag("GATEWAY_ALLOW_PRIVATE_PROVIDER_URLS", "true")
    const node = await operator.createNode({ prefix: "arfar", baseUrl: far })
    await operator.createConnection({ provider: node, apiKey: "far-credential-000001" })
    const moved = await operator.createNode({ prefix: "armoved", baseUrl: `${lab.sim.url}/v1` })
    await operator.createConnection({ provider: moved, apiKey: "moved-credential-0001", providerSpecificData: { baseUrl: far } })
    for (const kind of kinds) {
      for (const prefix of ["arfar", "armoved"]) {
        const reply = await ask(kind, `${prefix}/any`)
        expect([prefix, reply.status, errorIn(reply)["message"]]).toEqual([prefix, 400, expect.stringContaining("AUDIO_REMOTE_PROVIDER_NODES")])
      }
    }
    await operator.setFlag("AUDIO_REMOTE_PROVIDER_NODES", "true")
    for (const prefix of ["arfar", "armoved"]) {
      const explained = await operator.call<{ targets: ReadonlyArray<{ model: string }> }>("POST", "/api/routing/explain", { model: `${prefix}/any`, format: "speech" })
      expect(explained.targets).toMatchObject([{ model: `${prefix}/any` }])
    }
    await operator.setFlag("AUDIO_REMOTE_PROVIDER_NODES", "false")
    expect((await ask("speech", "arfar/any")).status).toBe(400)
  })
})

describe("bytes that mean nothing to the gateway", () => {
  it("hold no progress of ours, whatever the client asks for", async () => {
    const reply = await ask("speech", "lab/ar-progress", { "x-gateway-progress": "true" }, { response_format: "wav" })
    expect([reply.headers["x-gateway-progress"], reply.bytes.equals(toneOf("long ".repeat(50)))]).toEqual([undefined, true])
  })

  it("pass in the type that their server names, events too", async () => {
    const raw = "data: {\"type\":\"speech.audio.delta\",\"audio\":\"AAAA\"}\n\ndata: {\"type\":\"speech.audio.done\",\"usage\":{\"total_tokens\":3}}\n\n"
    await lab.sim.rule({ match: { model: "ar-sse" }, script: { status: 200, body: raw, contentType: "text/event-stream" } })
    const reply = await ask("speech", "lab/ar-sse", {}, { stream_format: "sse" })
    expect([reply.status, reply.headers["content-type"], reply.text]).toEqual([200, "text/event-stream", raw])
  })
})

describe("a transcription as text", () => {
  it.each([
    ["a page", { html: true }, 502, "upstream_invalid_response"],
    ["an error with status 200", { status: 200, body: { error: { message: "slow down", type: "rate_limit_error", code: "busy" } } }, 429, "busy"]
  ] as const)("is not %s", async (name, script, status, code) => {
    const model = `ar-text-${name.replace(/\W/g, "")}`
    await lab.sim.rule({ match: { model }, script })
    const reply = await ask("transcriptions", `lab/${model}`, {}, { response_format: "text" })
    expect([reply.status, errorIn(reply)["code"]]).toEqual([status, code])
  })

  it("is its text, where its server knows JSON only", async () => {
    await lab.sim.rule({ match: { model: "ar-text-json" }, script: { status: 200, body: { text: "Heard it.", duration: 2 } } })
    const reply = await ask("transcriptions", "lab/ar-text-json", {}, { response_format: "text" })
    expect([reply.status, reply.headers["content-type"], reply.text]).toEqual([200, "text/plain; charset=utf-8", "Heard it.\n"])
    expect(await lab.rows(reply)).toMatchObject([{ units: { second: 2 } }])
  })

  it.each([
    ["text", { status: 200, body: "Heard it.", contentType: "text/plain" }], ["srt", { status: 200, body: "1\n00:00:00,000 --> 00:00:00,050\nHi\n\n", contentType: "text/plain" }],
    ["json", { status: 200, body: { text: "Heard it." } }]
  ])("without seconds costs what the sent sound's header says: %s", async (format, script) => {
    const model = `ar-measured-${format}`
    await lab.gateway.operator.price(lab.node, model, { per_second: 1 })
    await lab.sim.rule({ match: { model }, script })
    expect(await lab.rows(await ask("transcriptions", `lab/${model}`, {}, { response_format: format }))).toMatchObject([{ units: { second: toneSeconds }, costUsd: toneSeconds }])
  })

  it("of a sound without such a header costs what its last cue says", async () => {
    await lab.gateway.operator.price(lab.node, "ar-cues", { per_second: 1 })
    await lab.sim.rule({ match: { model: "ar-cues" }, script: { status: 200, body: "WEBVTT\n\n00:00.000 --> 00:02.500\nHi\n", contentType: "text/vtt" } })
    const body = formOf({ model: "lab/ar-cues", response_format: "vtt" }, Buffer.from("OggS and no more"), "audio/ogg")
    const reply = await Http.send(lab.gateway.url, { path: "/v1/audio/transcriptions", headers: { "content-type": "multipart/form-data; boundary=----b0undary" }, body })
    expect(await lab.rows(reply)).toMatchObject([{ units: { second: 2.5 }, costUsd: 2.5 }])
  })

  it("may be empty: nothing was said", async () => {
    await lab.sim.rule({ match: { model: "ar-text-none" }, script: { status: 200, body: "", contentType: "text/plain" } })
    const reply = await ask("transcriptions", "lab/ar-text-none", {}, { response_format: "text" })
    expect([reply.status, reply.text]).toEqual([200, ""])
  })
})

it.each(["true", "True", "1"])("events are asked for by stream=%s", async (stream) => {
  const reply = await ask("transcriptions", "lab/ar-events", {}, { stream })
  expect([reply.status, reply.headers["content-type"]]).toEqual([200, "text/event-stream"])
})

it("all calls of this file have their rows", async () => {
  expect(await lab.gateway.operator.reconciliation()).toMatchObject({ gap: 0 })
})
