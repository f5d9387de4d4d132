import type OpenAI from "openai"
import type { RunnableToolFunctionWithParse } from "openai/lib/RunnableFunction"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { families, familiesFor, type Family, type Matrix, startMatrix } from "#test/support/families.ts"
import { client, openaiChat } from "./openaiChat.driver.ts"
import { pdf, tools } from "./Driver.ts"
import { documentsIn } from "./documents.ts"
import { scenarios } from "./scenarios.ts"

let matrix: Matrix
let openai: OpenAI
beforeAll(async () => {
  matrix = await startMatrix()
  openai = client(matrix.url, matrix.key)
})
afterAll(() => matrix.close())

scenarios(openaiChat, () => matrix)

const each = (list: ReadonlyArray<Family>) => list.map((family) => ({ family, name: family.name }))
const failing = (run: () => PromiseLike<unknown>): Promise<unknown> => Promise.resolve(run()).then(() => null, (error: unknown) => error)

describe.each(each(familiesFor("chat-completions")))("towards $name", ({ family }) => {
  it("the client's own loop of tools runs to its end", async () => {
    for (const stream of [false, true]) {
      const model = await matrix.model(family, "chat-completions", `runner-${stream}`,
        { toolCalls: [{ name: "get_weather", arguments: { city: "Bern", days: 2 } }, { name: "get_time", arguments: {} }], ...thoughtsOf(family) }, { text: "Sunny, at noon." })
      const called: Array<unknown> = []
      const functions = tools.map(({ parameters, ...tool }): RunnableToolFunctionWithParse<object> => ({
        type: "function",
        function: {
          ...tool, parameters: structuredClone(parameters) as Record<string, unknown>, parse: (text: string) => JSON.parse(text) as object,
          function: (args) => {
            called.push([tool.name, args])
            return "\"ok\""
          }
        }
      }))
      const body = { model: model.id, messages: [{ role: "user" as const, content: "Weather?" }], tools: functions }
      const runner = stream ? openai.chat.completions.runTools({ ...body, stream: true }) : openai.chat.completions.runTools(body)
      expect(await runner.finalContent()).toBe("Sunny, at noon.")
      expect(called).toEqual([["get_weather", { city: "Bern", days: 2 }], ["get_time", {}]])
      expect((await matrix.arrived(family, model.name))[1]?.results.map((result) => result.text)).toEqual(["\"ok\"", "\"ok\""])
    }
  })

  it("several choices where the family has them, else a 400 that names n", async () => {
    const model = await matrix.model(family, "chat-completions", "choices")
    const create = () => openai.chat.completions.create({ model: model.id, messages: [{ role: "user", content: "two" }], n: 2 })
    if (family.name === "messages" || family.name === "responses" || family.name === "local-model-server") {
      expect(await failing(create)).toMatchObject({ status: 400, param: "n", type: "invalid_request_error" })
      return
    }
    expect((await create()).choices.map((choice) => [choice.index, choice.message.content])).toEqual([[0, "two"], [1, "two"]])
  })

  it("a developer's message is an instruction, wherever it stands", async () => {
    const model = await matrix.model(family, "chat-completions", "developer")
    await openai.chat.completions.create({
      model: model.id, messages: [{ role: "developer", content: "Be brief." }, { role: "user", content: "one" }, { role: "assistant", content: "1" }, { role: "user", content: "two" }]
    })
    expect((await matrix.arrived(family, model.name))[0]).toMatchObject({ system: "Be brief.", user: ["one", "two"], assistant: ["1"] })
  })

  it("a document arrives with its bytes, or is refused by its place", async () => {
    const model = await matrix.model(family, "chat-completions", "document")
    const create = () => openai.chat.completions.create({
      model: model.id,
      messages: [{ role: "user", content: [{ type: "text", text: "Sum up" }, { type: "file", file: { filename: "a.pdf", file_data: `data:application/pdf;base64,${pdf}` } }] }]
    })
    if (family.name === "local-model-server") {
      expect(await failing(create)).toMatchObject({ status: 400, param: "messages[0]" })
      return
    }
    await create()
    expect(documentsIn((await matrix.entries(model.name))[0]?.body)).toBe(1)
  })

  it("a refused field is the error's param", async () => {
    const model = await matrix.model(family, "chat-completions", "param")
    const error = await failing(() => openai.chat.completions.create({ model: model.id, messages: [{ role: "user", content: "x" }], temperature: "warm" as unknown as number }))
    expect(error).toMatchObject({ status: 400, type: "invalid_request_error", message: expect.stringContaining("'temperature'") as unknown })
    // In the client's own format the vendor itself says so, of whose error message, type and code are passed on.
    if (family.name !== "chat-completions") expect(error).toMatchObject({ param: "temperature" })
    expect((await matrix.entries(model.name)).length).toBe(family.name === "chat-completions" ? 1 : 0)
  })
})

describe.each(each(families))("legacy completions towards $name", ({ family }) => {
  it("a prompt is the user's text; the answer comes back whole and streamed", async () => {
    const model = await matrix.model(family, "completions", "legacy")
    const whole = await openai.completions.create({ model: model.id, prompt: "Once upon a time", max_tokens: 40 })
    expect(whole).toMatchObject({ object: "text_completion", choices: [{ text: "Once upon a time", index: 0, finish_reason: "stop" }] })
    let text = ""
    for await (const chunk of await openai.completions.create({ model: model.id, prompt: "Once upon a time", max_tokens: 40, stream: true })) text += chunk.choices[0]?.text ?? ""
    expect(text).toBe("Once upon a time")
    expect((await matrix.arrived(family, model.name)).map((seen) => [seen.user, seen.maxTokens])).toEqual([[["Once upon a time"], 40], [["Once upon a time"], 40]])
    const rows = await matrix.rowsOf(model.name, 2)
    expect(rows.map((row) => [row.sourceFormat, row.targetFormat, row.outcome])).toEqual([1, 2].map(() => ["completions", family.name, "completed"]))
  })
})

describe("beside the conversations", () => {
  it("a local model server that speaks chat completions too is called in them", async () => {
    const completion = await openai.chat.completions.create({ model: "ollama-cloud/qwen3-direct", messages: [{ role: "user", content: "hello" }] })
    expect(completion.choices[0]?.message.content).toBe("hello")
    expect((await matrix.entries("qwen3-direct")).map((entry) => entry.path)).toEqual(["/v1/chat/completions"])
    expect((await matrix.rowsOf("qwen3-direct", 1))[0]).toMatchObject({ provider: "ollama-cloud", sourceFormat: "chat-completions", targetFormat: "chat-completions" })
  })

  it("models.list and models.retrieve show models of every family", async () => {
    const ids: Array<string> = []
    for await (const model of openai.models.list()) ids.push(model.id)
    for (const prefix of ["chat", "msgs", "resp"]) expect(ids).toContain(`${prefix}/listed`)
    expect(ids.some((id) => id.startsWith("gemini/"))).toBe(true)
    expect(await openai.models.retrieve("msgs/listed")).toMatchObject({ id: "msgs/listed", object: "model" })
  })
})

const thoughtsOf = (family: Family) => family.name === "chat-completions" ? {} : { reasoning: "Step by step." }
