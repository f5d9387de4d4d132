/** Flag CAPABILITY_FILTER_ENABLED: models that are known to lack what a request cannot do without are not asked, over HTTP. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { type Combos, combosOf } from "#test/support/combos.ts"
import * as Http from "#test/support/http.ts"
import { errorIn, type Lab, startLab } from "#test/support/lab.ts"

let lab: Lab
let combos: Combos
beforeAll(async () => {
  lab = await startLab()
  combos = combosOf(lab, "able")
  for (const provider of ["openai", "groq", "perplexity", "mistral"]) {
    await lab.gateway.operator.createConnection({ provider, apiKey: `sk-able-${provider}-0000000001`, providerSpecificData: { baseUrl: `${lab.sim.url}/v1` } })
  }
  await lab.gateway.operator.setFlag("CAPABILITY_FILTER_ENABLED", "true")
})
afterAll(() => lab.close())
afterEach(() => lab.gateway.operator.setFlag("CAPABILITY_FILTER_ENABLED", "true"))

type Body = Record<string, unknown>
/** Models of the registry: one that sees and one that does not. */
const [seeing, blind] = ["openai/gpt-4o", "openai/o3-mini"]
const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
const url = `data:image/png;base64,${PIXEL}`
const picture = [{ type: "text", text: "What is it?" }, { type: "image_url", image_url: { url } }]
const sound = [{ type: "text", text: "What is it?" }, { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } }]
const says = (content: unknown) => [{ role: "user", content }]
const send = (path: string, body: Body, headers: Readonly<Record<string, string>> = {}) => Http.send(lab.gateway.url, { path, headers, body })
const ask = (model: string, content: unknown, more: Body = {}, headers: Readonly<Record<string, string>> = {}) => send("/v1/chat/completions", { model, messages: says(content), ...more }, headers)
const calls = async () => (await lab.sim.entries()).length
const refusedFor = (reply: Http.Reply) => {
  const error = reply.status === 200 ? {} : errorIn(reply)
  return [reply.status, error["code"] ?? reply.text.slice(0, 300), error["missing"], error["allMissing"]]
}
const tools = [{ type: "function", function: { name: "look", parameters: { type: "object", properties: {} } } }]
const schema = { type: "json_schema", json_schema: { name: "answer", schema: { type: "object", properties: {}, additionalProperties: false } } }

describe("the capability filter", () => {
  it("is off at first: the upstream judges", async () => {
    await lab.gateway.operator.setFlag("CAPABILITY_FILTER_ENABLED", "false")
    expect((await ask(blind, picture)).status).toBe(200)
    await lab.gateway.operator.setFlag("CAPABILITY_FILTER_ENABLED", "true")
    expect((await ask(blind, picture)).status).toBe(400)
  })

  it.each<readonly [string, string, (model: string) => Body]>([
    ["chat completions", "/v1/chat/completions", (model) => ({ model, messages: says(picture) })],
    ["messages", "/v1/messages", (model) => ({ model, max_tokens: 50, messages: says([{ type: "image", source: { type: "base64", media_type: "image/png", data: PIXEL } }]) })],
    ["messages, in the result of a tool", "/v1/messages", (model) => ({
      model, max_tokens: 50, tools: [{ name: "look", input_schema: { type: "object" } }], messages: [
        ...says("Look"), { role: "assistant", content: [{ type: "tool_use", id: "t1", name: "look", input: {} }] },
        ...says([{ type: "tool_result", tool_use_id: "t1", content: [{ type: "image", source: { type: "base64", media_type: "image/png", data: PIXEL } }] }])
      ]
    })],
    ["responses", "/v1/responses", (model) => ({ model, input: says([{ type: "input_image", image_url: url }]) })],
    ["the local model server", "/v1/api/chat", (model) => ({ model, stream: false, messages: [{ role: "user", content: "What is it?", images: [PIXEL] }] })]
  ])("refuses pictures for a model that does not see, in %s, before anything is sent", async (_name, path, body) => {
    const before = await calls()
    const reply = await send(path, body(blind))
    expect([reply.status, await calls() - before]).toEqual([400, 0])
    expect(reply.text).toContain("vision")
    expect((await send(path, body(seeing))).status).toBe(200)
  })

  it("says so in generateContent's own words", async () => {
    const contents = [{ role: "user", parts: [{ text: "What is it?" }, { inlineData: { mimeType: "image/png", data: PIXEL } }] }]
    const reply = await send(`/v1beta/models/${blind}:generateContent`, { contents })
    expect(JSON.parse(reply.text)).toMatchObject({ error: { code: 400, status: "INVALID_ARGUMENT", details: [{ reason: "capability_unsupported" }] } })
    expect((await send(`/v1beta/models/${seeing}:generateContent`, { contents })).status).toBe(200)
  })

  it("names what is missing: tools, a schema, sounds", async () => {
    expect(refusedFor(await ask(blind, picture))).toEqual([400, "capability_unsupported", "vision", ["vision"]])
    expect(refusedFor(await ask("perplexity/sonar", "hi", { tools }))).toEqual([400, "capability_unsupported", "tools", ["tools"]])
    expect(refusedFor(await ask("groq/llama-3.3-70b-versatile", "hi", { response_format: schema }))).toEqual([400, "capability_unsupported", "structured_output", ["structured_output"]])
    expect(refusedFor(await ask(seeing, sound))).toEqual([400, "capability_unsupported", "audio", ["audio"]])
    expect(refusedFor(await ask("groq/llama-3.3-70b-versatile", picture, { response_format: schema }))).toEqual([400, "capability_unsupported", "vision", ["vision", "structured_output"]])
  })

  it("refuses nothing that is a guess", async () => {
    const passes: ReadonlyArray<readonly [string, string, unknown, Body]> = [
      ["a word about a picture", blind, 'He wrote {"type":"image"} and "image_url"', {}],
      ["JSON of any shape", "groq/llama-3.3-70b-versatile", "say json", { response_format: { type: "json_object" } }],
      ["a vendor that says nothing of schemas", "mistral/codestral-latest", "hi", { response_format: schema }],
      ["a model of which nothing is known", "lab/anything", picture, { tools, response_format: schema }]
    ]
    for (const [what, model, content, more] of passes) expect((await ask(model, content, more)).status, what).toBe(200)
    // A property of a tool that is called like a part of a message.
    expect((await ask(blind, "hi", { tools: [{ type: "function", function: { name: "draw", parameters: { type: "object", properties: { content: { type: "image" } } } } }] })).status).toBe(200)
  })

  it("believes what the operator says of a model of their own", async () => {
    const own = async (modelId: string, supportsVision: boolean | null, provider = "lab") => {
      await lab.gateway.operator.call("POST", "/api/provider-models", { provider, modelId, supportsVision })
      return `${provider}/${modelId}`
    }
    expect([(await ask(await own("sees-not", false), picture)).status, (await ask(await own("sees", true), picture)).status, (await ask(await own("may-see", null), picture)).status]).toEqual([400, 200, 200])
    expect((await ask(await own("codestral-2508", true, "mistral"), picture)).status).toBe(200)
  })

  it("finds pictures of large requests, whose bodies a thread reads", async () => {
    const long = "word ".repeat(60_000)
    const content = [{ type: "text", text: "x" }, { type: "image_url", image_url: { url } }]
    const messages = [...says(content), { role: "assistant", content: "I see." }, ...says(`${long}${long}`)]
    expect(refusedFor(await send("/v1/chat/completions", { model: blind, messages: messages.map((one) => ({ ...one })) }))[1]).toMatch(/capability_unsupported|context_length_exceeded/)
    await lab.gateway.operator.setFlag("DISABLE_CONTEXT_WINDOW_CHECKS", "true")
    expect(refusedFor(await send("/v1/chat/completions", { model: blind, messages })).slice(0, 3)).toEqual([400, "capability_unsupported", "vision"])
    expect((await send("/v1/chat/completions", { model: seeing, messages })).status).toBe(200)
    await lab.gateway.operator.setFlag("DISABLE_CONTEXT_WINDOW_CHECKS", "false")
  })
})

describe("a combo under the capability filter", () => {
  it.each(["priority", "round-robin", "weighted", "cost-optimized", "auto"])("passes over the targets that cannot serve (%s), and says so", async (strategy) => {
    const combo = await combos.combo(strategy, [blind, seeing])
    for (let i = 0; i < 3; i++) {
      const reply = await ask(combo, picture, {}, { "x-gateway-explain": "true" })
      expect([reply.status, reply.headers["x-gateway-model"], reply.headers["x-gateway-fallback-attempts"]]).toEqual([200, seeing, undefined])
      expect(JSON.parse(reply.headers["x-gateway-trace"] ?? "{}")).toMatchObject({ skipped: [{ target: "oai/o3-mini", reason: "capability-missing" }] })
    }
    expect((await ask(combo, "hello")).status).toBe(200)
  })

  it("a prompt that only says the word holds no picture", async () => {
    await lab.gateway.operator.setFlag("CAPABILITY_FILTER_ENABLED", "false")
    const combo = await combos.combo("priority", [blind, seeing])
    expect((await ask(combo, 'Is "image_url" a word?')).headers["x-gateway-model"]).toBe(blind)
    expect((await ask(combo, picture)).headers["x-gateway-model"]).toBe(seeing)
  })

  it("is refused when no target is left; without the flag one of them is asked", async () => {
    const combo = await combos.combo("priority", [blind, "groq/llama-3.3-70b-versatile"])
    const before = await calls()
    const reply = await ask(combo, picture, { response_format: schema })
    expect([...refusedFor(reply), await calls() - before]).toEqual([400, "capability_unsupported", "vision", ["vision", "structured_output"], 0])
    expect(errorIn(reply)["diagnostics"]).toMatchObject({ poolSize: 2, attempted: 0, excluded: [{ model: blind, reason: "capability-missing" }, { reason: "capability-missing" }] })
    await lab.gateway.operator.setFlag("CAPABILITY_FILTER_ENABLED", "false")
    expect((await ask(combo, picture, { response_format: schema })).status).toBe(200)
  })

  it("names the context window where the other targets are too small", async () => {
    await lab.gateway.operator.call("POST", "/api/provider-models", { provider: "lab", modelId: "small", contextWindowOverride: 1_000 })
    const combo = await combos.combo("priority", [blind, "lab/small"])
    expect(refusedFor(await ask(combo, [...picture, { type: "text", text: "The quick brown fox jumps over the lazy dog. ".repeat(600) }]))).toEqual([
      400, "capability_unsupported", "vision", ["vision", "context_window"]
    ])
  })

  it("goes on behind a combo within it of which no target can serve", async () => {
    const inner = await combos.combo("priority", [blind])
    const outer = await combos.combo("priority", [{ kind: "combo-ref", comboName: inner.replace("combo/", "") }, seeing], { config: { nestedComboMode: "execute" } })
    const reply = await ask(outer, picture)
    expect([reply.status, reply.headers["x-gateway-model"]]).toEqual([200, seeing])
  })

  it("demands no tools that the combo takes away, and nothing of a pipeline's stages", async () => {
    const without = await combos.combo("priority", ["perplexity/sonar"], { tool_filter_regex: "^nothing$" })
    expect((await ask(without, "hi", { tools })).status).toBe(200)
    expect((await ask(await combos.combo("priority", ["perplexity/sonar"]), "hi", { tools })).status).toBe(400)
    expect((await ask(await combos.combo("pipeline", [seeing, blind]), sound)).status).toBe(200)
  })
})
