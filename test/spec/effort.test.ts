/** X-Gateway-Effort: auto, over HTTP: what the upstream is told, and what the client hears of it. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { type Lab, startLab } from "#test/support/lab.ts"

const thinking = "gpt-5.4"
const plain = "gpt-4.1"
const adaptive = "claude-opus-5"
const budgeted = "claude-haiku-4-5"
const gemini = "gemini-2.5-pro"
const auto = { "x-gateway-effort": "auto" }

let lab: Lab
beforeAll(async () => {
  lab = await startLab()
  const providers = [["openai", "/v1"], ["anthropic", "/v1"], ["gemini", "/v1beta"]] as const
  for (const [provider, path] of providers) {
    await lab.gateway.operator.createConnection({ provider, apiKey: `sk-effort-of-${provider}-0001`, providerSpecificData: { baseUrl: `${lab.sim.url}${path}` } })
  }
})
afterAll(() => lab.close())

/** What the newest request to a model said. */
const told = async (model: string): Promise<Readonly<Record<string, unknown>>> =>
  (await lab.sim.entries({ model })).at(-1)?.body as Readonly<Record<string, unknown>>
const user = (content: unknown) => ({ role: "user", content })

const chat = async (model: string, more: Record<string, unknown>, headers: Readonly<Record<string, string>> = auto) => {
  const reply = await lab.chat({ model, ...more }, headers)
  expect(reply.status, reply.text).toBe(200)
  return { decision: reply.headers["x-gateway-decision"] ?? "", said: await told(model.slice(model.indexOf("/") + 1)) }
}
const message = async (model: string, more: Record<string, unknown>, headers: Readonly<Record<string, string>> = auto) => {
  const reply = await Http.send(lab.gateway.url, { path: "/v1/messages", headers, body: { model: `anthropic/${model}`, max_tokens: 20_000, messages: [user("What time is it?")], ...more } })
  expect(reply.status, reply.text).toBe(200)
  return { decision: reply.headers["x-gateway-decision"] ?? "", said: await told(model) }
}

describe("X-Gateway-Effort: auto", () => {
  it("asks for low, medium or high by the shape of the request, and says so in the decision", async () => {
    const questions = [["What time is it?", "low"], ["Tell me of Rome. ".repeat(20), "medium"], ["Prove that it halts.", "high"]] as const
    for (const [question, effort] of questions) {
      const { decision, said } = await chat(`openai/${thinking}`, { messages: [user(question)] })
      expect([said["reasoning_effort"], decision.endsWith(`; effort=${effort}`)]).toEqual([effort, true])
    }
    const streamed = await lab.stream({ model: `openai/${thinking}`, messages: [user("What time is it?")] }, auto)
    expect(streamed.headers["x-gateway-decision"]).toMatch(/; effort=low$/)
  })

  it("keeps every other byte of a body in its own format", async () => {
    const { said } = await chat(`openai/${thinking}`, { messages: [user("What time is it?")], seed: 3, user: "u-1" })
    expect(said).toEqual({ model: thinking, messages: [user("What time is it?")], seed: 3, user: "u-1", reasoning_effort: "low" })
  })

  it("leaves alone what the client said of reasoning, models that do not reason, and requests without the header", async () => {
    const own = await chat(`openai/${thinking}`, { messages: [user("Prove that it halts.")], reasoning_effort: "minimal" })
    expect([own.said["reasoning_effort"], own.decision.includes("effort")]).toEqual(["minimal", false])
    const silent = await chat(`openai/${plain}`, { messages: [user("Prove that it halts.")] })
    expect([silent.said["reasoning_effort"], silent.decision.includes("effort")]).toEqual([undefined, false])
    for (const headers of [{}, { "x-gateway-effort": "high" }]) {
      const without = await chat(`openai/${thinking}`, { messages: [user("Prove that it halts.")] }, headers)
      expect([without.said["reasoning_effort"], without.decision.includes("effort")]).toEqual([undefined, false])
    }
  })

  it("is the same for every call of one tool loop, in both formats", async () => {
    const tools = [{ type: "function", function: { name: "look", parameters: { type: "object", properties: {} } } }]
    const start = [user("Prove that it halts.")]
    const call = { role: "assistant", content: null, tool_calls: [{ id: "c1", type: "function", function: { name: "look", arguments: "{}" } }] }
    const result = { role: "tool", tool_call_id: "c1", content: "short" }
    for (const messages of [start, [...start, call, result], [...start, call, result, user("Go on.")]]) {
      const { said } = await chat(`openai/${thinking}`, { messages, tools })
      expect(said["reasoning_effort"]).toBe("high")
    }
    const use = { role: "assistant", content: [{ type: "tool_use", id: "c1", name: "look", input: {} }] }
    const answer = user([{ type: "tool_result", tool_use_id: "c1", content: "short" }, { type: "text", text: "Go on." }])
    for (const messages of [start, [...start, use, answer]]) {
      const { decision } = await message(adaptive, { messages, tools: [{ name: "look", input_schema: { type: "object" } }] })
      expect(decision).toMatch(/; effort=high$/)
    }
  })

  it("leaves the words of a combo in the system prompt of a model that takes system messages between the others", async () => {
    await lab.gateway.operator.call("POST", "/api/combos", { name: "effort-words", strategy: "priority", models: [`anthropic/${adaptive}`], system_message: "Combo rules." })
    const reply = await Http.send(lab.gateway.url, { path: "/v1/messages", headers: auto, body: { model: "combo/effort-words", max_tokens: 20_000, system: "Own rules.", messages: [user("What time is it?")] } })
    expect(reply.status, reply.text).toBe(200)
    const said = await told(adaptive)
    expect([JSON.stringify(said["system"]), JSON.stringify(said["messages"])]).toEqual([expect.stringMatching(/Combo rules\..*Own rules\./), expect.not.stringContaining("Combo rules.")])
  })

  it("speaks each vendor's words: adaptive thinking, a budget inside the client's limit, a thinking level", async () => {
    const levels = await message(adaptive, {})
    expect([levels.said["thinking"], levels.said["output_config"]]).toEqual([{ type: "adaptive" }, { effort: "low" }])
    const tokens = await message(budgeted, {})
    expect([tokens.said["thinking"], tokens.said["max_tokens"]]).toEqual([{ type: "enabled", budget_tokens: 1024 }, 20_000])
    const translated = await chat(`anthropic/${adaptive}`, { messages: [user("Prove that it halts.")] })
    expect(translated.said["output_config"]).toEqual({ effort: "high" })
    const google = await chat(`gemini/${gemini}`, { messages: [user("What time is it?")] })
    expect(google.said["generationConfig"]).toEqual({ thinkingConfig: { thinkingBudget: 1024, includeThoughts: false } })
  })

  it("changes nothing where the vendor would refuse to think: a forced tool, a small limit, a model id that says how much", async () => {
    const forced = await message(budgeted, { tools: [{ name: "look", input_schema: { type: "object" } }], tool_choice: { type: "tool", name: "look" } })
    expect([forced.said["thinking"], forced.decision.includes("effort")]).toEqual([undefined, false])
    const small = await message(budgeted, { max_tokens: 500 })
    expect([small.said["thinking"], small.decision.includes("effort")]).toEqual([undefined, false])
    const named = await lab.chat({ model: `openai/${thinking}-high`, messages: [user("What time is it?")] }, auto)
    expect((await told(thinking))["reasoning_effort"], named.text).toBe("high")
  })
})

describe("X-Gateway-Effort: auto for a combo that asks several models", () => {
  const mini = "gpt-5.4-mini"
  const question = { messages: [user("What time is it?")] }
  const combo = async (strategy: string, models: ReadonlyArray<string>, config: Record<string, unknown> = {}) => {
    await lab.gateway.operator.call("POST", "/api/combos", { name: `effort-${strategy}`, strategy, models, config })
    return `combo/effort-${strategy}`
  }
  const since = async (model: string, before: number) => (await lab.sim.entries({ model })).slice(before).map(({ body }) => (body as Record<string, unknown>)["reasoning_effort"])

  it("is chosen by the client's question for every member that reasons, and for the last word", async () => {
    // Whatever they answer is harder than the question.
    for (const model of [thinking, mini, plain]) await lab.sim.rule({ match: { model }, script: { text: `Derive the complexity of the algorithm. ${model}` } })
    const cases = [
      { strategy: "fusion", models: [`openai/${thinking}`, `openai/${plain}`], config: { judgeModel: `openai/${mini}` }, asked: [["low"], ["low"], [undefined]] },
      { strategy: "debate", models: [`openai/${thinking}`, `openai/${plain}`], config: { judgeModel: `openai/${mini}`, debateTuning: { debateRounds: 2, consensusThreshold: 1 } }, asked: [["low", "low"], ["low"], [undefined, undefined]] },
      { strategy: "pipeline", models: [`openai/${thinking}`, `openai/${plain}`, `openai/${mini}`], config: {}, asked: [["low"], ["low"], [undefined]] }
    ]
    for (const { asked, config, models, strategy } of cases) {
      const before = await Promise.all([thinking, mini, plain].map(async (model) => (await lab.sim.entries({ model })).length))
      const reply = await lab.chat({ model: await combo(strategy, models, config), ...question }, auto)
      expect([reply.status, reply.headers["x-gateway-decision"]], strategy).toEqual([200, expect.stringMatching(/; effort=low$/)])
      expect(await Promise.all([thinking, mini, plain].map((model, i) => since(model, before[i] ?? 0))), strategy).toEqual(asked)
      const own = await lab.chat({ model: `combo/effort-${strategy}`, ...question, reasoning_effort: "minimal" }, auto)
      expect(own.headers["x-gateway-decision"], strategy).not.toContain("effort")
      expect((await told(mini))["reasoning_effort"], strategy).toBe("minimal")
      const without = await lab.chat({ model: `combo/effort-${strategy}`, ...question })
      expect([without.headers["x-gateway-decision"], (await told(mini))["reasoning_effort"]], strategy).toEqual([expect.not.stringContaining("effort"), undefined])
    }
  })
})
