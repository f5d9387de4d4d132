/** POST /v1/segment over HTTP: what the vendor is asked, one shape of answer, refusals that send nothing, and that it is free. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { errorIn, type Lab, startLab } from "#test/support/lab.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab()
  await lab.gateway.operator.createConnection({ provider: "jina", apiKey: "jina-segment-000000001", providerSpecificData: { baseUrl: `${lab.sim.url}/v1` } })
})
afterAll(() => lab.close())

const content = "First paragraph.\n\nSecond one."
const segment = (body: Readonly<Record<string, unknown>>) => Http.send(lab.gateway.url, { path: "/v1/segment", body: { content, ...body } })
const seen = (tokenizer: string) => lab.sim.entries({ model: tokenizer })
const positions = [[0, 18], [18, 29]]

describe("a text", () => {
  it("is cut by the usual tokenizer when the client names no model, and costs nothing", async () => {
    const reply = await segment({})
    expect([reply.status, JSON.parse(reply.text)]).toEqual([200, {
      num_tokens: expect.any(Number), tokenizer: "cl100k_base", num_chunks: 2, chunk_positions: positions, usage: { tokens: 0 }
    }])
    expect((await seen("cl100k_base")).at(-1)).toMatchObject({ path: "/v1/segment", body: { content, tokenizer: "cl100k_base" } })
    expect(await lab.rows(reply)).toMatchObject([{ endpoint: "/v1/segment", outcome: "completed", tokensIn: 0, tokensOut: 0, costUsd: 0 }])
  })

  it("comes back in chunks when the client wants them, at most as long as it says", async () => {
    const reply = await segment({ model: "jina/o200k_base", return_chunks: true, max_chunk_length: 18 })
    expect(JSON.parse(reply.text)).toMatchObject({ tokenizer: "o200k_base", chunk_positions: positions, chunks: ["First paragraph.\n\n", "Second one."] })
    const short = await segment({ model: "jina/o200k_base", return_chunks: true, max_chunk_length: 5 })
    const { chunks } = JSON.parse(short.text) as { chunks: ReadonlyArray<string> }
    expect([chunks.join(""), chunks.every(({ length }) => length <= 5)]).toEqual([content, true])
  })

  it("is cut by the tokenizer that the request names before the model's", async () => {
    expect((await segment({ model: "jina/o200k_base", tokenizer: "r50k_base", head: 3 })).status).toBe(200)
    expect((await seen("r50k_base")).at(-1)?.body).toEqual({ content, tokenizer: "r50k_base", head: 3 })
  })

  it("that is large is cut whole", async () => {
    const large = "A long paragraph of a book.\n\n".repeat(20_000)
    const reply = await segment({ model: "jina/large", content: large, return_chunks: true })
    const { chunks, num_chunks: count } = JSON.parse(reply.text) as { chunks: ReadonlyArray<string>; num_chunks: number }
    expect([reply.status, count, chunks.join("") === large]).toEqual([200, 20_000, true])
  })

  it.each([
    ["no text", { content: undefined }, "content", "Field 'content' must be a non-empty string."], ["an empty text", { content: "" }, "content", "Field 'content' must be a non-empty string."],
    ["texts", { content: ["a"] }, "content", "Field 'content' must be a non-empty string."], ["a word for a flag", { return_chunks: "yes" }, "return_chunks", "Field 'return_chunks' must be true or false."],
    ["no length", { max_chunk_length: 0 }, "max_chunk_length", "Field 'max_chunk_length' must be a whole number from 1."],
    ["a number as tokenizer", { tokenizer: 7 }, "tokenizer", "Field 'tokenizer' must be a non-empty string."], ["a number as model", { model: 7 }, "model", "Field 'model' must be a non-empty string such as 'jina/cl100k_base'."]
  ])("with %s is refused by the name of the field, and nothing is sent", async (_name, body, param, message) => {
    const before = (await seen("refused")).length
    const reply = await segment({ model: "jina/refused", ...body })
    expect([reply.status, errorIn(reply)]).toEqual([400, expect.objectContaining({ code: "bad_request", param, message })])
    expect((await seen("refused")).length).toBe(before)
  })

  it("is refused for a provider that cuts none", async () => {
    const reply = await segment({ model: "lab/anything" })
    expect([reply.status, errorIn(reply)["message"]]).toEqual([400, "Unknown segmentation provider: lab"])
  })

  it.each([
    ["a position beyond the text", { num_tokens: 3, chunk_positions: [[0, 99]] }], ["an end before its start", { num_tokens: 3, chunk_positions: [[4, 2]] }],
    ["no positions", { num_tokens: 3 }], ["fewer chunks than positions", { num_tokens: 3, chunk_positions: positions, chunks: ["a"] }]
  ])("that is answered with %s is not answered with it", async (name, body) => {
    const tokenizer = name.replaceAll(" ", "-")
    await lab.sim.rule({ match: { model: tokenizer }, script: { status: 200, body } })
    const reply = await segment({ model: `jina/${tokenizer}`, return_chunks: "chunks" in body })
    expect([reply.status, errorIn(reply)["code"]]).toEqual([502, "upstream_invalid_response"])
  })
})
