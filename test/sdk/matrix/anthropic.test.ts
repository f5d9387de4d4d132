import Anthropic from "@anthropic-ai/sdk"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { families, type Matrix, startMatrix } from "#test/support/families.ts"
import { anthropic, client } from "./anthropic.driver.ts"
import { documentsIn } from "./documents.ts"
import { pdf, remembering } from "./Driver.ts"
import { scenarios } from "./scenarios.ts"

let matrix: Matrix
let claude: Anthropic
beforeAll(async () => {
  matrix = await startMatrix()
  claude = client(matrix.url, matrix.key)
})
afterAll(() => matrix.close())

scenarios(anthropic, () => matrix)

const face = "messages"
const say = (content: string): Array<Anthropic.MessageParam> => [{ role: "user", content }]

describe.each(families.map((family) => ({ family, name: family.name })))("towards $name", ({ family }) => {
  it("count_tokens counts: the provider itself where it can, else an estimate, and no row", async () => {
    const model = await matrix.model(family, face, "counted")
    const messages = say("How many words are these?")
    const { input_tokens: few } = await claude.messages.countTokens({ model: model.id, messages })
    const { input_tokens: more } = await claude.messages.countTokens({ model: model.id, messages, system: "A long instruction that takes some tokens of its own." })
    expect(few).toBeGreaterThan(0)
    expect(more).toBeGreaterThan(few)
    expect((await claude.beta.messages.countTokens({ model: model.id, messages })).input_tokens).toBe(few)
    expect((await matrix.entries(model.name)).every((entry) => entry.path.endsWith("/count_tokens"))).toBe(true)
    expect((await matrix.entries(model.name)).length).toBe(family.name === "messages" ? 3 : 0)
    expect((await matrix.rows("")).filter((row) => row.model === model.name)).toEqual([])
  })

  it("events come in the vendor's order, and the stream's helpers hear them", async () => {
    const model = await matrix.model(family, face, "events",
      { reasoning: "Hm.", text: "Let me see.", toolCalls: [{ name: "get_weather", arguments: { city: "Bern", days: 1 } }] })
    const stream = claude.messages.stream({
      model: model.id, max_tokens: 100, messages: say("x"),
      tools: [{ name: "get_weather", input_schema: { type: "object", properties: { city: { type: "string" }, days: { type: "integer" } } } }]
    })
    const types: Array<string> = []
    const blocks: Array<string> = []
    let json: unknown
    stream.on("streamEvent", (event) => {
      if (types.at(-1) !== event.type) types.push(event.type)
      if (event.type === "content_block_start") blocks.push(event.content_block.type)
    })
    stream.on("inputJson", (_, snapshot) => { json = snapshot })
    expect(await stream.finalText()).toBe("Let me see.")
    const one = ["content_block_start", "content_block_delta", "content_block_stop"]
    const shown = types.filter((type) => (type as string) !== "ping")
    expect(shown[0]).toBe("message_start")
    expect(shown.slice(-2)).toEqual(["message_delta", "message_stop"])
    expect(new Set(shown.slice(1, -2))).toEqual(new Set(one))
    // A proof that another family put on its call stands before the call in a block of its own.
    expect(blocks.filter((type, i) => type !== blocks[i - 1] || type !== "thinking")).toEqual(
      family.name === "generateContent" ? ["thinking", "text", "thinking", "tool_use"] : ["thinking", "text", "tool_use"]
    )
    expect(json).toEqual({ city: "Bern", days: 1 })
  })

  it("the beta client's path, system blocks with a cache mark and a document", async () => {
    const model = await matrix.model(family, face, "beta")
    const { fetch, header } = remembering()
    const beta = client(matrix.url, matrix.key, fetch)
    const create = () => beta.beta.messages.create({
      model: model.id, max_tokens: 100,
      system: [{ type: "text", text: "Be brief." }, { type: "text", text: "Be kind.", cache_control: { type: "ephemeral" } }],
      messages: [{ role: "user", content: [{ type: "document", source: { type: "base64", media_type: "application/pdf", data: pdf } }, { type: "text", text: "Sum up" }] }]
    })
    if (family.name === "local-model-server") {
      await expect(create()).rejects.toMatchObject({ status: 400, message: expect.stringContaining("messages[0]") as unknown })
      return
    }
    expect((await create()).content).toMatchObject([{ type: "text", text: "Sum up" }])
    expect((await matrix.arrived(family, model.name))[0]?.system).toBe("Be brief.\nBe kind.")
    const [entry] = await matrix.entries(model.name)
    expect(documentsIn(entry?.body)).toBe(1)
    if (family.name === "messages") expect(entry?.body).toMatchObject({ system: [{}, { cache_control: { type: "ephemeral" } }] })
    else expect(header("x-gateway-omitted").split(", ")).toContain("cache_control")
  })

  it("an image by URL goes there as a URL, or is refused where only bytes are taken", async () => {
    const model = await matrix.model(family, face, "link")
    const url = "https://images.example/cat.png"
    const create = () => claude.messages.create({
      model: model.id, max_tokens: 100, messages: [{ role: "user", content: [{ type: "image", source: { type: "url", url } }, { type: "text", text: "What?" }] }]
    })
    if (family.name === "local-model-server") {
      await expect(create()).rejects.toMatchObject({ status: 400, message: expect.stringContaining("messages[0]") as unknown })
      return
    }
    await create()
    expect(JSON.stringify((await matrix.entries(model.name))[0]?.body)).toContain(url)
  })
})

describe.each(families.filter(({ name }) => name !== "messages").map((family) => ({ family, name: family.name })))("towards $name, which holds no threads", ({ family }) => {
  const scripts = [
    { toolCalls: [{ name: "get_weather", arguments: { city: "Bern" } }], ...(family.name === "chat-completions" ? {} : { reasoning: "Hm." }) }, { text: "Sunny." }
  ]

  it("the client's own loop of tools sends its whole conversation and runs to its end", async () => {
    for (const stream of [false, true]) {
      const model = await matrix.model(family, face, `runner-${stream}`, ...scripts)
      const runner = claude.beta.messages.toolRunner({
        model: model.id, max_tokens: 2_000, stream, messages: say("Weather?"),
        tools: [{ name: "get_weather", input_schema: { type: "object", properties: { city: { type: "string" } } }, parse: (input: unknown) => input, run: () => "ok" }]
      })
      expect((await runner.runUntilDone()).content).toContainEqual(expect.objectContaining({ type: "text", text: "Sunny." }))
      expect((await matrix.arrived(family, model.name)).map((seen) => [seen.user, seen.results.map((result) => result.text)])).toEqual([[["Weather?"], []], [["Weather?"], ["ok"]]])
    }
  })

  it("a thread of the client is refused by its own error, or goes on without", async () => {
    const model = await matrix.model(family, face, "thread")
    const strict = claude.beta.messages.thread({ model: model.id, max_tokens: 100 })
    await strict.send({ role: "user", content: "one" })
    await expect(strict.send({ role: "user", content: "two" })).rejects.toBeInstanceOf(Anthropic.ThreadUnsupportedRequestError)
    const easy = claude.beta.messages.thread({ model: model.id, max_tokens: 100, unsupportedRequestBehavior: "continue_unthreaded" })
    await easy.send({ role: "user", content: "one" })
    await easy.send({ role: "user", content: "two" })
    expect((await matrix.arrived(family, model.name)).at(-1)?.user).toEqual(["one", "two"])
  })
})

describe("beside the conversations", () => {
  it("models.list shows models of every family", async () => {
    const ids: Array<string> = []
    for await (const model of claude.models.list()) ids.push(model.id)
    for (const prefix of ["chat", "msgs", "resp"]) expect(ids).toContain(`${prefix}/listed`)
  })

  it("a refused stop sequence is the client's BadRequestError with the vendor's type", async () => {
    const error: unknown = await claude.messages.create({ model: "resp/gpt-5-x", max_tokens: 10, messages: say("x"), stop_sequences: ["x"] }).catch((cause: unknown) => cause)
    expect(error).toMatchObject({ status: 400, requestID: expect.any(String) as unknown, error: { type: "error", error: { type: "invalid_request_error", message: expect.stringContaining("stop_sequences") as unknown } } })
  })
})
