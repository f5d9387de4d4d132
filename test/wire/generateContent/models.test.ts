import { expect, it } from "vitest"
import { PublicError } from "#schemas/errors.ts"
import { countTokensAnswer, decodeCountTokens, modelEntry, modelIdOf, modelList } from "#src/wire/generateContent/generateModels.ts"
import { user } from "./support.ts"

const model = { id: "google/gemini-3-flash", name: "Gemini 3 Flash", contextWindow: 1_048_576, maxOutputTokens: 65_536, thinking: true }

it("entries of a list, with the documented limits where none are known", () => {
  expect(modelEntry(model)).toMatchObject({
    name: "models/google/gemini-3-flash", displayName: "Gemini 3 Flash", inputTokenLimit: 1_048_576, outputTokenLimit: 65_536, thinking: true,
    supportedGenerationMethods: ["generateContent", "streamGenerateContent", "countTokens"]
  })
  const plain = modelList([{ id: "sim/echo", name: null, contextWindow: null, maxOutputTokens: null, thinking: null }]).models[0]
  expect(plain).toMatchObject({ name: "models/sim/echo", displayName: "sim/echo", inputTokenLimit: 128_000, outputTokenLimit: 8192 })
  expect(plain).not.toHaveProperty("thinking")
  expect([modelIdOf("models/a/b"), modelIdOf("a/b")]).toEqual(["a/b", "a/b"])
})

it("counts contents or a whole request", () => {
  const contents = [user({ text: "hi" })]
  expect(decodeCountTokens({ contents })).toMatchObject({ turns: [{ role: "user" }] })
  expect(decodeCountTokens({ generate_content_request: { model: "models/m", contents, system_instruction: { parts: [{ text: "s" }] } } })).toMatchObject({ turns: [{ role: "system" }, { role: "user" }] })
  const refused = (body: Record<string, unknown>) => {
    const read = decodeCountTokens(body)
    return read instanceof PublicError ? read.extra?.["param"] : null
  }
  expect([refused({}), refused({ contents, generateContentRequest: { contents } }), refused({ generateContentRequest: 5 })]).toEqual(["contents", "contents", "generateContentRequest"])
  expect(countTokensAnswer(5)).toEqual({ totalTokens: 5, promptTokensDetails: [{ modality: "TEXT", tokenCount: 5 }] })
  expect(countTokensAnswer(5, 2)).toMatchObject({ cachedContentTokenCount: 2 })
})
