/** Ranking for the vendor's own client, unmodified: `cohere-ai` at `/v1/rerank` and `/v2/rerank`. */
import { CohereClient, CohereClientV2, CohereError } from "cohere-ai"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Lab, startLab } from "#test/support/lab.ts"

let lab: Lab
let options: { readonly environment: string; readonly token: string }
beforeAll(async () => {
  lab = await startLab()
  const { operator, url } = lab.gateway
  options = { environment: url, token: (await operator.createKey("cohere")).key }
  await operator.createConnection({ provider: "cohere", apiKey: "co-sdk-000000000001", providerSpecificData: { baseUrl: lab.sim.url } })
})
afterAll(() => lab.close())

const query = "capital of France"
const documents = ["Berlin is in Germany", "Paris is the capital of France", "a capital idea"]

describe.each(["cohere/rerank-v3.5", "lab/co-node"])("rerank of %s", (model) => {
  it("is answered by the client of version 2", async () => {
    const { id, meta, results } = await new CohereClientV2(options).rerank({ model, query, documents, topN: 2 })
    expect(results.map(({ index }) => index)).toEqual([1, 2])
    expect([results[0]?.relevanceScore, meta?.billedUnits?.searchUnits, typeof id]).toEqual([1, 1, "string"])
  })

  it("is answered by the client of version 1, with the documents", async () => {
    const { results } = await new CohereClient(options).rerank({ model, query, documents: documents.map((text) => ({ text })), topN: 1, returnDocuments: true })
    expect(results).toMatchObject([{ index: 1, relevanceScore: 1, document: { text: documents[1] } }])
  })
})

it("errors are told by the client's own classes", async () => {
  const client = new CohereClientV2(options)
  await expect(client.rerank({ model: "lab/co-empty", query, documents: [] }, { maxRetries: 0 })).rejects.toThrow(expect.objectContaining({ statusCode: 400 }))
  await lab.sim.rule({ match: { model: "co-limited" }, script: { status: 429, error: { message: "slow down" } } })
  const limited = client.rerank({ model: "lab/co-limited", query, documents }, { maxRetries: 0 })
  await expect(limited).rejects.toBeInstanceOf(CohereError)
  await expect(limited).rejects.toThrow(expect.objectContaining({ statusCode: 429 }))
})
