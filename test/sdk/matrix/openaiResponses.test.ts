import type OpenAI from "openai"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { families, type Matrix, startMatrix } from "#test/support/families.ts"
import { documentsIn } from "./documents.ts"
import { pdf } from "./Driver.ts"
import { client } from "./openaiChat.driver.ts"
import { openaiResponses } from "./openaiResponses.driver.ts"
import { scenarios } from "./scenarios.ts"

let matrix: Matrix
let openai: OpenAI
beforeAll(async () => {
  matrix = await startMatrix()
  openai = client(matrix.url, matrix.key)
})
afterAll(() => matrix.close())

scenarios(openaiResponses, () => matrix)

const face = "responses"
const failing = (run: () => PromiseLike<unknown>): Promise<unknown> => Promise.resolve(run()).then(() => null, (error: unknown) => error)

describe.each(families.map((family) => ({ family, name: family.name })))("towards $name", ({ family }) => {
  it("plain text as input, and the items of the answer in the vendor's shape", async () => {
    const model = await matrix.model(family, face, "items", { reasoning: "Hm.", text: "Let me see.", toolCalls: [{ name: "get_time", arguments: {} }] })
    for (const stream of [false, true]) {
      const body = { model: model.id, input: "What time?", tools: [{ type: "function" as const, name: "get_time", strict: false, parameters: { type: "object", properties: {} } }] }
      const response = stream ? await openai.responses.stream({ ...body, stream: true }).finalResponse() : await openai.responses.create(body)
      expect(response).toMatchObject({ object: "response", status: "completed", output_text: "Let me see." })
      expect(response.id).toMatch(/^resp_/)
      const shown = response.output.filter((item) => item.type !== "reasoning" || item.summary.length > 0)
      expect(shown.map((item) => item.type)).toEqual(["reasoning", "message", "function_call"])
      expect(shown).toMatchObject([{ summary: [{ text: "Hm." }] }, { role: "assistant", status: "completed" }, { name: "get_time", arguments: "{}" }])
      expect(new Set(response.output.map((item) => item.id)).size).toBe(response.output.length)
    }
    expect((await matrix.arrived(family, model.name))[0]?.user).toEqual(["What time?"])
  })

  it("what only the vendor remembers is refused elsewhere with the field's name, and so is a forced tool that it runs", async () => {
    const model = await matrix.model(family, face, "memory")
    const continued = () => openai.responses.create({ model: model.id, input: "And?", previous_response_id: "resp_before" })
    const searching = () => openai.responses.create({ model: model.id, input: "News?", tools: [{ type: "web_search" }], tool_choice: { type: "web_search_preview" } })
    if (family.name === "responses") return
    expect(await failing(continued)).toMatchObject({ status: 400, param: "previous_response_id" })
    expect(await failing(searching)).toMatchObject({ status: 400, param: "tool_choice" })
    expect(await matrix.entries(model.name)).toEqual([])
  })

  it("a document arrives with its bytes, or is refused where none is taken", async () => {
    const model = await matrix.model(family, face, "document")
    const create = () => openai.responses.create({
      model: model.id,
      input: [{ role: "user", content: [{ type: "input_text", text: "Sum up" }, { type: "input_file", filename: "a.pdf", file_data: `data:application/pdf;base64,${pdf}` }] }]
    })
    if (family.name === "local-model-server") {
      expect(await failing(create)).toMatchObject({ status: 400, param: "input[0]" })
      return
    }
    await create()
    expect(documentsIn((await matrix.entries(model.name))[0]?.body)).toBe(1)
  })
})
