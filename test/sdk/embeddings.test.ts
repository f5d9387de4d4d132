/** Embeddings for the vendor's own client, unmodified: it asks for base64 unless told otherwise, and decodes what comes back. */
import OpenAI from "openai"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { vectorOf } from "#src/simulator/formats/embeddings.ts"
import { type Lab, startLab } from "#test/support/lab.ts"

let lab: Lab
let openai: OpenAI
beforeAll(async () => {
  lab = await startLab()
  const google = "AIza-sdk-embeddings-0001"
  await lab.gateway.operator.createConnection({ provider: "gemini", apiKey: google, providerSpecificData: { baseUrl: `${lab.sim.url}/v1beta` } })
  openai = new OpenAI({ baseURL: `${lab.gateway.url}/v1`, apiKey: (await lab.gateway.operator.createKey("sdk")).key, maxRetries: 0 })
})
afterAll(() => lab.close())

/** As four bytes a number keep it. */
const expected = (text: string, dimensions: number) => Array.from(vectorOf(text, dimensions))
const near = (actual: ReadonlyArray<number>, wanted: ReadonlyArray<number>) => {
  expect(actual.length).toBe(wanted.length)
  for (let i = 0; i < wanted.length; i++) expect(actual[i]).toBeCloseTo(wanted[i] ?? Number.NaN, 6)
}

describe("openai.embeddings.create", () => {
  it("answers one vector for a text, named by its canonical model", async () => {
    const made = await openai.embeddings.create({ model: "lab/embed-a", input: "a text", dimensions: 16, user: "someone" })
    expect([made.object, made.model, made.data.length, made.data[0]?.index]).toEqual(["list", "lab/embed-a", 1, 0])
    near(made.data[0]?.embedding ?? [], expected("a text", 16))
    expect(made.usage.prompt_tokens).toBeGreaterThan(0)
    expect(made.usage.total_tokens).toBe(made.usage.prompt_tokens)
  })

  it.each([
    ["texts", ["one", "two", "three"], ["one", "two", "three"]],
    ["tokens", [1, 2, 3], ["1 2 3"]],
    ["lists of tokens", [[1, 2], [3], [4, 5, 6]], ["1 2", "3", "4 5 6"]]
  ] as const)("answers %s in their order, as floats and as base64", async (_name, input, texts) => {
    for (const encoding_format of ["float", "base64", undefined] as const) {
      const { data } = await openai.embeddings.create({
        model: "lab/embed-b", input: input as unknown as string[], dimensions: 8, ...(encoding_format === undefined ? {} : { encoding_format })
      })
      expect(data.map(({ index }) => index)).toEqual(texts.map((_, i) => i))
      for (const [i, { embedding }] of data.entries()) {
        const values = typeof embedding === "string" ? Array.from(new Float32Array(new Uint8Array(Buffer.from(embedding, "base64")).buffer)) : embedding
        near(values, expected(texts[i] ?? "", 8))
      }
    }
  })

  it("asks a server of another format in its own words, and answers in the client's", async () => {
    const { data, model, usage } = await openai.embeddings.create({ model: "gemini/gemini-embedding-001", input: ["red", "green"], dimensions: 8 })
    expect([model, data.map(({ index }) => index)]).toEqual(["gemini/gemini-embedding-001", [0, 1]])
    near(data[0]?.embedding ?? [], expected("red", 8))
    near(data[1]?.embedding ?? [], expected("green", 8))
    expect(usage.prompt_tokens).toBeGreaterThan(0)
  })

  it("throws the client's own error classes", async () => {
    await expect(openai.embeddings.create({ model: "nobody/x", input: "a" })).rejects.toThrow(OpenAI.BadRequestError)
    await expect(openai.embeddings.create({ model: "lab/embed-a", input: [] })).rejects.toThrow(/input/)
  })
})
