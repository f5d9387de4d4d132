/** A prompt that certainly does not fit its model's context window is refused before any upstream is called, in the client's own words. */
import { countTokens } from "gpt-tokenizer/encoding/o200k_base"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { answerOf, type Combos, combosOf, type Place } from "#test/support/combos.ts"
import { errorIn, type Lab, startLab } from "#test/support/lab.ts"
import * as Http from "#test/support/http.ts"

let lab: Lab
let combos: Combos
beforeAll(async () => {
  lab = await startLab()
  combos = combosOf(lab, "window")
})
afterAll(() => lab.close())

const WINDOW = 4_000
const sentence = "The quick brown fox jumps over the lazy dog. "
/** About 20,000 tokens, of which 11,000 are certain; and far more than the loop's own thread reads. */
const long = sentence.repeat(2_000)
const longest = sentence.repeat(8_000)
/** Fits, though its bytes alone would not say so. */
const fitting = sentence.repeat(600)

let made = 0
const modelOf = async (contextWindowOverride: number, provider = "lab"): Promise<{ readonly id: string; readonly upstream: string }> => {
  const upstream = `windowed-${++made}`
  await lab.gateway.operator.call("POST", "/api/provider-models", { provider, modelId: upstream, contextWindowOverride })
  return { id: `${provider}/${upstream}`, upstream }
}
const seen = async (upstream: string): Promise<number> => (await lab.sim.entries({ model: upstream })).length

type Say = (model: string, text: string) => { readonly path: string; readonly body: Record<string, unknown> }
const user = (content: unknown) => ({ role: "user", content })
const faces: ReadonlyArray<readonly [face: string, say: Say, words: RegExp, more: Record<string, unknown>]> = [
  ["chat-completions", (model, text) => ({ path: "/v1/chat/completions", body: { model, messages: [user(text)] } }),
    /^This model's maximum context length is 4000 tokens\. However, your messages resulted in (\d+) tokens\.$/, { code: "context_length_exceeded", type: "invalid_request_error", param: "messages" }],
  ["chat-completions of one provider", (model, text) => ({ path: "/v1/providers/lab/chat/completions", body: { model, messages: [user(text)] } }),
    /^This model's maximum context length is 4000 tokens\. However, your messages resulted in (\d+) tokens\.$/, { code: "context_length_exceeded" }],
  ["messages", (model, text) => ({ path: "/v1/messages", body: { model, max_tokens: 50, messages: [user(text)] } }),
    /^prompt is too long: (\d+) tokens > 4000 maximum$/, { type: "invalid_request_error", code: "context_length_exceeded" }],
  ["responses", (model, text) => ({ path: "/v1/responses", body: { model, input: [{ role: "user", content: [{ type: "input_text", text }] }] } }),
    /^This model's maximum context length is 4000 tokens\. However, your messages resulted in (\d+) tokens\.$/, { code: "context_length_exceeded", type: "invalid_request_error", param: "input" }],
  ["completions", (model, text) => ({ path: "/v1/completions", body: { model, prompt: text } }),
    /^This model's maximum context length is 4000 tokens\. However, your messages resulted in (\d+) tokens\.$/, { code: "context_length_exceeded" }],
  ["generateContent", (model, text) => ({ path: `/v1beta/models/${model}:generateContent`, body: { contents: [{ role: "user", parts: [{ text }] }] } }),
    /^The input token count \((\d+)\) exceeds the maximum number of tokens allowed \(4000\)\.$/, { code: 400, status: "INVALID_ARGUMENT" }],
  ["local-model-server", (model, text) => ({ path: "/v1/api/chat", body: { model, messages: [user(text)] } }),
    /^prompt is too long: (\d+) tokens exceed the context window of 4000 tokens$/, {}]
]

describe.each(faces)("a client of the format %s", (_face, say, words, more) => {
  it.each([["small", long, 10_999], ["large", longest, 43_999]])("hears in its vendor's words that the prompt of a %s body is too long, and no upstream hears of it", async (_size, text, tokens) => {
    const { id, upstream } = await modelOf(WINDOW)
    const reply = await Http.send(lab.gateway.url, say(id, text))
    expect(reply.status).toBe(400)
    const { error } = JSON.parse(reply.text) as { error: string | Record<string, unknown> }
    const message = typeof error === "string" ? error : String(error["message"])
    expect(message).toMatch(words)
    expect(Number(words.exec(message)?.[1])).toBe(tokens)
    if (typeof error !== "string") expect(error).toMatchObject(more)
    expect(await seen(upstream)).toBe(0)
    expect(await lab.gateway.rows(reply.headers["x-gateway-request-id"] ?? "")).toEqual([])
  })

  it.each([["fits", fitting, 12_000], ["is long, for a model of unknown window", long, null]])("is served when the prompt %s", async (_how, text, window) => {
    const id = window === null ? `lab/unknown-${++made}` : (await modelOf(window)).id
    expect((await Http.send(lab.gateway.url, say(id, text))).status).toBe(200)
  })
})

const chat = (model: string, content: unknown, headers: Record<string, string> = {}) => lab.chat({ model, messages: [user(content)] }, headers)

describe("the check of context windows", () => {
  it("is said before a stream begins, and counted as a refusal of the gateway", async () => {
    const { id } = await modelOf(WINDOW)
    const refused = async () => {
      const { text } = await Http.send(lab.gateway.url, { path: "/metrics" })
      return Number(/^gateway_requests_total\{endpoint="\/v1\/chat\/completions",status="400"\} (\d+)$/m.exec(text)?.[1] ?? 0)
    }
    const before = await refused()
    const reply = await lab.chat({ model: id, stream: true, messages: [user(long)] }, { "x-gateway-explain": "true" })
    expect([reply.status, errorIn(reply)["code"]]).toEqual([400, "context_length_exceeded"])
    expect(JSON.parse(reply.headers["x-gateway-trace"] ?? "null")).toMatchObject({ order: [], skipped: [{ target: id, reason: "context-too-small", until: null }] })
    expect(await refused()).toBe(before + 1)
  })

  it("is off with DISABLE_CONTEXT_WINDOW_CHECKS, and on again without", async () => {
    const { id } = await modelOf(WINDOW)
    const combo = await combos.combo("priority", [id])
    const both = async () => [(await chat(id, long)).status, (await chat(combo, longest)).status]
    expect(await both()).toEqual([400, 400])
    await lab.gateway.operator.setFlag("DISABLE_CONTEXT_WINDOW_CHECKS", "true")
    expect(await both()).toEqual([200, 200])
    await lab.gateway.operator.clearFlags()
    expect(await both()).toEqual([400, 400])
  })

  it("asks nobody to refuse a prompt that is sent shorter, and prefers a model that it fits as it is", async () => {
    const put = (change: Record<string, unknown>) => lab.gateway.operator.call("PUT", "/api/settings/compression", change)
    const [small, large] = [await modelOf(WINDOW), await modelOf(1_000_000)]
    const [both, alone] = [await combos.combo("priority", [small.id, large.id]), await combos.combo("priority", [small.id])]
    await put({ enabled: true })
    try {
      expect((await chat(small.id, longest)).status).toBe(400)
      for (const text of [long, longest]) {
        const before = await seen(small.upstream)
        expect((await chat(small.id, text, { "x-gateway-compression": "engine:lite" })).status).toBe(200)
        expect((await chat(alone, text, { "x-gateway-compression": "engine:lite" })).status).toBe(200)
        expect(await seen(small.upstream)).toBe(before + 2)
        expect((await chat(both, text, { "x-gateway-compression": "engine:lite" })).status).toBe(200)
        expect(await seen(small.upstream)).toBe(before + 2)
        expect((await chat(alone, text)).status).toBe(400)
      }
    } finally {
      await put({ enabled: false })
    }
  })

  it("reads the registry's windows, by any name of the model, and the operator's own word first", async () => {
    const { operator } = lab.gateway
    await operator.createConnection({ provider: "openai", apiKey: "sk-context-windows-01", providerSpecificData: { baseUrl: `${lab.sim.url}/v1` } })
    const text = sentence.repeat(30_000)
    for (const model of ["openai/gpt-4o", "gpt-4o", "openai/gpt-4o-2024-08-06"]) {
      const reply = await Http.send(lab.gateway.url, { path: "/v1/chat/completions", body: { model, messages: [user(text)] } })
      expect([reply.status, errorIn(reply)["message"]]).toEqual([400, expect.stringContaining("is 128000 tokens")])
    }
    await operator.call("PUT", "/api/provider-models", { provider: "openai", modelId: "gpt-4o", contextWindowOverride: 1_000_000 })
    expect((await chat("openai/gpt-4o", text)).status).toBe(200)
  })

  it("does not feed breaker or cooldown, and does not stand in the way of a count", async () => {
    const awake = await startLab({ resilience: "awake" })
    try {
      await awake.gateway.operator.call("POST", "/api/provider-models", { provider: "lab", modelId: "few", contextWindowOverride: WINDOW })
      for (let i = 0; i < 12; i++) expect((await awake.chat({ model: "few", messages: [user(long)] })).status).toBe(400)
      expect((await awake.chat({ model: "few" })).status).toBe(200)
      const count = await Http.send(awake.gateway.url, { path: "/v1/messages/count_tokens", body: { model: "lab/few", messages: [user(long)] } })
      expect([count.status, (JSON.parse(count.text) as { input_tokens: number }).input_tokens > WINDOW]).toEqual([200, true])
      const generated = await Http.send(awake.gateway.url, { path: "/v1beta/models/lab/few:countTokens", body: { contents: [{ parts: [{ text: long }] }] } })
      expect(generated.status).toBe(200)
    } finally {
      await awake.close()
    }
  })
})

describe("what is never refused", () => {
  const image = { type: "image_url", image_url: { url: `data:image/png;base64,${Buffer.alloc(600_000, 7).toString("base64")}` } }
  it.each<readonly [string, unknown]>([
    ["media of many bytes", [image, { type: "text", text: "What is it?" }]],
    ["a long run of blanks", `begin${" ".repeat(300_000)}end`],
    ["a long run of lines", `begin${"\n".repeat(300_000)}end`],
    ["one sign for long", `${"-".repeat(60_000)} ${"=".repeat(60_000)}`],
    ["escapes that are longer than what they stand for", "\u0001\u001f\u0002".repeat(30_000)]
  ])("%s", async (_what, content) => {
    const { id } = await modelOf(WINDOW)
    expect((await chat(id, content)).status).toBe(200)
  })

  it("a text that fits, of a language and a spelling of many bytes for a token", async () => {
    const { id } = await modelOf(WINDOW)
    const text = "人工智能正在改变我们的生活方式，越来越多的企业开始使用大型语言模型来提高效率。".repeat(180)
    expect(countTokens(text)).toBeLessThan(WINDOW)
    // As many JSON writers spell it by default.
    const body = JSON.stringify({ model: id, messages: [user(text)] })
      .replaceAll(/[^\x20-\x7e]/g, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`)
    expect(body.length).toBeGreaterThan(8 * WINDOW)
    const reply = await Http.send(lab.gateway.url, { path: "/v1/chat/completions", body })
    expect(reply.status).toBe(200)
  })

  it("a prompt that its client lets the vendor shorten, in a small body or a large one", async () => {
    const { id } = await modelOf(WINDOW)
    const ask = (text: string, truncation: string) => Http.send(lab.gateway.url, { path: "/v1/responses", body: { model: id, input: text, truncation } })
    for (const text of [long, longest]) {
      expect((await ask(text, "auto")).status).toBe(200)
      expect((await ask(text, "disabled")).status).toBe(400)
    }
  })

  it("a prompt for the longer window that a beta of the messages format gives", async () => {
    const node = await lab.gateway.operator.createNode({ prefix: "betas", type: "anthropic-compatible", baseUrl: `${lab.sim.url}/v1` })
    await lab.gateway.operator.createConnection({ provider: node, apiKey: "sk-context-windows-02" })
    const { id } = await modelOf(WINDOW, "betas")
    const ask = (headers: Record<string, string>) =>
      Http.send(lab.gateway.url, { path: "/v1/messages", headers, body: { model: id, max_tokens: 10, messages: [user(long)] } })
    expect((await ask({})).status).toBe(400)
    expect((await ask({ "anthropic-beta": "context-1m-2025-08-07" })).status).toBe(200)
  })
})

describe("a combo", () => {
  const windowed = async (contextWindowOverride: number, script: Record<string, unknown> = {}): Promise<Place> => {
    const place = await combos.place(script)
    await lab.gateway.operator.call("POST", "/api/provider-models", { provider: place.name, modelId: place.upstream, contextWindowOverride })
    return place
  }

  it.each(["priority", "round-robin", "weighted", "cost-optimized", "auto", "context-optimized"])("with strategy %s passes over targets that are too small for the prompt", async (strategy) => {
    const [small, large] = [await windowed(WINDOW), await windowed(64_000)]
    const model = await combos.combo(strategy, [small.model, large.model])
    for (let i = 0; i < 3; i++) {
      const reply = await chat(model, long, { "x-gateway-explain": "true" })
      expect(answerOf(reply)).toBe(large.name)
      expect(JSON.parse(reply.headers["x-gateway-trace"] ?? "null")).toMatchObject({ skipped: [{ target: small.model, reason: "context-too-small" }] })
    }
    expect(await combos.seen(small)).toEqual([])
    expect((await chat(model, "short")).status).toBe(200)
  })

  it("is refused when every target is too small, by the largest window, with the reasons", async () => {
    const [small, larger] = [await windowed(WINDOW), await windowed(8_000)]
    const model = await combos.combo("priority", [small.model, larger.model])
    const reply = await chat(model, long)
    expect([reply.status, reply.headers["x-gateway-combo-excluded"]]).toEqual([400, "2"])
    expect(errorIn(reply)).toMatchObject({
      code: "context_length_exceeded", message: expect.stringContaining("is 8000 tokens") as unknown,
      diagnostics: { attempted: 0, excluded: [{ model: small.model, reason: "context-too-small" }, { model: larger.model, reason: "context-too-small" }] }
    })
    const messages = await Http.send(lab.gateway.url, { path: "/v1/messages", body: { model, max_tokens: 5, messages: [user(longest)] } })
    expect([messages.status, errorIn(messages)["message"]]).toEqual([400, "prompt is too long: 43999 tokens > 8000 maximum"])
    expect([...await combos.seen(small), ...await combos.seen(larger)]).toEqual([])
  })

  it("asks a target of unknown window, and falls back to no target that is too small", async () => {
    const [small, unknown] = [await windowed(WINDOW), await combos.place({ status: 500, error: { message: "down" } })]
    const model = await combos.combo("priority", [unknown.model, small.model], { config: { maxRetries: 0 } })
    const reply = await chat(model, long)
    expect(reply.status).toBe(500)
    expect((await combos.seen(unknown)).length).toBeGreaterThan(0)
    expect(await combos.seen(small)).toEqual([])
  })

  it("does not count on a session being shortened, unless another model goes on with it", async () => {
    const [small, large] = [await windowed(WINDOW), await windowed(64_000)]
    const model = await combos.combo("priority", [small.model, large.model])
    const session = { "x-session-id": "window-session" }
    expect(answerOf(await chat(model, "short", session))).toBe(small.name)
    // The small one has the session: nobody would shorten it.
    expect(answerOf(await chat(model, long, session))).toBe(large.name)
    // Now the large one has it: a summary may stand for what the small one cannot hold.
    expect(answerOf(await chat(model, long, session))).toBe(small.name)
  })

  it("passes over members of a fusion, and leaves the stages of a pipeline as they are", async () => {
    const [small, large, judge] = [await windowed(WINDOW), await windowed(64_000), await combos.place()]
    const fusion = await combos.combo("fusion", [small.model, large.model], { config: { judgeModel: judge.model } })
    expect((await chat(fusion, long)).status).toBe(200)
    expect([(await combos.seen(small)).length, (await combos.seen(large)).length]).toEqual([0, 1])
    const pipeline = await combos.combo("pipeline", [large.model, small.model])
    expect((await chat(pipeline, long)).status).toBe(200)
    expect((await combos.seen(small)).length).toBe(1)
  })
})
