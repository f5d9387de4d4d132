import type { CallableTool, GoogleGenAI } from "@google/genai"
import { ApiError, HarmBlockThreshold, HarmCategory } from "@google/genai"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { families, type Matrix, startMatrix } from "#test/support/families.ts"
import { documentsIn } from "./documents.ts"
import { pdf, remembering, tools } from "./Driver.ts"
import { client, genai, plainClient } from "./genai.driver.ts"
import { scenarios } from "./scenarios.ts"

let matrix: Matrix
let ai: GoogleGenAI
beforeAll(async () => {
  matrix = await startMatrix()
  ai = client(matrix.url, matrix.key)
})
afterAll(() => matrix.close())

scenarios(genai, () => matrix)

const face = "generateContent"

describe.each(families.map((family) => ({ family, name: family.name })))("towards $name", ({ family }) => {
  it("a client that names no version is served as well", async () => {
    const plain = plainClient(matrix.url, matrix.key)
    const model = await matrix.model(family, face, "versionless")
    const question = { model: model.id, contents: "one two" }
    expect((await plain.models.generateContent(question)).text).not.toBe("")
    let text = ""
    for await (const chunk of await plain.models.generateContentStream(question)) text += chunk.text ?? ""
    expect(text).not.toBe("")
    expect((await plain.models.countTokens(question)).totalTokens).toBeGreaterThan(0)
  })

  it("countTokens counts, and leaves no row", async () => {
    const model = await matrix.model(family, face, "counted")
    const few = (await ai.models.countTokens({ model: model.id, contents: "one two" })).totalTokens ?? 0
    const more = (await ai.models.countTokens({ model: model.id, contents: "one two three four five six seven" })).totalTokens ?? 0
    expect(few).toBeGreaterThan(0)
    expect(more).toBeGreaterThan(few)
    expect((await matrix.entries(model.name)).map((entry) => entry.path.split(":")[1])).toEqual(family.name === "generateContent" ? ["countTokens", "countTokens"] : [])
  })

  it("the client's own loop of functions runs to its end", async () => {
    for (const stream of [false, true]) {
      const model = await matrix.model(family, face, `automatic-${stream}`,
        { toolCalls: [{ name: "get_weather", arguments: { city: "Bern", days: 2 } }, { name: "get_time", arguments: {} }], ...(family.name === "chat-completions" ? {} : { reasoning: "Step." }) },
        { text: "Sunny, at noon." })
      const called: Array<unknown> = []
      const callable: CallableTool = {
        tool: () => Promise.resolve({ functionDeclarations: tools.map(({ parameters, ...tool }) => ({ ...tool, parametersJsonSchema: parameters })) }),
        callTool: (calls) => {
          called.push(...calls.map((call) => [call.name, call.args]))
          return Promise.resolve(calls.map((call) => ({ functionResponse: { ...(call.id === undefined ? {} : { id: call.id }), name: call.name ?? "", response: { output: "fine" } } })))
        }
      }
      const params = { model: model.id, contents: "Weather?", config: { tools: [callable] } }
      let text = ""
      if (stream) for await (const chunk of await ai.models.generateContentStream(params)) text += chunk.text ?? ""
      else text = (await ai.models.generateContent(params)).text ?? ""
      expect(text).toBe("Sunny, at noon.")
      expect(called).toEqual([["get_weather", { city: "Bern", days: 2 }], ["get_time", {}]])
      expect((await matrix.arrived(family, model.name))[1]?.results.map((result) => result.text)).toEqual(["fine", "fine"])
    }
  })

  it("several candidates where the family has them, else a 400 that names the field", async () => {
    const model = await matrix.model(family, face, "candidates")
    const create = () => ai.models.generateContent({ model: model.id, contents: "two", config: { candidateCount: 2 } })
    if (family.name === "chat-completions" || family.name === "generateContent") {
      expect((await create()).candidates?.map((candidate) => candidate.content?.parts?.[0]?.text)).toEqual(["two", "two"])
      return
    }
    const error: unknown = await create().catch((cause: unknown) => cause)
    expect(error).toBeInstanceOf(ApiError)
    expect(error).toMatchObject({ status: 400, message: expect.stringContaining("generationConfig.candidateCount") as unknown })
  })

  it("a document arrives with its bytes; safety settings are for the vendor alone", async () => {
    const model = await matrix.model(family, face, "document")
    const { fetch, header } = remembering()
    const own = client(matrix.url, matrix.key, fetch)
    const create = (document: boolean) => own.models.generateContent({
      model: model.id,
      contents: [{ role: "user", parts: [{ text: "Sum up" }, ...(document ? [{ inlineData: { mimeType: "application/pdf", data: pdf } }] : [])] }],
      config: { safetySettings: [{ category: HarmCategory.HARM_CATEGORY_HARASSMENT, threshold: HarmBlockThreshold.BLOCK_NONE }] }
    })
    if (family.name === "local-model-server") await expect(create(true)).rejects.toMatchObject({ status: 400, message: expect.stringContaining("contents[0]") as unknown })
    else {
      await create(true)
      expect(documentsIn((await matrix.entries(model.name))[0]?.body)).toBe(1)
    }
    expect((await create(false)).text).toBe("Sum up")
    expect(header("x-gateway-omitted").split(", ").filter((name) => !name.startsWith("max_tokens "))).toEqual([family.name === "generateContent" ? "" : "safetySettings"])
  })
})

describe("beside the conversations", () => {
  it("models.list and models.get show models of every family, also to a client that names no version", async () => {
    for (const reader of [ai, plainClient(matrix.url, matrix.key)]) {
      const names: Array<string | undefined> = []
      for await (const model of await reader.models.list()) names.push(model.name)
      for (const prefix of ["chat", "msgs", "resp"]) expect(names).toContain(`models/${prefix}/listed`)
      expect(await reader.models.get({ model: "msgs/listed" })).toMatchObject({ name: "models/msgs/listed" })
      await expect(reader.models.get({ model: "msgs/none" })).rejects.toMatchObject({ status: 404, message: expect.stringContaining("\"status\":\"NOT_FOUND\"") as unknown })
      await expect(plainClient(matrix.url, "sk-unknown").models.list()).rejects.toMatchObject({ status: 401, message: expect.stringContaining("\"status\":\"UNAUTHENTICATED\"") as unknown })
    }
  })
})
