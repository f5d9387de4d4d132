/** POST /v1/classify over HTTP: one shape of answer, refusals that send nothing, and what it costs. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { errorIn, type Lab, startLab } from "#test/support/lab.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab()
  await lab.gateway.operator.createConnection({ provider: "jina", apiKey: "jina-classify-00000001", providerSpecificData: { baseUrl: `${lab.sim.url}/v1` } })
})
afterAll(() => lab.close())

const model = "jina/jina-embeddings-v3"
const classify = (body: Readonly<Record<string, unknown>>) => Http.send(lab.gateway.url, { path: "/v1/classify", body: { model, labels: ["food", "tool"], ...body } })
const seen = () => lab.sim.entries({ model: "jina-embeddings-v3" })

describe("classification", () => {
  it("says the best label of each text, in the order of the texts, under the canonical id", async () => {
    await lab.gateway.operator.price("jina", "jina-embeddings-v3", { input: 1 })
    const reply = await classify({ input: ["good food", "a tool"] })
    const { data, model: named, usage } = JSON.parse(reply.text) as { data: ReadonlyArray<{ index: number; label: string; score: number; predictions: ReadonlyArray<{ label: string; score: number }> }>; model: string; usage: { total_tokens: number } }
    expect([reply.status, named, data.map(({ index, label }) => [index, label])]).toEqual([200, model, [[0, "food"], [1, "tool"]]])
    for (const { label, predictions, score } of data) {
      expect(predictions[0]).toEqual({ label, score })
      expect(predictions.map((one) => one.score)).toEqual(predictions.map((one) => one.score).sort((a, b) => b - a))
    }
    expect((await seen()).at(-1)?.body).toEqual({ model: "jina-embeddings-v3", input: ["good food", "a tool"], labels: ["food", "tool"] })
    const [row] = await lab.rows(reply)
    expect(row).toMatchObject({ endpoint: "/v1/classify", outcome: "completed", tokensIn: usage.total_tokens })
    expect(row?.costUsd).toBeCloseTo(usage.total_tokens / 1e6, 10)
  })

  it.each([
    ["no input", { input: undefined }, "input"], ["no texts", { input: [] }, "input"], ["a text for input", { input: "x" }, "input"], ["a number among the texts", { input: ["a", 7] }, "input[1]"],
    ["no labels", { input: ["a"], labels: undefined }, "labels"], ["one label", { input: ["a"], labels: ["x"] }, "labels"], ["an empty label", { input: ["a"], labels: ["x", ""] }, "labels[1]"]
  ])("with %s is refused by the name of the field, and nothing is sent", async (_name, body, param) => {
    const before = (await seen()).length
    const reply = await classify(body)
    expect([reply.status, errorIn(reply)]).toEqual([400, expect.objectContaining({ code: "bad_request", param })])
    expect((await seen()).length).toBe(before)
  })

  it("by a provider that has none is refused, and an answer with a gap is an error", async () => {
    expect((await classify({ model: "lab/anything", input: ["a"] })).status).toBe(400)
    await lab.sim.rule({ id: "gap", match: { model: "jina-embeddings-v3" }, script: { body: { data: [{ index: 0, prediction: "food", score: 1 }] } } })
    const reply = await classify({ input: ["a", "b"] })
    expect([reply.status, errorIn(reply)["code"]]).toEqual([502, "upstream_invalid_response"])
  })
})
