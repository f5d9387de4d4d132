/** What is counted beside tokens: a price per unit, what it makes of rows, headers, sums and budgets. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { errorIn, type Lab, startLab } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab()
})
afterAll(() => lab.close())

const embed = (model: string, headers: Readonly<Record<string, string>> = {}) =>
  Http.send(lab.gateway.url, { path: "/v1/embeddings", headers, body: { model: `lab/${model}`, input: "a" } })
const usage = (promptTokens: number, completionTokens = 0) => ({ promptTokens, completionTokens, totalTokens: promptTokens + completionTokens })

describe("a model with a price per request", () => {
  it("costs its tokens and the request, which row, header and sums tell", async () => {
    const { operator } = lab.gateway
    await operator.price(lab.node, "un-embed", { input: 2, per_request: 0.005 })
    await lab.sim.rule({ match: { model: "un-embed" }, script: { usage: usage(500) } })
    const reply = await embed("un-embed")
    expect([reply.status, reply.headers["x-gateway-response-cost"]]).toEqual([200, "0.0060000000"])
    const row = { tokensIn: 500, units: { request: 1 }, unpriced: false, costUsd: 0.006 }
    expect(await lab.rows(reply)).toMatchObject([row])
    const log = await operator.call("GET", "/api/usage/call-logs?model=un-embed")
    expect(log).toMatchObject([{ tokensIn: 500, units: { request: 1 }, unpriced: false, cost: 0.006 }])
    const history = await operator.call("GET", "/api/usage/history")
    expect(history).toMatchObject({ totalUnits: { request: 1 }, byModel: { "un-embed (lab)": { units: { request: 1 }, cost: 0.006 } } })
  })

  it("costs the same when its answer is streamed, and nothing when it failed", async () => {
    const { operator } = lab.gateway
    await operator.price(lab.node, "un-chat", { input: 1, output: 1, per_request: 0.01 })
    await lab.sim.rule({ match: { model: "un-chat" }, script: { tokens: 2, usage: usage(10, 2) } })
    expect(await lab.rows(await lab.chat({ model: "un-chat", stream: true }))).toMatchObject([{ units: { request: 1 }, costUsd: 0.010012 }])
    await operator.price(lab.node, "un-failed", { per_request: 0.01 })
    await lab.sim.rule({ match: { model: "un-failed" }, script: { status: 400 } })
    expect(await lab.rows(await lab.chat({ model: "un-failed" }))).toMatchObject([{ units: null, costUsd: 0 }])
  })

  it("is reserved for while it runs: a second call beyond the budget is not made", async () => {
    const { operator } = lab.gateway
    await operator.price(lab.node, "un-dear", { per_request: 2 })
    await lab.sim.rule({ match: { model: "un-dear" }, script: { tokens: 100_000, paceMs: 20 } })
    const key = await operator.createKey("units")
    const headers = { authorization: `Bearer ${key.key}` }
    await operator.call("POST", "/api/usage/budget", { apiKeyId: key.id, dailyLimitUsd: 3 })
    const held = await lab.stream({ model: "un-dear" }, headers)
    expect(held.status).toBe(200)
    const refused = await lab.chat({ model: "un-dear" }, headers)
    expect([refused.status, errorIn(refused)["code"]]).toEqual([429, "budget_exceeded"])
    held.leave()
    const rows = await eventually(() => lab.rows(held), ({ length }) => length === 1, "the row of the call that was left")
    expect(rows).toMatchObject([{ outcome: "client-abort", units: { request: 1 }, costUsd: 2 }])
    expect((await lab.sim.entries({ model: "un-dear" })).length).toBe(1)
  })
})

it("a model without such a price counts no units, and its prices are kept by name", async () => {
  const reply = await embed("un-none")
  expect(await lab.rows(reply)).toMatchObject([{ units: null, unpriced: false }])
  const names = ["per_image", "per_second", "per_character", "per_search_unit", "per_query", "per_page", "per_document", "per_request"]
  const price = Object.fromEntries(names.map((name, i) => [name, i + 1]))
  await lab.gateway.operator.price(lab.node, "un-all", price)
  const prices = await lab.gateway.operator.call("GET", "/api/pricing")
  expect(prices).toMatchObject({ lab: { "un-all": price } })
})
