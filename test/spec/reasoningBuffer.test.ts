/** reasoningTokenBufferEnabled of a combo: what a model that reasons is allowed to say. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as ReasoningBuffer from "#src/routing/combos/reasoningBuffer.ts"
import * as Http from "#test/support/http.ts"
import { type Lab, startLab } from "#test/support/lab.ts"

const thinking = "gpt-5.4"
const plain = "gpt-4.1"
const claude = "claude-opus-5"

let lab: Lab
beforeAll(async () => {
  lab = await startLab()
  const { operator } = lab.gateway
  for (const provider of ["openai", "anthropic"]) {
    await operator.createConnection({ provider, apiKey: `sk-buffer-of-${provider}-001`, providerSpecificData: { baseUrl: `${lab.sim.url}/v1` } })
  }
  for (const [name, models, on] of [
    ["roomy", [`openai/${thinking}`], true], ["roomy-plain", [`openai/${plain}`], true], ["roomy-claude", [`anthropic/${claude}`], true], ["tight", [`openai/${thinking}`], false]
  ] as const) await operator.call("POST", "/api/combos", { name, models, config: { reasoningTokenBufferEnabled: on } })
})
afterAll(() => lab.close())

const told = async (model: string): Promise<Readonly<Record<string, unknown>>> =>
  (await lab.sim.entries({ model })).at(-1)?.body as Readonly<Record<string, unknown>>
const messages = [{ role: "user", content: "hi" }]

const chat = async (combo: string, model: string, more: Record<string, unknown>) => {
  const reply = await Http.send(lab.gateway.url, { path: "/v1/chat/completions", body: { model: combo, messages, ...more } })
  expect(reply.status, reply.text).toBe(200)
  return told(model)
}

describe("room for thoughts beside the client's cap", () => {
  it("is given to a model that reasons, in its own format and in another, and every other member stays", async () => {
    expect(await chat("roomy", thinking, { max_completion_tokens: 100, seed: 7 })).toEqual({ model: thinking, messages, max_completion_tokens: 4_196, seed: 7 })
    expect((await chat("roomy", thinking, { max_completion_tokens: 6_000 }))["max_completion_tokens"]).toBe(12_000)
    expect((await chat("roomy-claude", claude, { max_tokens: 100 }))["max_tokens"]).toBe(4_196)
  })

  it("is not given to other models, without a cap, or while the combo does not say so", async () => {
    expect((await chat("roomy-plain", plain, { max_tokens: 100 }))["max_tokens"]).toBe(100)
    expect(await chat("roomy", thinking, {})).toEqual({ model: thinking, messages })
    expect((await chat("tight", thinking, { max_completion_tokens: 100 }))["max_completion_tokens"]).toBe(100)
  })

  it("never passes what the model can say, and never narrows", () => {
    expect(ReasoningBuffer.widened(100, 2_000)).toBe(2_000)
    expect(ReasoningBuffer.widened(100, 50)).toBe(100)
    expect(ReasoningBuffer.widened(10_000, null)).toBe(20_000)
  })

  it("knows where each format has its cap", () => {
    expect(ReasoningBuffer.ofBody("generateContent", { generationConfig: { maxOutputTokens: 1, topK: 2 } }, null)).toEqual({ generationConfig: { maxOutputTokens: 4_097, topK: 2 } })
    expect(ReasoningBuffer.ofBody("local-model-server", { options: { num_predict: -1 } }, null)).toEqual({ options: { num_predict: -1 } })
    expect(ReasoningBuffer.ofBody("responses", { max_output_tokens: 10 }, null)).toEqual({ max_output_tokens: 4_106 })
    expect(ReasoningBuffer.ofBody("generateContent", { contents: [] }, null)).toEqual({ contents: [] })
  })
})
