/** Pictures for models that cannot take them: the operator's bridge model describes them, in every format, with rows, costs, bounds and rights. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { eventually } from "#test/support/operator.ts"
import * as Http from "#test/support/http.ts"
import { type Lab, startLab } from "#test/support/lab.ts"

type Body = Readonly<Record<string, unknown>>
type Headers = Readonly<Record<string, string>>

let lab: Lab
let count = 0
/** One that sees and has a price; its provider's other model does not see. */
const [SEEING, BLIND] = ["openai/gpt-4o", "openai/o3-mini"]
const [seeing, blind] = ["gpt-4o", "o3-mini"]
const settings = (change: Body) => lab.gateway.operator.call<Body>("PATCH", "/api/settings", change)
const usual = { visionBridgeEnabled: true, visionBridgeModel: SEEING, visionBridgePrompt: null, visionBridgeTimeout: 0, visionBridgeMaxImages: 0, allowGuardrailOptOut: true }

beforeAll(async () => {
  lab = await startLab()
  await lab.gateway.operator.createConnection({ provider: "openai", apiKey: "sk-bridge-000000000001", providerSpecificData: { baseUrl: `${lab.sim.url}/v1` } })
  await settings(usual)
})
afterAll(() => lab.close())
afterEach(async () => {
  await settings(usual)
  await lab.gateway.operator.clearFlags()
  await lab.sim.reset()
})

/** A picture of its own for each test: what was described is remembered. */
const newPicture = (): string => Buffer.from(`picture ${++count}`).toString("base64")
const urlOf = (data: string): string => `data:image/png;base64,${data}`
const imageUrl = (data: string) => ({ type: "image_url", image_url: { url: urlOf(data), detail: "high" } })
const image = (data: string) => ({ type: "image", source: { type: "base64", media_type: "image/png", data } })
const says = (content: unknown) => [{ role: "user", content }]
const send = (path: string, body: Body, headers: Headers = {}) => Http.send(lab.gateway.url, { path, headers, body })
const ask = (content: unknown, more: Body = {}, headers: Headers = {}) => send("/v1/chat/completions", { model: BLIND, messages: says(content), ...more }, headers)
const bodiesOf = async (model: string) => (await lab.sim.entries({ model })).map(({ body }) => body as Body)
const toldTo = async (model: string): Promise<string> => (await bodiesOf(model)).map((body) => JSON.stringify(body)).join("\n")
const describes = (text: string, times = 1, more: Body = {}) => lab.sim.rule({ match: { model: seeing }, times, script: { text, ...more } })
const bridged = (reply: Http.Reply) => [reply.status, reply.headers["x-gateway-modality-bridge"]]
const contentOf = (body: Body | undefined): ReadonlyArray<Body> => ((body?.["messages"] ?? []) as ReadonlyArray<{ readonly content: ReadonlyArray<Body> }>)[0]?.content ?? []

describe("a picture for a model that cannot take it", () => {
  const faces: ReadonlyArray<readonly [string, string, (data: string, text: string) => Body]> = [
    ["chat completions", "/v1/chat/completions", (data, text) => ({ model: BLIND, messages: says([{ type: "text", text }, imageUrl(data)]) })],
    ["messages", "/v1/messages", (data, text) => ({ model: BLIND, max_tokens: 50, messages: says([{ ...image(data), cache_control: { type: "ephemeral" } }, { type: "text", text }]) })],
    ["messages, in the result of a tool", "/v1/messages", (data, text) => ({
      model: BLIND, max_tokens: 50, tools: [{ name: "look", input_schema: { type: "object" } }], messages: [
        ...says(text), { role: "assistant", content: [{ type: "tool_use", id: "t1", name: "look", input: {} }] },
        ...says([{ type: "tool_result", tool_use_id: "t1", content: [image(data)] }])
      ]
    })],
    ["responses", "/v1/responses", (data, text) => ({ model: BLIND, input: says([{ type: "input_text", text }, { type: "input_image", image_url: urlOf(data) }]) })],
    ["the local model server", "/v1/api/chat", (data, text) => ({ model: BLIND, stream: false, messages: [{ role: "user", content: text, images: [data] }] })],
    ["generate-content", `/v1beta/models/${BLIND}:generateContent`, (data, text) => ({ contents: [{ role: "user", parts: [{ text }, { inlineData: { mimeType: "image/png", data } }] }] })]
  ]

  it.each(faces)("is described in %s, whatever the size of the body", async (_name, path, body) => {
    await lab.gateway.operator.setFlag("CAPABILITY_FILTER_ENABLED", "true")
    await lab.gateway.operator.setFlag("DISABLE_CONTEXT_WINDOW_CHECKS", "true")
    for (const text of ["What is it?", "What is it? ".repeat(40_000)]) {
      const data = newPicture()
      await describes("A red \"square\"\nwith a line.")
      const reply = await send(path, body(data, text))
      expect(bridged(reply), reply.text.slice(0, 500)).toEqual([200, "describe; described=1"])
      const asked = await toldTo(seeing)
      expect(asked).toContain(data)
      expect(asked).toContain("Describe this picture")
      const told = await toldTo(blind)
      expect(told).toContain("[Image 1]: A red \\\"square\\\"\\nwith a line.")
      expect(told).not.toContain(data)
      await lab.sim.reset()
    }
  })

  it("becomes a part in its place, and all other bytes stay", async () => {
    const data = newPicture()
    await describes("A cat.")
    await ask([{ type: "text", text: "Before" }, imageUrl(data), { type: "text", text: "After" }])
    expect(contentOf((await bodiesOf(blind))[0])).toEqual([{ type: "text", text: "Before" }, { type: "text", text: "[Image 1]: A cat." }, { type: "text", text: "After" }])
    expect(contentOf((await bodiesOf(seeing))[0])[0]).toEqual(imageUrl(data))
  })

  it("is described between parts, and what stands beside them in another format's words is not lost", async () => {
    const data = newPicture()
    await describes("A cup.")
    await ask(null, { messages: [{ role: "user", content: [{ type: "text", text: "Before" }, imageUrl(data)], images: [newPicture()] }] })
    expect(contentOf((await bodiesOf(blind))[0])).toEqual([{ type: "text", text: "Before" }, { type: "text", text: "[Image 1]: A cup." }])
  })

  it("is described for a stream, too", async () => {
    await describes("A dog.")
    const reply = await ask([imageUrl(newPicture())], { stream: true })
    expect(bridged(reply)).toEqual([200, "describe; described=1"])
    expect(await toldTo(blind)).toContain("[Image 1]: A dog.")
  })

  it("costs a call of the key, with a row under the request's id, and the answer says what all calls cost", async () => {
    const { id, key } = await lab.gateway.operator.createKey("pays")
    await describes("A bill.")
    const reply = await ask([imageUrl(newPicture())], {}, { authorization: `Bearer ${key}` })
    const rows = await lab.rows(reply)
    expect(rows.map(({ apiKeyId, requestedModel }) => [apiKeyId, requestedModel]).sort()).toEqual([[id, SEEING], [id, BLIND]])
    const described = rows.find(({ requestedModel }) => requestedModel === SEEING)?.costUsd ?? 0
    expect(described).toBeGreaterThan(0)
    expect(Number(reply.headers["x-gateway-response-cost"])).toBeCloseTo(rows.reduce((sum, { costUsd }) => sum + costUsd, 0), 9)
  })

  it("is described once, and remembered for its key and its prompt alone", async () => {
    const data = newPicture()
    const other = await lab.gateway.operator.createKey("other")
    const silent = await lab.gateway.operator.createKey("silent", { noLog: true })
    const asked = async () => (await bodiesOf(seeing)).length
    for (const _time of [1, 2]) expect(bridged(await ask([imageUrl(data), imageUrl(data)]))).toEqual([200, "describe; described=2"])
    expect(await asked()).toBe(1)
    await ask([imageUrl(data)], {}, { authorization: `Bearer ${other.key}` })
    expect(await asked()).toBe(2)
    await settings({ visionBridgePrompt: "Name its colours." })
    await ask([imageUrl(data)])
    expect(await asked()).toBe(3)
    expect(await toldTo(seeing)).toContain("Name its colours.")
    for (const _time of [1, 2]) await ask([imageUrl(data)], {}, { authorization: `Bearer ${silent.key}` })
    expect(await asked()).toBe(5)
  })
})

describe("a picture that is not described", () => {
  it("beyond visionBridgeMaxImages is named so, and the last ones are described", async () => {
    await settings({ visionBridgeMaxImages: 2 })
    await describes("A leaf.", 2)
    const reply = await ask([1, 2, 3].map(() => imageUrl(newPicture())))
    expect(bridged(reply)).toEqual([200, "describe; described=2; left-out=1"])
    expect(contentOf((await bodiesOf(blind))[0]).map(({ text }) => text)).toEqual([
      "[Image 1]: (not described: the gateway describes 2 pictures of a request, the last ones)", "[Image 2]: A leaf.", "[Image 3]: A leaf."
    ])
  })

  it("because the bridge model fails does not fail the request, and is asked about again", async () => {
    const data = newPicture()
    await lab.sim.rule({ match: { model: seeing }, times: 1, script: { status: 400 } })
    const reply = await ask([imageUrl(data)])
    expect(bridged(reply)).toEqual([200, "describe; described=0; unavailable=1"])
    expect(await toldTo(blind)).toContain("[Image 1]: (unavailable: the picture could not be described)")
    expect((await lab.gateway.operator.raw("GET", "/metrics")).text).toContain("gateway_vision_bridge_pictures_total{outcome=\"unavailable\"} 1")
    expect(bridged(await ask([imageUrl(data)]))).toEqual([200, "describe; described=1"])
  })

  it("because the bridge model says nothing within visionBridgeTimeout does not hold the request", async () => {
    await settings({ visionBridgeTimeout: 50 })
    await lab.sim.rule({ match: { model: seeing }, times: 1, script: { neverHead: true } })
    const reply = await ask([imageUrl(newPicture())])
    expect(bridged(reply)).toEqual([200, "describe; described=0; unavailable=1"])
    expect((await lab.sim.ended({ model: seeing }))[0]?.outcome).not.toBe("open")
  })

  it("because the key may not use the bridge model is unavailable to it", async () => {
    const { key } = await lab.gateway.operator.createKey("narrow", { allowedModels: [BLIND] })
    const reply = await ask([imageUrl(newPicture())], {}, { authorization: `Bearer ${key}` })
    expect(bridged(reply)).toEqual([200, "describe; described=0; unavailable=1"])
    expect(await bodiesOf(seeing)).toEqual([])
  })

  it("because its client leaves ends the question, and asks no model", async () => {
    await lab.sim.rule({ match: { model: seeing }, times: 1, script: { neverHead: true } })
    const { request, response } = Http.open(lab.gateway.url, lab.call({ model: BLIND, messages: says([imageUrl(newPicture())]) }))
    const gone = response.catch(() => null)
    await eventually(() => lab.sim.entries({ model: seeing, outcome: "open" }), ({ length }) => length === 1, "the question")
    request.destroy()
    expect(await gone).toBe(null)
    const [question] = await lab.sim.ended({ model: seeing })
    expect(question?.outcome).toBe("client-aborted")
    expect(await bodiesOf(blind)).toEqual([])
  })
})

describe("pictures stay", () => {
  const isPassed = async (model: string, reply: Http.Reply, data: string): Promise<void> => {
    expect(bridged(reply), reply.text.slice(0, 300)).toEqual([200, undefined])
    expect(await toldTo(model)).toContain(data)
  }

  it("for a model that takes them, in the bytes that the client sent", async () => {
    const data = newPicture()
    await isPassed(seeing, await ask([imageUrl(data)], { model: SEEING }), data)
    expect(await bodiesOf(seeing)).toHaveLength(1)
  })

  it("for a model of which nothing is known, and for a combo of which one model takes them", async () => {
    const [one, two] = [newPicture(), newPicture()]
    await isPassed("unknown", await ask([imageUrl(one)], { model: "lab/unknown" }), one)
    await lab.gateway.operator.call("POST", "/api/combos", { name: "mixed-sight", strategy: "priority", models: [SEEING, BLIND] })
    await isPassed(seeing, await ask([{ type: "text", text: "What is it?" }, imageUrl(two)], { model: "mixed-sight" }), two)
  })

  it("while visionBridgeEnabled is off", async () => {
    await settings({ visionBridgeEnabled: false })
    const data = newPicture()
    await isPassed(blind, await ask([imageUrl(data)]), data)
  })

  it("where the client leaves the guardrail out, unless it may not", async () => {
    const data = newPicture()
    const without = { "x-gateway-disabled-guardrails": "visionBridge" }
    await isPassed(blind, await ask([imageUrl(data)], {}, without), data)
    await settings({ allowGuardrailOptOut: false })
    expect(bridged(await ask([imageUrl(data)], {}, without))).toEqual([200, "describe; described=1"])
  })

  it("in the gateway's own question, though its model is said not to take them", async () => {
    await settings({ visionBridgeModel: BLIND })
    const data = newPicture()
    expect(bridged(await ask([imageUrl(data)]))).toEqual([200, "describe; described=1"])
    const asked = await bodiesOf(blind)
    expect(asked.map((body) => JSON.stringify(body).includes(data))).toEqual([true, false])
  })
})

describe("the client's header", () => {
  it("sends the request to the bridge model itself, unless the key may not use it", async () => {
    const [one, two] = [newPicture(), newPicture()]
    const reroute = { "x-gateway-modality-bridge": "reroute" }
    const reply = await ask([imageUrl(one)], {}, reroute)
    expect([...bridged(reply), reply.headers["x-gateway-model"]]).toEqual([200, "reroute", SEEING])
    expect(await toldTo(seeing)).toContain(one)
    expect((await lab.rows(reply)).map(({ requestedModel }) => requestedModel)).toEqual([BLIND])
    const { key } = await lab.gateway.operator.createKey("narrow-too", { allowedModels: [BLIND] })
    expect(bridged(await ask([imageUrl(two)], {}, { ...reroute, authorization: `Bearer ${key}` }))).toEqual([200, "describe; described=0; unavailable=1"])
  })

  it("that names no way is refused before anything is asked", async () => {
    const refused = await ask([imageUrl(newPicture())], {}, { "x-gateway-modality-bridge": "guess" })
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining("X-Gateway-Modality-Bridge must be auto, describe or reroute")])
    expect(await lab.sim.entries()).toEqual([])
    await describes("A hat.")
    expect(bridged(await ask([imageUrl(newPicture())], {}, { "x-gateway-modality-bridge": "auto" }))).toEqual([200, "describe; described=1"])
  })
})

describe("the guardrails", () => {
  it("read what pictures show", async () => {
    await lab.gateway.operator.setFlag("PII_REDACTION_ENABLED", "true")
    await describes("A card of jane.doe@example.com")
    await ask([imageUrl(newPicture())])
    expect(await toldTo(blind)).toContain("[Image 1]: A card of [EMAIL_REDACTED]")
  })

  it("are listed with the bridge before them, and a trial asks no model", async () => {
    expect(await lab.gateway.operator.call("GET", "/api/guardrails")).toMatchObject({ guardrails: [{ name: "vision-bridge", priority: 5, enabled: true }, { name: "pii-masker" }, {}, {}] })
    const { results } = await lab.gateway.operator.call<{ results: ReadonlyArray<Body> }>("POST", "/api/guardrails/test", { input: { messages: says([imageUrl(newPicture())]) } })
    expect(results[0]).toEqual({ guardrail: "vision-bridge", blocked: false, modified: false, skipped: true })
    expect(await bodiesOf(seeing)).toEqual([])
  })
})

describe("the settings", () => {
  it("need a model where the bridge is on, and name the field that is missing", async () => {
    await settings({ visionBridgeEnabled: false, visionBridgeModel: null })
    const change = (body: Body) => lab.gateway.operator.raw("PATCH", "/api/settings", body)
    for (const body of [{ visionBridgeEnabled: true }, { visionBridgeEnabled: true, visionBridgeModel: " " }]) {
      const refused = await change(body)
      expect([refused.status, refused.text]).toEqual([400, expect.stringContaining("visionBridgeModel")])
    }
    expect((await change({ visionBridgeEnabled: true, visionBridgeModel: SEEING })).status).toBe(200)
    expect((await change({ visionBridgeModel: null })).status).toBe(400)
    expect(await lab.gateway.operator.call("GET", "/api/settings")).toMatchObject({ visionBridgeEnabled: true, visionBridgeModel: SEEING })
  })
})
