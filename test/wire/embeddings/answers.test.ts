/** Answers with embeddings in the client's own format: the server's bytes, but for the model. */
import { describe, expect, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import * as Answer from "#src/wire/embeddings/answer.ts"

const wanted: Answer.WantedVectors = { model: "lab/small", count: 1, encoding: null, estimate: () => 3 }

const read = (text: string, changes: Partial<Answer.WantedVectors> = {}) => {
  const facts = Answer.read("embeddings", Buffer.from(text), { ...wanted, ...changes })
  return facts === null ? null : { text: Buffer.from(facts.body).toString(), usage: facts.usage }
}

const usage = { input: 5, output: 0, cacheRead: 0, cacheCreation: 0, reasoning: 0 }

describe("an answer with embeddings", () => {
  it("keeps every byte but the model's", () => {
    expect(read('{ "object":"list","data":[ {"embedding":[0.10, 1e-3],"index":0 , "object":"embedding"} ], "model" : "small","usage":{"prompt_tokens":5} }\n'))
      .toEqual({ text: '{ "object":"list","data":[ {"embedding":[0.10, 1e-3],"index":0 , "object":"embedding"} ], "model" : "lab/small","usage":{"prompt_tokens":5} }\n', usage })
  })

  it("is given a model where it names none, also behind spaces", () => {
    expect(read(' \n{"data":[{"embedding":"AAAA","index":0}],"usage":{"prompt_tokens":5}}'))
      .toEqual({ text: ' \n{"model":"lab/small","data":[{"embedding":"AAAA","index":0}],"usage":{"prompt_tokens":5}}', usage })
  })

  it("has its vectors in the order of their numbers, of any length", () => {
    const count = 12
    const data = Array.from({ length: count }, (_, i) => ({ index: count - 1 - i, embedding: [count - 1 - i] }))
    const facts = read(JSON.stringify({ data, model: "small", usage: { prompt_tokens: 5 } }), { count })
    const { data: sorted } = JSON.parse(facts?.text ?? "{}") as { data: ReadonlyArray<{ index: number; embedding: ReadonlyArray<number> }> }
    expect(sorted.map(({ embedding, index }) => [index, embedding[0]])).toEqual(Array.from({ length: count }, (_, i) => [i, i]))
  })

  it.each(['{"data":[{"index":0}]}', '{"data":[]}', '{"data":[{"embedding":[1],"index":0}', '{"data":[{"embedding":[1],"index":"x"}]}', "[]", ""])("is none: %s", (text) => {
    expect(read(text)).toBeNull()
  })

  const json = Schema.Record(Schema.String, Schema.Json)
  it.prop("is the parsed answer with another model, whatever stands around it, in any spacing", {
    before: Arbitrary.schema(json), after: Arbitrary.schema(json), inner: Arbitrary.schema(json), indent: Arbitrary.schema(Schema.Literals([0, 2]))
  }, ({ after, before, indent, inner }) => {
    const behind = Object.fromEntries(Object.entries(after).map(([name, value]) => [`behind ${name}`, value]))
    const answer = { ...before, 'a "model"': 1, data: [{ ...inner, object: "embedding", index: 0, embedding: [0.5, 1] }], ...behind, model: "small", usage: { prompt_tokens: 5 } }
    const facts = read(JSON.stringify(answer, null, indent))
    expect(facts?.usage).toEqual(usage)
    expect(JSON.parse(facts?.text ?? "{}")).toEqual({ ...JSON.parse(JSON.stringify(answer)) as object, model: "lab/small" })
  })
})
