/** How much models think (PUT /api/settings/thinking-budget), over HTTP: what every upstream is asked, whatever the client asked. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import type { FamilyName, FormatName } from "#schemas/wire/conversation.ts"
import { families, type Matrix, startMatrix } from "#test/support/families.ts"
import * as Http from "#test/support/http.ts"

let matrix: Matrix
beforeAll(async () => {
  matrix = await startMatrix()
  // Models whose abilities are known.
  for (const [provider, path] of [["openai", "/v1"], ["anthropic", "/v1"]] as const) {
    await matrix.gateway.operator.createConnection({ provider, apiKey: `sk-thinking-of-${provider}-0001`, providerSpecificData: { baseUrl: `${matrix.sim.url}${path}` } })
  }
})
afterAll(() => matrix.close())
afterEach(() => put({ mode: "passthrough", customBudget: 10_240, effortLevel: "medium", baseBudget: null, complexityMultiplier: 1 }))

const path = "/api/settings/thinking-budget"
const put = (change: Record<string, unknown>) => matrix.gateway.operator.call<Record<string, unknown>>("PUT", path, change)
const user = (content: unknown) => ({ role: "user", content })
type Body = Record<string, unknown>

const send = async (where: string, body: Body, headers: Readonly<Record<string, string>> = {}): Promise<Http.Reply> => {
  const reply = await Http.send(matrix.gateway.url, { path: where, headers: { authorization: `Bearer ${matrix.key}`, ...headers }, body })
  expect(reply.status, reply.text).toBe(200)
  return reply
}
const told = async (name: string): Promise<Body> => ((await matrix.entries(name)).at(-1)?.body ?? {}) as Body

/** A request of each format that asks for thoughts. */
const faces: ReadonlyArray<readonly [FormatName, (model: string, stream: boolean) => readonly [string, Body]]> = [
  ["chat-completions", (model, stream) => ["/v1/chat/completions", { model, stream, messages: [user("Why?")], reasoning_effort: "high" }]],
  ["messages", (model, stream) => ["/v1/messages", { model, stream, max_tokens: 20_000, messages: [user("Why?")], thinking: { type: "enabled", budget_tokens: 12_000 } }]],
  ["responses", (model, stream) => ["/v1/responses", { model, stream, input: "Why?", reasoning: { effort: "high" } }]],
  ["generateContent", (model, stream) => [
    `/v1beta/models/${model}:${stream ? "streamGenerateContent" : "generateContent"}`,
    { contents: [{ role: "user", parts: [{ text: "Why?" }] }], generationConfig: { maxOutputTokens: 500, thinkingConfig: { thinkingLevel: "HIGH", includeThoughts: true } } }
  ]],
  ["local-model-server", (model, stream) => ["/v1/api/chat", { model, stream, messages: [user("Why?")], think: "high" }]]
]
const thinkingIn: Readonly<Record<FamilyName, (body: Body) => unknown>> = {
  "chat-completions": (body) => body["reasoning_effort"] ?? body["reasoning"] ?? body["thinking"],
  "messages": (body) => body["thinking"],
  "responses": (body) => (body["reasoning"] as Body | undefined)?.["effort"],
  "generateContent": (body) => (body["generationConfig"] as Body | undefined)?.["thinkingConfig"],
  "local-model-server": (body) => body["think"]
}
/** 2,000 tokens in each family's words, for the models of the matrix. */
const budgeted: Readonly<Record<FamilyName, unknown>> = {
  "chat-completions": "medium", "messages": { type: "enabled", budget_tokens: 2_000 }, "responses": "medium",
  "generateContent": { thinkingLevel: "MEDIUM", includeThoughts: true }, "local-model-server": "medium"
}
/** The largest budget, as the models of the matrix take it. */
const largest: Readonly<Record<FamilyName, unknown>> = {
  "chat-completions": "xhigh", "messages": { type: "enabled", budget_tokens: expect.any(Number) as number }, "responses": "high",
  "generateContent": { thinkingLevel: "HIGH", includeThoughts: true }, "local-model-server": expect.stringMatching(/^(?:high|max)$/)
}
const off: Readonly<Record<FamilyName, unknown>> = {
  "chat-completions": "none", "messages": { type: "disabled" }, "responses": "minimal",
  "generateContent": { thinkingLevel: "MINIMAL", includeThoughts: false }, "local-model-server": false
}
/** What the clients of the grid ask for. */
const asked = (face: FormatName): Readonly<Record<FamilyName, unknown>> => ({
  "chat-completions": "high", "messages": { type: "enabled", budget_tokens: face === "messages" ? 12_000 : 23_808 }, "responses": "high",
  "generateContent": { thinkingLevel: "HIGH", includeThoughts: true }, "local-model-server": "high"
})
const grid = faces.flatMap(([face, say]) => families.flatMap((family) => [false, true].map((stream) => [face, family.name, stream ? "streamed" : "whole", say, family] as const)))

describe("the thinking budget", () => {
  it.each(grid)("decides what a client of %s asks of %s, %s", async (face, name, kind, say, family) => {
    const model = await matrix.model(family, face, "budget")
    const ask = async (change: Body): Promise<unknown> => {
      await put(change)
      await send(...say(model.id, kind === "streamed"))
      return thinkingIn[name](await told(model.name))
    }
    expect(await ask({ mode: "passthrough" })).toEqual(asked(face)[name])
    expect(await ask({ mode: "auto" })).toBeUndefined()
    expect(await ask({ mode: "custom", customBudget: 2_000 })).toEqual(budgeted[name])
    expect(await ask({ customBudget: 131_072 })).toEqual(largest[name])
    expect(await ask({ customBudget: 0 })).toEqual(off[name])
    expect(await ask({ mode: "passthrough" })).toEqual(asked(face)[name])
  })

  it("leaves every other member of a body in its own format", async () => {
    const [, say] = faces[3] as (typeof faces)[number]
    const model = await matrix.model(families[3] as (typeof families)[number], "generateContent", "others")
    await put({ mode: "auto" })
    await send(...say(model.id, false))
    expect(await told(model.name)).toEqual({ contents: [{ role: "user", parts: [{ text: "Why?" }] }], generationConfig: { maxOutputTokens: 500 } })
    const chat = await matrix.model(families[0] as (typeof families)[number], "chat-completions", "others")
    await send("/v1/chat/completions", { model: chat.id, messages: [user("Why?")], seed: 3, enable_thinking: true, thinking_budget: 9, reasoning: { effort: "low" } })
    expect(await told(chat.name)).toEqual({ model: chat.name, messages: [user("Why?")], seed: 3 })
  })

  it("asks models that reason, also when the client is silent, and no others; X-Gateway-Effort gives way, the model id does not", async () => {
    await put({ mode: "custom", customBudget: 2_000 })
    const chat = (model: string, more: Body = {}, headers: Readonly<Record<string, string>> = {}) => send("/v1/chat/completions", { model, messages: [user("Why?")], ...more }, headers)
    await chat("openai/gpt-5.4", {}, { "x-gateway-effort": "auto" })
    expect((await told("gpt-5.4"))["reasoning_effort"]).toBe("medium")
    await chat("openai/gpt-5.4-high")
    expect((await told("gpt-5.4"))["reasoning_effort"]).toBe("high")
    await chat("openai/gpt-4.1")
    expect((await told("gpt-4.1"))["reasoning_effort"]).toBeUndefined()
    await send("/v1/messages", { model: "anthropic/claude-haiku-4-5", max_tokens: 9_000, temperature: 0.5, messages: [user("Why?")] })
    expect(await told("claude-haiku-4-5")).toEqual({
      model: "claude-haiku-4-5", max_tokens: 9_000, messages: [user("Why?")], thinking: { type: "enabled", budget_tokens: 2_000 }
    })
    await send("/v1/messages", { model: "anthropic/claude-opus-5", max_tokens: 9_000, messages: [user("Why?")] })
    expect(await told("claude-opus-5")).toMatchObject({ thinking: { type: "adaptive" }, output_config: { effort: "medium" } })
  })

  it("adapts to the number of messages and tools and to the length of the last question", async () => {
    const tool = (name: string) => ({ name, input_schema: { type: "object", properties: {} } })
    const many = Array.from({ length: 5 }, () => [user("And?"), { role: "assistant", content: "So." }]).flat()
    const ask = async (change: Body, messages: ReadonlyArray<Body>, tools: ReadonlyArray<Body> = []) => {
      await put({ mode: "adaptive", ...change })
      await send("/v1/messages", { model: "anthropic/claude-haiku-4-5", max_tokens: 60_000, messages, ...tools.length === 0 ? {} : { tools } })
      return ((await told("claude-haiku-4-5"))["thinking"] as Body)["budget_tokens"]
    }
    const [short, long] = [[user("Why?")], [user("w".repeat(2_001))]]
    expect(await ask({}, short)).toBe(10_240)
    expect(await ask({ effortLevel: "low" }, short)).toBe(1_024)
    expect(await ask({ baseBudget: 10_000 }, short)).toBe(10_000)
    expect(await ask({}, long)).toBe(13_000)
    expect(await ask({}, short, ["a", "b", "c"].map(tool))).toBe(10_000)
    expect(await ask({}, short, ["a", "b", "c", "d"].map(tool))).toBe(15_000)
    expect(await ask({}, [...many, ...long], ["a", "b", "c", "d"].map(tool))).toBe(23_000)
    expect(await ask({ complexityMultiplier: 2 }, long)).toBe(16_000)
    expect(await ask({ complexityMultiplier: 0 }, long)).toBe(10_000)
  })

  it("holds in large bodies, in combos and beside the gateway's own system prompt", async () => {
    await put({ mode: "auto" })
    const family = families[0] as (typeof families)[number]
    const [large, first, second] = [await matrix.model(family, "chat-completions", "large"), await matrix.model(family, "chat-completions", "one", { status: 500 }), await matrix.model(families[1] as typeof family, "chat-completions", "two")]
    await send("/v1/chat/completions", { model: large.id, reasoning_effort: "high", messages: [user("word ".repeat(500_000))] })
    expect((await told(large.name))["reasoning_effort"]).toBeUndefined()
    await matrix.gateway.operator.call("POST", "/api/combos", { name: "thinking", strategy: "priority", models: [first.id, second.id], system_message: "Combo rules.", config: { maxRetries: 0 } })
    await matrix.gateway.operator.call("PUT", "/api/settings/system-prompt", { enabled: true, prefixPrompt: "House rules." })
    await send("/v1/chat/completions", { model: "combo/thinking", reasoning_effort: "high", messages: [user("Why?")] })
    const bodies = [await told(first.name), await told(second.name)]
    for (const body of bodies) expect(JSON.stringify(body)).toMatch(/House rules\..*Combo rules\./)
    expect(bodies.map((body) => [body["reasoning_effort"], body["thinking"]])).toEqual([[undefined, undefined], [undefined, undefined]])
    await matrix.gateway.operator.call("PUT", "/api/settings/system-prompt", { enabled: false })
  })

  it("is read by GET, refuses what it cannot be, and outlives a restart", async () => {
    expect(await matrix.gateway.operator.call("GET", path)).toEqual({ mode: "passthrough", customBudget: 10_240, effortLevel: "medium", baseBudget: null, complexityMultiplier: 1 })
    for (const body of [{ mode: "much" }, { customBudget: 131_073 }, { customBudget: -1 }, { effortLevel: "huge" }, {}]) {
      expect((await matrix.gateway.operator.raw("PUT", path, body)).status, JSON.stringify(body)).toBe(400)
    }
    expect(await put({ mode: "custom", customBudget: 4_000 })).toMatchObject({ mode: "custom", customBudget: 4_000, effortLevel: "medium" })
    await matrix.gateway.restart()
    expect(await matrix.gateway.operator.call("GET", path)).toMatchObject({ mode: "custom", customBudget: 4_000 })
    await send("/v1/messages", { model: "anthropic/claude-haiku-4-5", max_tokens: 9_000, messages: [user("Why?")] })
    expect((await told("claude-haiku-4-5"))["thinking"]).toEqual({ type: "enabled", budget_tokens: 4_000 })
  })
})
