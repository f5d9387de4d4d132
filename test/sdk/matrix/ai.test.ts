/** The `ai` package with its vendors' providers: one program text for every provider, each of which speaks another format to the gateway. */
import { createAnthropic } from "@ai-sdk/anthropic"
import { createGoogleGenerativeAI } from "@ai-sdk/google"
import { createOpenAI } from "@ai-sdk/openai"
import { APICallError, generateText, jsonSchema, type LanguageModel, Output, stepCountIs, streamText, tool } from "ai"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { FormatName } from "#schemas/wire/conversation.ts"
import { familiesFor, type Matrix, startMatrix } from "#test/support/families.ts"
import { png, schema, tools } from "./Driver.ts"

let matrix: Matrix
beforeAll(async () => {
  matrix = await startMatrix()
})
afterAll(() => matrix.close())

interface Speaker {
  readonly name: string
  readonly face: FormatName
  readonly model: (id: string) => LanguageModel
  readonly options: Parameters<typeof generateText>[0]["providerOptions"]
  /** Shows thoughts, and gives their proof back. */
  readonly thinks: boolean
  /** Says a schema as such, and not as a tool that must be called. */
  readonly schemas?: Parameters<typeof generateText>[0]["providerOptions"]
}

const openai = () => createOpenAI({ baseURL: `${matrix.url}/v1`, apiKey: matrix.key })

const speakers: ReadonlyArray<Speaker> = [
  { name: "openai.chat", face: "chat-completions", model: (id) => openai().chat(id), options: {}, thinks: false },
  {
    name: "openai.responses", face: "responses", model: (id) => openai().responses(id), thinks: true,
    options: { openai: { forceReasoning: true, reasoningEffort: "low", reasoningSummary: "auto", store: false, include: ["reasoning.encrypted_content"] } }
  },
  {
    name: "anthropic", face: "messages", model: (id) => createAnthropic({ baseURL: `${matrix.url}/v1`, apiKey: matrix.key })(id), thinks: true,
    options: { anthropic: { thinking: { type: "enabled", budgetTokens: 2048 } } }, schemas: { anthropic: { structuredOutputMode: "outputFormat" } }
  },
  {
    name: "google", face: "generateContent", model: (id) => createGoogleGenerativeAI({ baseURL: `${matrix.url}/v1beta`, apiKey: matrix.key })(`models/${id}`),
    thinks: true,
    options: { google: { thinkingConfig: { includeThoughts: true } } }
  }
]

/** What the tools of one run were called with. */
const toolbox = (called: Array<unknown>) => Object.fromEntries(tools.map((one) => [one.name, tool({
  description: one.description,
  inputSchema: jsonSchema<Record<string, unknown>>(structuredClone(one.parameters) as Parameters<typeof jsonSchema>[0]),
  execute: (input) => {
    called.push([one.name, input])
    if (one.name === "get_time") throw new Error("the clock is broken")
    return Promise.resolve({ sky: "clear ☀" })
  }
})]))

const pairs = speakers.flatMap((speaker) => familiesFor(speaker.face).map((family) => ({ speaker, family, name: speaker.name, towards: family.name })))

describe.each(pairs)("$name towards $towards", ({ family, speaker }) => {
  const label = (own: string) => `ai-${speakers.indexOf(speaker)}-${own}`
  const common = { maxRetries: 0 } as const

  it("generateText and streamText give the same text, reason and usage", async () => {
    const model = await matrix.model(family, speaker.face, label("text"))
    const body = { ...common, model: speaker.model(model.id), system: "Be brief.", prompt: "Grüezi, 世界! 👋" }
    const whole = await generateText(body)
    expect([whole.text, whole.finishReason]).toEqual(["Grüezi, 世界! 👋", "stop"])
    const stream = streamText(body)
    let text = ""
    for await (const piece of stream.textStream) text += piece
    expect([text, await stream.finishReason]).toEqual([whole.text, "stop"])
    const [entry] = await matrix.entries(model.name)
    for (const usage of [whole.usage, await stream.usage]) expect([usage.inputTokens, usage.outputTokens]).toEqual([entry?.promptTokens, entry?.tokensSent])
    for (const seen of await matrix.arrived(family, model.name)) expect(seen).toMatchObject({ system: "Be brief.", user: ["Grüezi, 世界! 👋"] })
  })

  it("a run of three steps: parallel calls, one of which fails, and thoughts whose proof returns", async () => {
    for (const stream of [false, true]) {
      const chat = family.name === "chat-completions"
      const model = await matrix.model(family, speaker.face, label(`steps-${stream}`),
        { toolCalls: [{ name: "get_weather", arguments: { city: "Zürich \"HB\"", days: 2 } }, { name: "get_time", arguments: {} }], ...(chat ? {} : { reasoning: "Both." }) },
        { toolCalls: [{ name: "get_weather", arguments: { city: "東京", days: 1 } }], ...(chat ? {} : { reasoning: "Again." }) },
        { text: "Sunny everywhere." })
      const called: Array<unknown> = []
      const body = {
        ...common, model: speaker.model(model.id), prompt: "Weather?", tools: toolbox(called), stopWhen: stepCountIs(5),
        ...(speaker.options === undefined ? {} : { providerOptions: speaker.options })
      }
      const result = stream ? streamText(body) : await generateText(body)
      if ("textStream" in result) for await (const _ of result.textStream) { /* read to the end */ }
      expect(await result.text).toBe("Sunny everywhere.")
      expect((await result.steps).map((step) => step.finishReason)).toEqual(["tool-calls", "tool-calls", "stop"])
      if (speaker.thinks && !chat) expect((await result.steps).map((step) => step.reasoningText ?? "")).toEqual(["Both.", "Again.", ""])
      expect(called).toEqual([["get_weather", { city: "Zürich \"HB\"", days: 2 }], ["get_time", {}], ["get_weather", { city: "東京", days: 1 }]])
      const seen = await matrix.arrived(family, model.name)
      expect(seen.length).toBe(3)
      expect(seen[2]?.calls).toEqual(called.map((one) => ({ name: (one as [string])[0], args: (one as [string, unknown])[1] })))
      expect(seen[2]?.results.map((one) => one.text.includes("clear ☀") ? "clear" : one.text.includes("the clock is broken") ? "broken" : one.text)).toEqual(["clear", "broken", "clear"])
      const ids = (await matrix.entries(model.name)).map((entry) => entry.id)
      if (speaker.thinks && (family.name === "messages" || family.name === "generateContent")) {
        expect(seen[2]?.signatures.map((one) => ids.findIndex((id) => Buffer.from(one, "base64").toString().includes(id)))).toEqual([0, 1])
      }
    }
  })

  it("an object by schema, and a picture", async () => {
    const model = await matrix.model(family, speaker.face, label("object"), { text: "{\"city\":\"Bern\",\"days\":3}" })
    const result = await generateText({
      ...common, model: speaker.model(model.id), ...(speaker.schemas === undefined ? {} : { providerOptions: speaker.schemas }), output: Output.object({ schema: jsonSchema<{ city: string; days: number }>(structuredClone(schema) as Parameters<typeof jsonSchema>[0]) }),
      messages: [{ role: "user", content: [{ type: "text", text: "Where?" }, { type: "image", image: png, mediaType: "image/png" }] }]
    })
    expect(result.output).toEqual({ city: "Bern", days: 3 })
    expect((await matrix.arrived(family, model.name))[0]).toMatchObject({ user: ["Where?"], images: [png] })
  })

  it("a refusal is an APICallError that can be retried or not; an abort ends the upstream's call", async () => {
    for (const [status, isRetryable] of [[400, false], [429, true], [500, true]] as const) {
      const model = await matrix.model(family, speaker.face, label(`error-${status}`), { status, ...(status === 429 ? { retryAfter: 3 } : {}) })
      const error: unknown = await generateText({ ...common, model: speaker.model(model.id), prompt: "x" }).catch((cause: unknown) => cause)
      expect(APICallError.isInstance(error)).toBe(true)
      expect(error).toMatchObject({ statusCode: status, isRetryable })
      if (status === 429) expect((error as APICallError).responseHeaders?.["retry-after"]).toBe("3")
    }
    const model = await matrix.model(family, speaker.face, label("abort"), { tokens: 500, paceMs: 10 })
    const controller = new AbortController()
    const stream = streamText({ ...common, model: speaker.model(model.id), prompt: "x", abortSignal: controller.signal })
    let pieces = 0
    for await (const _ of stream.textStream) if (++pieces === 3) controller.abort()
    expect((await matrix.sim.ended({ model: model.name }))[0]?.outcome).toBe("client-aborted")
    expect((await matrix.rowsOf(model.name, 1))[0]).toMatchObject({ outcome: "client-abort", status: 499, sourceFormat: speaker.face, targetFormat: family.name })
  })

  it("an error inside a stream reaches the program", async () => {
    const model = await matrix.model(family, speaker.face, label("broken"), { tokens: 30, malformed: [{ kind: "error", at: 12 }] })
    const errors: Array<unknown> = []
    const stream = streamText({ ...common, model: speaker.model(model.id), prompt: "x", onError: ({ error }) => { errors.push(error) } })
    let text = ""
    let failed = false
    for await (const part of stream.fullStream) {
      if (part.type === "text-delta") text += part.text
      if (part.type === "error" || (part.type === "finish-step" && part.finishReason === "error")) failed = true
    }
    expect(text.length).toBeGreaterThan(0)
    expect(failed).toBe(true)
  })
})
