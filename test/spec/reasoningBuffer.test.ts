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

  it("is given to a cap that an older client names", async () => {
    expect(await chat("roomy", thinking, { max_tokens: 100 })).toEqual({ model: thinking, messages, max_completion_tokens: 4_196 })
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

describe("a cap by its older name, max_tokens", () => {
  const send = async (body: string) => {
    const reply = await Http.send(lab.gateway.url, { path: "/v1/chat/completions", body: Buffer.from(body) })
    expect(reply.status, reply.text).toBe(200)
    return (await lab.sim.entries({ model: thinking })).at(-1)
  }
  const said = JSON.stringify(messages)

  it("is renamed for models that refuse it, whole and streamed, and every other byte stays", async () => {
    const forwarded = `{"seed":7.0,   "max_completion_tokens":90,"model":"${thinking}","messages":${said}}`
    expect(await send(`{"seed":7.0,   "max_tokens" : 90,"model":"openai/${thinking}","messages":${said}}`))
      .toMatchObject({ body: JSON.parse(forwarded) as object, bodyBytes: forwarded.length })
    const stream = await Http.send(lab.gateway.url, { path: "/v1/chat/completions", body: { model: `openai/${thinking}`, messages, max_tokens: 90, stream: true } })
    expect([stream.status, stream.text.includes("[DONE]")]).toEqual([200, true])
    expect(await told(thinking)).toEqual({ model: thinking, messages, max_completion_tokens: 90, stream: true, stream_options: { include_usage: true } })
  })

  it("is renamed where its name is written with escapes", async () => {
    const sent = await send(`{"model":"openai/${thinking}","messages":${said},"max_t\\u006fkens":90}`)
    expect(sent?.body).toEqual({ model: thinking, messages, max_completion_tokens: 90 })
  })

  it("stays for other models, and where both names are said the upstream refuses it in its own words", async () => {
    expect((await chat(`openai/${plain}`, plain, { max_tokens: 90 }))["max_tokens"]).toBe(90)
    const both = await Http.send(lab.gateway.url, { path: "/v1/chat/completions", body: { model: `openai/${thinking}`, messages, max_tokens: 90, max_completion_tokens: 90 } })
    expect([both.status, both.text]).toEqual([400, expect.stringContaining("'max_tokens' is not supported with this model")])
  })
})
