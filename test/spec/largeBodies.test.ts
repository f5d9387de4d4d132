/** Large bodies are read by threads of their own: clients and upstreams must not be able to tell. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { errorIn, type Lab, startLab } from "#test/support/lab.ts"
import * as Http from "#test/support/http.ts"

let lab: Lab
let combos = 0
beforeAll(async () => {
  lab = await startLab()
  const { operator } = lab.gateway
  for (const [prefix, node] of [["msg", { type: "anthropic-compatible" }], ["rsp", { type: "openai-compatible", apiType: "responses" }]] as const) {
    const id = await operator.createNode({ prefix, baseUrl: `${lab.sim.url}/v1`, ...node })
    await operator.createConnection({ provider: id, apiKey: "sk-large-bodies" })
  }
})
afterAll(() => lab.close())

const combo = async (models: ReadonlyArray<string>, more: Readonly<Record<string, unknown>> = {}): Promise<string> => {
  const name = `large-${++combos}`
  await lab.gateway.operator.call("POST", "/api/combos", { name, strategy: "priority", models: models.map((model) => ({ kind: "model", model })), ...more })
  return name
}

/** Far above what the loop's own thread reads. */
const padding = "é\\ \"x\" ".repeat(60_000)
const short = "é\\ \"x\" ".repeat(10)

const user = (content: unknown) => ({ role: "user", content })
const tool = { type: "function", function: { name: "look", description: "Looks.", parameters: { type: "object", properties: { at: { type: "string" } } } } }

type Say = (model: string, text: string) => { readonly path: string; readonly body: Readonly<Record<string, unknown>> }
const faces: ReadonlyArray<readonly [string, Say]> = [
  ["chat-completions", (model, text) => ({ path: "/v1/chat/completions", body: { model, temperature: 0.5, messages: [{ role: "system", content: "Be brief." }, user(text), user([{ type: "text", text: "and" }])], tools: [tool], x_own: [1.0, null] } })],
  ["messages", (model, text) => ({ path: "/v1/messages", body: { model, max_tokens: 50, system: "Be brief.", messages: [user(text), { role: "assistant", content: "so" }, user("on")] } })],
  ["responses", (model, text) => ({ path: "/v1/responses", body: { model, instructions: "Be brief.", input: [{ type: "message", role: "user", content: text }], metadata: { a: "b" } } })],
  ["completions", (model, text) => ({ path: "/v1/completions", body: { model, prompt: text } })],
  ["local-model-server", (model, text) => ({ path: "/v1/api/chat", body: { model, stream: false, messages: [user(text)], options: { temperature: 0 } } })],
  ["generateContent", (model, text) => ({ path: `/v1beta/models/${model}:generateContent`, body: { contents: [{ role: "user", parts: [{ text }] }], generationConfig: { temperature: 0.5 } } })]
]

/** What the upstream was sent, with the padding shortened. */
const sent = async (model: string): Promise<string> => {
  const entry = (await lab.sim.entries({ model })).at(-1)
  return JSON.stringify(entry?.body).replaceAll(JSON.stringify(padding).slice(1, -1), JSON.stringify(short).slice(1, -1))
}

const withoutIds = (text: string): unknown => JSON.parse(text, (key, value: unknown) => ["id", "created", "created_at", "completed_at", "responseId", "total_duration", "eval_duration", "prompt_eval_duration", "load_duration", "usage", "usageMetadata", "prompt_eval_count"].includes(key) ? null : value)

describe.each(faces)("a large body of the format %s", (face, say) => {
  it.each(["lab", "msg", "rsp"])("is said to %s as a small one is, and answered so", async (node) => {
    const models = { small: `small-${face}-${node}`, large: `large-${face}-${node}` }
    const small = await Http.send(lab.gateway.url, say(`${node}/${models.small}`, short))
    const large = await Http.send(lab.gateway.url, say(`${node}/${models.large}`, padding))
    expect([small.status, large.status]).toEqual([200, 200])
    expect(await sent(models.large)).toBe((await sent(models.small)).replaceAll(models.small, models.large))
    const shown = JSON.stringify(withoutIds(large.text)).replaceAll(models.large, models.small)
    if (face !== "responses") expect(shown.length).toBeGreaterThan(0)
    expect(Object.keys(JSON.parse(large.text) as object)).toEqual(Object.keys(JSON.parse(small.text) as object))
  })

  it("is refused for a head that is wrong as a small one is", async () => {
    const { body, path } = say("lab/echo", padding)
    const list = ["messages", "input", "contents", "prompt"].find((name) => name in body) as string
    const ask = (text: string) => Http.send(lab.gateway.url, { path, body: { ...body, [list]: 7, x_padding: text } })
    const [small, large] = [await ask(short), await ask(padding)]
    expect([large.status, large.text]).toEqual([400, small.text])
  })
})

describe("a large request", () => {
  it("is broken JSON, or none, as a small one is", async () => {
    const ask = (body: string) => Http.send(lab.gateway.url, { path: "/v1/chat/completions", body })
    const broken = await ask(`{"model":"lab/echo","x":${JSON.stringify(padding)}`)
    expect([broken.status, errorIn(broken)["code"], errorIn(broken)["param"]]).toEqual([400, "invalid_json", "body"])
    expect(errorIn(await ask(JSON.stringify([padding])))).toMatchObject({ code: "bad_request", param: "body", message: "The request body must be a JSON object." })
    const many = await ask(`{"model":"lab/echo","x":[${"{},".repeat(250_000)}{}]}`)
    expect(errorIn(many)).toMatchObject({ code: "bad_request", param: "body", message: expect.stringContaining("200000 objects and lists") })
  })

  it("with many small objects in few bytes is read as any other", async () => {
    const messages = Array.from({ length: 6_000 }, () => user("y"))
    expect((await lab.chat({ model: "msg/many-objects", messages })).status).toBe(200)
    const [entry] = await lab.sim.entries({ model: "many-objects" })
    expect(JSON.stringify(entry?.body).match(/"y"/g)?.length).toBe(6_000)
  })

  it("streams, and goes on at another family when the first one fails", async () => {
    const name = await combo(["lab/error-503", "msg/tokens-3"])
    const opened = await lab.stream({ model: `combo/${name}`, messages: [user(padding)] })
    const { text } = await opened.ended
    expect([opened.status, text.includes("[DONE]")]).toEqual([200, true])
    expect(await sent("tokens-3")).toContain(JSON.stringify(short).slice(1, -1))
  })

  it("takes its combo's words and rules", async () => {
    const name = await combo(["lab/ruled-words"], { system_message: "Say it in verse." })
    expect((await lab.chat({ model: `combo/${name}`, messages: [user(padding)] })).status).toBe(200)
    expect(await sent("ruled-words")).toContain("Say it in verse.")
  })

  it("is asked of several models", async () => {
    const name = await combo(["lab/tokens-2", "msg/tokens-2"], { strategy: "fusion" })
    expect((await lab.chat({ model: `combo/${name}`, messages: [user(padding)] })).status).toBe(200)
    const many = await lab.chat({ model: `combo/${name}`, messages: Array.from({ length: 12_000 }, () => user("y")) })
    expect([many.status, errorIn(many)["code"]]).toEqual([413, "payload_too_large"])
  })

  it("is answered from the cache, and repeated by its name, only when it is the same", async () => {
    const ask = (model: string, end: string, headers: Record<string, string> = {}) =>
      lab.chat({ model, temperature: headers["idempotency-key"] === undefined ? 0 : 1, messages: [user(padding + end)] }, headers)
    // An answer that is large itself would not be kept.
    await lab.sim.rule({ match: { model: "cached" }, script: { tokens: 5 } })
    const first = await ask("cached", "a")
    const second = await ask("cached", "a")
    expect([first.headers["x-gateway-cache"], second.headers["x-gateway-cache"], second.text]).toEqual(["MISS", "HIT", first.text])
    expect((await ask("cached", "b")).headers["x-gateway-cache"]).toBe("MISS")
    const named = { "idempotency-key": "large" }
    const one = await ask("named", "a", named)
    const two = await ask("named", "a", named)
    expect([two.headers["x-gateway-idempotent"], two.text]).toEqual(["true", one.text])
    expect((await ask("named", "b", named)).status).toBe(409)
  })

  it("may be the usage command at the end of a long history", async () => {
    const { key } = await lab.gateway.operator.createKey("asks", { allowUsageCommand: true })
    const reply = await lab.chat({ model: "history", messages: [user(padding), { role: "assistant", content: "yes" }, user("/usage")] }, { authorization: `Bearer ${key}` })
    expect([reply.status, reply.headers["x-gateway-decision"]]).toEqual([200, "strategy=usage-command"])
  })

  it("is counted", async () => {
    const ask = (text: string) => Http.send(lab.gateway.url, { path: "/v1/messages/count_tokens", body: { model: "lab/echo", messages: [user(text)] } })
    const [small, large] = [await ask(short), await ask(padding)]
    expect(large.status).toBe(200)
    const tokens = ({ text }: Http.Reply): number => (JSON.parse(text) as { input_tokens: number }).input_tokens
    expect(tokens(large)).toBeGreaterThan(1_000 * tokens(small))
    const refused = await Http.send(lab.gateway.url, { path: "/v1/messages/count_tokens", body: { model: "lab/echo", messages: [{ role: "nobody", content: padding }] } })
    expect([refused.status, errorIn(refused)["type"]]).toEqual([400, "invalid_request_error"])
  })

  it("is counted however many parts it has, and its provider is sent what a small one would be", async () => {
    const messages = Array.from({ length: 12_000 }, () => user("some words"))
    const ask = (model: string) => Http.send(lab.gateway.url, { path: "/v1/messages/count_tokens", body: { model, disabledGuardrails: ["a"], messages } })
    const estimated = await ask("lab/echo")
    expect([estimated.status, (JSON.parse(estimated.text) as { source: string }).source]).toEqual([200, "estimated"])
    const provided = await ask("msg/counted-parts")
    expect([provided.status, (JSON.parse(provided.text) as { source: string }).source]).toEqual([200, "provider"])
    const [entry] = await lab.sim.entries({ model: "counted-parts" })
    expect(entry?.body).toEqual({ model: "counted-parts", messages })
    const contents = Array.from({ length: 12_000 }, () => ({ role: "user", parts: [{ text: "some words" }] }))
    const generate = await Http.send(lab.gateway.url, { path: "/v1beta/models/lab/echo:countTokens", body: { contents } })
    expect(generate.status).toBe(200)
    expect((JSON.parse(generate.text) as { totalTokens: number }).totalTokens).toBeGreaterThan(20_000)
  })
})

describe("bytes of bodies that are held at once", () => {
  it("are bounded: beyond the cap 503 with Retry-After, and room again when they are let go", async () => {
    const full = await startLab({ environment: { GATEWAY_MAX_HELD_BODY_BYTES: "1500000" } })
    try {
      const body = [user("y".repeat(700_000))]
      const held = [await full.stream({ model: "hang", messages: body }), await full.stream({ model: "hang", messages: body })]
      expect(held.map(({ status }) => status)).toEqual([200, 200])
      const refused = await full.chat({ model: "tokens-1", messages: body })
      expect([refused.status, refused.headers["retry-after"], errorIn(refused)["code"]]).toEqual([503, "1", "service_unavailable"])
      expect(errorIn(refused)["message"]).toContain("GATEWAY_MAX_HELD_BODY_BYTES")
      // Small requests go on.
      expect((await full.chat({ model: "tokens-1" })).status).toBe(200)
      const metrics = (await Http.send(full.gateway.url, { path: "/metrics" })).text
      expect(metrics).toMatch(/^gateway_held_body_bytes_max 1500000$/m)
      expect(metrics).toMatch(/^gateway_held_body_refusals_total [1-9]/m)
      for (const stream of held) stream.leave()
      await full.sim.ended({ model: "hang" }, 2)
      await full.gateway.operator.settled()
      expect((await full.chat({ model: "tokens-1", messages: body })).status).toBe(200)
    } finally {
      await full.close()
    }
  })

  it("are let go at the first words of an answer", async () => {
    const opened = await lab.stream({ model: "stall-2", messages: [user(padding)] })
    await opened.until((text) => text.includes("content"))
    expect((await Http.send(lab.gateway.url, { path: "/metrics" })).text).toMatch(/^gateway_held_body_bytes 0$/m)
    opened.leave()
  })
})
