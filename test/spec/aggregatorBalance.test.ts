/** Flag NEWAPI_AGGREGATOR_BALANCE: balances at nodes that are aggregators. */
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { errorIn, type Lab, startLab } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"

let lab: Lab
let aggregator: Server
let url = ""
const asked: Array<string> = []
const answers = new Map<string, unknown>()
beforeAll(async () => {
  lab = await startLab()
  aggregator = createServer((request, response) => {
    const key = request.headers.authorization?.replace("Bearer ", "") ?? ""
    asked.push(`${request.method} ${request.url} ${key}`)
    const answer = answers.get(`${request.url} ${key}`)
    response.writeHead(answer === undefined ? 404 : 200, { "content-type": "application/json" }).end(JSON.stringify(answer ?? { error: { message: "Invalid URL" } }))
  })
  await new Promise<void>((resolve) => aggregator.listen(0, "127.0.0.1", resolve))
  url = `http://127.0.0.1:${(aggregator.address() as AddressInfo).port}/v1`
})
afterAll(async () => {
  await lab.close()
  aggregator.close()
})

const SUBSCRIPTION = "/v1/dashboard/billing/subscription"
const USAGE = "/v1/dashboard/billing/usage"
const connect = (provider: string, apiKey: string, providerSpecificData: Record<string, unknown> = {}) =>
  lab.gateway.operator.createConnection({ provider, apiKey, name: apiKey, providerSpecificData })
interface Row { readonly window: string | null; readonly percentRemaining: number | null; readonly quotaTotal: number | null; readonly resetAt: string | null }
const rowOf = async (id: string): Promise<Row | undefined> =>
  (await lab.gateway.operator.call<{ providers: ReadonlyArray<Row> }>("GET", `/api/usage/quota?connectionId=${id}`)).providers[0]

describe("the balance of an aggregator", () => {
  it("is read for connections that say so while the flag is on, and shown with them; nothing else is asked", async () => {
    const { operator } = lab.gateway
    const node = await operator.createNode({ prefix: "agg", baseUrl: url })
    answers.set(`${SUBSCRIPTION} sk-agg-key-number-1`, { object: "billing_subscription", has_payment_method: true, hard_limit_usd: 20 })
    answers.set(`${USAGE} sk-agg-key-number-1`, { object: "list", total_usage: 500 })
    const read = await connect(node, "sk-agg-key-number-1", { newApiAggregatorBalance: true })
    const broken = await connect(node, "sk-agg-key-number-2", { newApiAggregatorBalance: true })
    const silent = await connect(node, "sk-agg-key-number-3", { newApiAggregatorBalance: false })
    expect(asked).toEqual([])
    await operator.setFlag("NEWAPI_AGGREGATOR_BALANCE", "true")
    const row = await eventually(() => rowOf(read), (seen) => seen?.window !== null, "the balance of the connection")
    expect(row).toMatchObject({ window: "balance", quotaTotal: 20, percentRemaining: 75, resetAt: null })
    expect(await operator.call("GET", `/api/usage/${read}`)).toMatchObject({ quotas: { balance: { remaining: 15, total: 20 } } })
    await eventually(() => Promise.resolve(asked), (all) => all.length >= 3, "the call of the other connection")
    expect([...new Set(asked)].toSorted()).toEqual([`GET ${SUBSCRIPTION} sk-agg-key-number-1`, `GET ${SUBSCRIPTION} sk-agg-key-number-2`, `GET ${USAGE} sk-agg-key-number-1`])
    expect([(await rowOf(broken))?.window, (await rowOf(silent))?.window]).toEqual([null, null])
  })

  it("is no word other than true, false and null", async () => {
    const reply = await lab.gateway.operator.raw("PUT", `/api/providers/${lab.connection}`, { providerSpecificData: { newApiAggregatorBalance: "yes" } })
    expect([reply.status, errorIn(reply)["details"]]).toEqual([400, [{ field: "providerSpecificData.newApiAggregatorBalance", message: "Expected true, false or null" }]])
  })
})
