/** Where the time of an attempt goes: each row of the call log tells it, in an order that a waterfall can draw. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { CallLog } from "#src/features/usage/api.ts"
import * as Http from "#test/support/http.ts"
import { type Lab, startLab } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab()
  await lab.sim.rule({ match: { model: "steady" }, script: { ttftMs: 40, tokens: 4, paceMs: 10 } })
  await lab.sim.rule({ match: { model: "broken" }, script: { status: 500, latencyMs: 30 } })
})
afterAll(() => lab.close())

const attemptsOf = async (reply: { readonly headers: Readonly<Record<string, string>> }, count: number): Promise<ReadonlyArray<CallLog>> => {
  const id = reply.headers["x-gateway-request-id"] ?? ""
  const read = async () => (await lab.gateway.operator.raw("GET", `/api/usage/call-logs/${id}`))
  const { text } = await eventually(read, ({ status, text: body }) => status === 200 && (JSON.parse(body) as { attempts: ReadonlyArray<unknown> }).attempts.length === count, "the rows of the request")
  return (JSON.parse(text) as { attempts: ReadonlyArray<CallLog> }).attempts
}

describe("the phases of an attempt", () => {
  it("stand in the order in which they were reached", async () => {
    const reply = await lab.stream({ model: "steady" })
    await reply.ended
    expect(reply.status).toBe(200)
    const [row] = await attemptsOf(reply, 1)
    const { before, end, head, limits, queue, sent } = row?.phases ?? expect.fail("the row has no phases")
    for (const waited of [before, queue, limits]) expect(waited).toBeGreaterThanOrEqual(0)
    const places = [0, sent, head, row?.ttft, end, row?.duration].map((ms) => ms ?? Number.NaN)
    expect(places).toEqual(places.toSorted((a, b) => a - b))
    expect(row?.hasPipelineDetails).toBe(true)
  })

  it("of a second attempt count from the same request: the first one stands before it", async () => {
    await lab.gateway.operator.call("POST", "/api/combos", { name: "phases", strategy: "priority", models: [{ kind: "model", model: "lab/broken" }, { kind: "model", model: "lab/steady" }] })
    const reply = await Http.send(lab.gateway.url, { path: "/v1/chat/completions", body: { model: "phases", messages: [{ role: "user", content: "Hello" }] } })
    expect(reply.status).toBe(200)
    const [first, second] = await attemptsOf(reply, 2)
    const lost = Date.parse(second?.timestamp ?? "") - Date.parse(first?.timestamp ?? "")
    const waited = ({ phases }: CallLog) => phases === null ? Number.NaN : phases.before + phases.queue + phases.limits
    expect(waited(second as CallLog) - waited(first as CallLog)).toBe(lost)
    expect(second?.phases?.before).toBeGreaterThanOrEqual(Math.floor(first?.phases?.end ?? Number.NaN))
  })

  it("that were not reached are null: a refused connection has no head", async () => {
    const node = await lab.gateway.operator.createNode({ prefix: "gone", baseUrl: "http://127.0.0.1:9/v1" })
    await lab.gateway.operator.createConnection({ provider: node, apiKey: "sk-nobody" })
    const reply = await Http.send(lab.gateway.url, { path: "/v1/chat/completions", body: { model: "gone/any", messages: [{ role: "user", content: "Hello" }] } })
    const rows = await attemptsOf(reply, 1)
    expect(rows[0]?.phases).toMatchObject({ sent: null, head: null })
  })
})
