/** `dimensions` of a combo: the length of the vectors that its models are asked for, over HTTP. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Combos, combosOf, type Place } from "#test/support/combos.ts"
import * as Http from "#test/support/http.ts"
import { type Lab, startLab } from "#test/support/lab.ts"

let lab: Lab
let combos: Combos
let place: Place
let combo: string
beforeAll(async () => {
  lab = await startLab()
  combos = combosOf(lab, "dim")
  place = await combos.place()
  combo = await combos.combo("priority", [place.model], { dimensions: "8" })
  await lab.gateway.operator.createConnection({ provider: "gemini", apiKey: "AIza-dimensions-0001", providerSpecificData: { baseUrl: `${lab.sim.url}/v1beta` } })
})
afterAll(() => lab.close())

type Body = Readonly<Record<string, unknown>>
const post = async (path: string, body: Body) => {
  const reply = await Http.send(lab.gateway.url, { path, body })
  expect([reply.status, reply.text]).toEqual([200, expect.any(String)])
  return JSON.parse(reply.text) as Record<string, unknown>
}
const said = async (model = place.upstream) => (await lab.sim.entries({ model })).at(-1)?.body as Body

describe("dimensions of a combo", () => {
  it("are asked for where the client asks for none, and the rest of its bytes stays", async () => {
    const { data } = await post("/v1/embeddings", { model: combo, input: ["a", "b"], task: "retrieval" })
    expect(await said()).toEqual({ dimensions: 8, model: place.upstream, input: ["a", "b"], task: "retrieval" })
    expect((data as ReadonlyArray<{ embedding: ReadonlyArray<number> }>).map(({ embedding }) => embedding.length)).toEqual([8, 8])
    await post("/v1/embeddings", { model: combo, input: "a", dimensions: null })
    expect((await said())["dimensions"]).toBe(8)
  })

  it("are asked for by a body that a thread reads", async () => {
    const input = Array.from({ length: 200 }, () => "long ".repeat(2_000))
    await post("/v1/embeddings", { model: combo, input })
    expect(await said()).toEqual({ dimensions: 8, model: place.upstream, input })
  })

  it("give way to the client's, and are not asked for outside the combo", async () => {
    await post("/v1/embeddings", { model: combo, input: "a", dimensions: 4 })
    expect((await said())["dimensions"]).toBe(4)
    await post("/v1/embeddings", { model: place.model, input: "a" })
    expect(await said()).toEqual({ model: place.upstream, input: "a" })
  })

  it("are asked for in Google's format, and by Google's clients", async () => {
    const model = "gemini-embedding-001"
    const name = await combos.combo("priority", [`gemini/${model}`], { dimensions: "16" })
    const requests = async () => (await said(model))["requests"] as ReadonlyArray<Body>
    await post("/v1/embeddings", { model: name, input: ["a", "b"] })
    expect((await requests()).map(({ outputDimensionality }) => outputDimensionality)).toEqual([16, 16])
    const content = { parts: [{ text: "a" }] }
    await post(`/v1beta/models/${name}:batchEmbedContents`, { requests: [{ content }, { content, outputDimensionality: 32 }] })
    expect((await requests()).map(({ outputDimensionality }) => outputDimensionality)).toEqual([16, 32])
    await post(`/v1beta/models/${combo}:embedContent`, { content })
    expect((await said())["dimensions"]).toBe(8)
  })

  it("are told in the lists of models, and refused as no number from 1", async () => {
    const { data } = JSON.parse((await Http.send(lab.gateway.url, { method: "GET", path: "/v1/embeddings" })).text) as { data: ReadonlyArray<Body> }
    expect(data.find(({ id }) => `combo/${String(id)}` === combo)).toMatchObject({ type: "embedding", dimensions: 8 })
    for (const dimensions of ["0", "x", "1234567", 8]) {
      const reply = await lab.gateway.operator.raw("POST", "/api/combos", { name: "refused", dimensions })
      expect([reply.status, reply.text]).toEqual([400, expect.stringContaining("dimensions")])
    }
  })
})
