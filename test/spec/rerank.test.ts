/** POST /v1/rerank over HTTP: what is refused, how each server is asked, how its answer is told, what it costs and who may ask. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Combos, combosOf } from "#test/support/combos.ts"
import * as Http from "#test/support/http.ts"
import { errorIn, type Lab, startLab } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"

let lab: Lab
let combos: Combos
beforeAll(async () => {
  lab = await startLab()
  combos = combosOf(lab, "rr")
})
afterAll(() => lab.close())

type Headers = Readonly<Record<string, string>>
const query = "capital of France"
const documents = ["Berlin is in Germany", "Paris is the capital of France", "a capital idea"]
const rerank = (body: Readonly<Record<string, unknown>>, headers: Headers = {}) => Http.send(lab.gateway.url, { path: "/v1/rerank", headers, body: { query, documents, ...body } })
const seen = (model: string) => lab.sim.entries({ model })
interface Answer {
  readonly id: string
  readonly model: string
  readonly results: ReadonlyArray<{ readonly index: number; readonly relevance_score: number; readonly document?: { readonly text: string } }>
  readonly meta: { readonly billed_units: { readonly search_units: number } }
}
const answerIn = (reply: Http.Reply): Answer => {
  expect([reply.status, reply.text]).toEqual([200, expect.any(String)])
  return JSON.parse(reply.text) as Answer
}

describe("a request that ranks documents", () => {
  it("is answered by score, the best first, with as many as were asked for", async () => {
    const answer = answerIn(await rerank({ model: "lab/rr-own" }))
    expect([answer.model, answer.results.map(({ index }) => index)]).toEqual(["lab/rr-own", [1, 2, 0]])
    expect(answer.results.every(({ document }) => document === undefined)).toBe(true)
    const best = answerIn(await rerank({ model: "lab/rr-own", top_n: 1, return_documents: true }))
    expect(best.results).toEqual([{ index: 1, relevance_score: 1, document: { text: documents[1] } }])
  })

  it("has the id of its server's answer, and one of its own where that has none", async () => {
    const results = [{ index: 0, relevance_score: 0.2 }]
    await lab.sim.rule({ match: { model: "rr-id" }, script: { status: 200, body: { id: "theirs", results } } })
    expect(answerIn(await rerank({ model: "lab/rr-id" })).id).toBe("theirs")
    await lab.sim.rule({ match: { model: "rr-no-id" }, script: { status: 200, body: { results } } })
    const [one, two] = [answerIn(await rerank({ model: "lab/rr-no-id" })), answerIn(await rerank({ model: "lab/rr-no-id" }))]
    expect([one.id, two.id]).toEqual([expect.stringMatching(/^rerank-[\w-]{24,}$/), expect.stringMatching(/^rerank-[\w-]{24,}$/)])
    expect(one.id).not.toBe(two.id)
  })

  it("that wants more results than there are documents gets all of them, and no server hears of it", async () => {
    expect(answerIn(await rerank({ model: "lab/rr-more", top_n: 99 })).results).toHaveLength(documents.length)
    expect((await seen("rr-more"))[0]?.body).toMatchObject({ top_n: documents.length })
  })

  it("goes to a node in both spellings, with what a vendor adds", async () => {
    answerIn(await rerank({ model: "lab/rr-node", documents: [{ text: "a" }, "b"], top_n: 2, return_documents: false, truncate: "END" }))
    const [entry] = await seen("rr-node")
    expect([entry?.path, entry?.body]).toEqual(["/v1/rerank", {
      model: "rr-node", query, documents: ["a", "b"], texts: ["a", "b"], top_n: 2, return_documents: false, return_text: false, truncate: "END"
    }])
  })

  it("that its node does not know at the first path is asked at the second one, in a call and a row of its own", async () => {
    await lab.sim.rule({ match: { model: "rr-second", path: "/v1/rerank" }, script: { status: 404, error: { message: "Not Found" } } })
    const reply = await rerank({ model: "lab/rr-second", return_documents: true })
    expect(answerIn(reply).results[0]).toEqual({ index: 1, relevance_score: 1, document: { text: documents[1] } })
    expect((await seen("rr-second")).map(({ path, status }) => [path, status])).toEqual([["/v1/rerank", 404], ["/rerank", 200]])
    expect(await lab.rows(reply)).toMatchObject([
      { attempt: 1, outcome: "upstream-status", status: 404, final: false, costUsd: 0 }, { attempt: 2, outcome: "completed", status: 200, final: true, units: { document: 3 } }
    ])
    expect(reply.headers["x-gateway-fallback-attempts"]).toBe("1")
    // The first 404 rests nothing.
    expect((await rerank({ model: "lab/rr-second" })).status).toBe(200)
  })

  it("that is unknown at both paths is told so, and asked no third time", async () => {
    await lab.sim.rule({ match: { model: "rr-nowhere" }, script: { status: 404, error: { message: "no such model", code: "model_not_found" } } })
    const reply = await rerank({ model: "lab/rr-nowhere" })
    expect([reply.status, errorIn(reply)["message"]]).toEqual([404, expect.stringContaining("no such model")])
    expect((await seen("rr-nowhere")).map(({ path }) => path)).toEqual(["/v1/rerank", "/rerank"])
  })

  it("that fails otherwise is not asked at the second path, nor is a vendor", async () => {
    await lab.sim.rule({ match: { model: "rr-broken" }, script: { status: 500 } })
    expect((await rerank({ model: "lab/rr-broken" })).status).toBe(500)
    expect((await seen("rr-broken")).map(({ path }) => path)).toEqual(["/v1/rerank"])
    await lab.gateway.operator.createConnection({ provider: "cohere", apiKey: "co-rr-000000000001", providerSpecificData: { baseUrl: lab.sim.url } })
    await lab.sim.rule({ match: { model: "rerank-gone" }, script: { status: 404 } })
    expect((await rerank({ model: "cohere/rerank-gone" })).status).toBe(404)
    expect((await seen("rerank-gone")).map(({ path }) => path)).toEqual(["/v2/rerank"])
  })

  it("of a node without a version in its address takes the same two paths", async () => {
    const node = await lab.gateway.operator.createNode({ prefix: "bare", baseUrl: lab.sim.url })
    await lab.gateway.operator.createConnection({ provider: node, apiKey: "bare-credential-00001" })
    await lab.sim.rule({ match: { model: "rr-bare", path: "/v1/rerank" }, script: { status: 404 } })
    expect((await rerank({ model: "bare/rr-bare" })).status).toBe(200)
    expect((await seen("rr-bare")).map(({ path }) => path)).toEqual(["/v1/rerank", "/rerank"])
  })

  it("comes at /v2/rerank, too", async () => {
    const reply = await Http.send(lab.gateway.url, { path: "/v2/rerank", body: { model: "lab/rr-v2", query, documents, top_n: 1 } })
    expect(answerIn(reply).results).toEqual([{ index: 1, relevance_score: 1 }])
    expect(await lab.rows(reply)).toMatchObject([{ endpoint: "/v2/rerank", outcome: "completed" }])
  })

  it.each([
    ["a bare list", [{ index: 0, score: 0.2, text: "x" }, { index: 2, score: 0.7, text: "y" }]],
    ["results with scores", { results: [{ index: 2, score: 0.7 }, { index: 0, score: 0.2 }] }],
    ["results with relevance", { results: [{ index: 0, relevance_score: 0.2 }, { index: 2, relevance_score: 0.7 }] }],
    ["data", { object: "list", data: [{ index: 0, relevance_score: 0.2 }, { index: 2, relevance_score: 0.7 }] }]
  ] as const)("is told in one shape when its server answers with %s", async (name, body) => {
    const model = `rr-${name.replaceAll(" ", "-")}`
    await lab.sim.rule({ match: { model }, script: { status: 200, body } })
    expect(answerIn(await rerank({ model: `lab/${model}` })).results).toEqual([{ index: 2, relevance_score: 0.7 }, { index: 0, relevance_score: 0.2 }])
  })

  it.each([
    ["an index beyond the documents", { results: [{ index: 9, relevance_score: 1 }] }], ["no score", { results: [{ index: 0 }] }], ["no list", { hello: 1 }]
  ] as const)("that is answered with %s is not answered with it", async (name, body) => {
    const model = `rr-${name.replaceAll(" ", "-")}`
    await lab.sim.rule({ match: { model }, script: { status: 200, body } })
    const reply = await rerank({ model: `lab/${model}` })
    expect([reply.status, errorIn(reply)["code"]]).toEqual([502, "upstream_invalid_response"])
  })

  it.each([
    ["no query", { query: undefined }, "query"], ["no documents", { documents: undefined }, "documents"], ["an empty list", { documents: [] }, "documents"],
    ["a number among them", { documents: ["a", 7] }, "documents[1]"], ["nothing to answer", { top_n: 0 }, "top_n"], ["a word for a flag", { return_documents: "yes" }, "return_documents"]
  ] as const)("with %s is refused by the name of the field, and nothing is sent", async (_name, body, param) => {
    const reply = await rerank({ model: "lab/rr-refused", ...body })
    expect([reply.status, errorIn(reply)]).toEqual([400, expect.objectContaining({ code: "bad_request", param })])
    expect((await seen("rr-refused")).length).toBe(0)
  })

  it("asks vendors in their own words", async () => {
    const { operator } = lab.gateway
    await operator.createConnection({ provider: "voyage", apiKey: "pa-rr-000000000001", providerSpecificData: { baseUrl: `${lab.sim.url}/v1` } })
    const answer = answerIn(await rerank({ model: "voyage/rerank-2.5", top_n: 2, return_documents: true }))
    expect(answer.results.map(({ index, document }) => [index, document?.text])).toEqual([[1, documents[1]], [2, documents[2]]])
    const [entry] = await seen("rerank-2.5")
    expect(entry?.body).toEqual({ model: "rerank-2.5", query, documents, top_k: 2 })
    expect((await rerank({ model: "anthropic/claude-sonnet-4-5" })).text).toContain("Unknown rerank provider: anthropic")
    expect((await rerank({ model: "jina/jina-reranker-v3" })).text).toContain("No credentials for rerank provider: jina")
  })

  it.each([
    ["zeroentropy", "/v1", "zerank-1", "/v1/models/rerank"], ["contextual", "/v1", "ctxl-rerank-v1-instruct", "/v1/rerank"], ["openrouter", "/v1", "cohere/rerank-4-pro", "/v1/rerank"]
  ])("asks %s in the words that vendors share, at its own path", async (provider, base, model, path) => {
    await lab.gateway.operator.createConnection({ provider, apiKey: `${provider}-rr-00000001`, providerSpecificData: { baseUrl: `${lab.sim.url}${base}` } })
    const reply = await rerank({ model: `${provider}/${model}`, top_n: 2 })
    expect(answerIn(reply).results.map(({ index }) => index)).toEqual([1, 2])
    const [entry] = await seen(model)
    expect([entry?.path, entry?.body]).toEqual([path, { model, query, documents, top_n: 2 }])
    const [row] = await lab.rows(reply)
    // A price per search, or per token that the server counts; without one the row says so.
    expect([row?.outcome, row?.unpriced, (row?.costUsd ?? 0) > 0]).toEqual(["completed", provider === "contextual", provider !== "contextual"])
  })

  it("costs what its units cost, which budgets reserve", async () => {
    const { operator } = lab.gateway
    await operator.price(lab.node, "rr-priced", { per_search_unit: 0.6 })
    const key = await operator.createKey("spends")
    await operator.call("POST", "/api/usage/budget", { apiKeyId: key.id, dailyLimitUsd: 1 })
    const ask = () => rerank({ model: "lab/rr-priced" }, { authorization: `Bearer ${key.key}` })
    const first = await ask()
    expect([first.status, first.headers["x-gateway-response-cost"]]).toEqual([200, "0.6000000000"])
    expect(await lab.rows(first)).toMatchObject([{ endpoint: "/v1/rerank", units: { document: 3, query: 1, search_unit: 1 }, costUsd: 0.6, outcome: "completed" }])
    expect((await ask()).status).toBe(200)
    const refused = await ask()
    expect([refused.status, errorIn(refused)["code"]]).toEqual([429, "budget_exceeded"])
    expect((await seen("rr-priced")).length).toBe(2)
  })

  it("reserves what all documents of a large request cost", async () => {
    const { operator } = lab.gateway
    await operator.price(lab.node, "rr-large", { per_document: 0.001 })
    await lab.sim.rule({ match: { model: "rr-large" }, script: { neverHead: true } })
    const key = await operator.createKey("large")
    await operator.call("POST", "/api/usage/budget", { apiKeyId: key.id, dailyLimitUsd: 0.5 })
    const headers = { authorization: `Bearer ${key.key}` }
    const body = { model: "lab/rr-large", query, documents: Array.from({ length: 400 }, (_, i) => `${i} ${"long ".repeat(200)}`) }
    const { request } = Http.open(lab.gateway.url, { path: "/v1/rerank", headers, body })
    await eventually(() => seen("rr-large"), ([one]) => one?.outcome === "open", "the call of the upstream")
    const refused = await rerank(body, headers)
    expect([refused.status, errorIn(refused)["code"]]).toEqual([429, "budget_exceeded"])
    request.destroy()
    const [row] = await eventually(async () => (await lab.gateway.rows()).filter(({ model }) => model === "rr-large"), ({ length }) => length === 1, "its row")
    expect(row).toMatchObject({ units: { document: 400, search_unit: 4 }, costUsd: 0.4 })
  })

  it("falls back inside a combo, and leaves a row for each call", async () => {
    const [bad, good] = [await combos.place({ status: 503, error: { message: "away" } }), await combos.place()]
    const model = await combos.combo("priority", [bad.model, good.model], { config: { maxRetries: 0 } })
    const reply = await rerank({ model })
    expect(answerIn(reply).model).toBe(good.model)
    expect((await lab.rows(reply)).map(({ final, outcome }) => [outcome, final])).toEqual([["upstream-status", false], ["completed", true]])
  })

  it("with a key for other endpoints or models is refused before anything is sent", async () => {
    const { operator } = lab.gateway
    for (const policy of [{ allowedEndpoints: ["chat"] }, { allowedModels: ["lab/rr-other"] }]) {
      const { key } = await operator.createKey("other", policy)
      expect((await rerank({ model: "lab/rr-denied" }, { authorization: `Bearer ${key}` })).status).toBe(403)
    }
    expect((await seen("rr-denied")).length).toBe(0)
  })

  it("reaches a node elsewhere only with the flag that allows it", async () => {
    const { operator } = lab.gateway
    const node = await operator.createNode({ prefix: "far", baseUrl: "https://93.184.216.34/v1" })
    await operator.createConnection({ provider: node, apiKey: "far-credential-000001" })
    const refused = await rerank({ model: "far/ranker" })
    expect([refused.status, String(errorIn(refused)["message"])]).toEqual([400, expect.stringContaining("RERANK_REMOTE_PROVIDER_NODES")])
    await operator.setFlag("RERANK_REMOTE_PROVIDER_NODES", "true")
    const explained = await operator.call<{ targets: ReadonlyArray<{ model: string; format: string }> }>("POST", "/api/routing/explain", { model: "far/ranker", format: "rerank" })
    expect(explained.targets).toMatchObject([{ model: "far/ranker", format: "rerank" }])
  })
})
