/** The status of a row is the outcome of its attempt; what the client was given stands beside it. Every reader says the same. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { type Lab, startLab } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab({
    // A refusal that comes at once comes before the early head, on a busy machine, too.
    environment: { FETCH_HEADERS_TIMEOUT_MS: "8000", STREAM_READINESS_TIMEOUT_MS: "8000", STREAM_IDLE_TIMEOUT_MS: "1500", GATEWAY_EARLY_KEEPALIVE_MS: "6000" }
  })
})
afterAll(() => lab.close())

interface Case {
  readonly name: string
  readonly script: Record<string, unknown>
  readonly stream: boolean
  readonly outcome: string
  readonly status: number
  readonly clientStatus: number
}
const cases: ReadonlyArray<Case> = [
  { name: "an answer", script: {}, stream: false, outcome: "completed", status: 200, clientStatus: 200 },
  { name: "a streamed answer", script: {}, stream: true, outcome: "completed", status: 200, clientStatus: 200 },
  { name: "an upstream's refusal", script: { status: 429, error: { message: "slow down" } }, stream: true, outcome: "upstream-status", status: 429, clientStatus: 429 },
  { name: "a stream that ends early", script: { tokens: 9, endAfter: { frames: 4 } }, stream: true, outcome: "upstream-reset", status: 502, clientStatus: 200 },
  { name: "a stream that is reset", script: { tokens: 9, paceMs: 5, resetAfter: { frames: 4 } }, stream: true, outcome: "upstream-reset", status: 502, clientStatus: 200 },
  { name: "an error inside the stream", script: { tokens: 9, malformed: [{ kind: "error", at: 4, raw: JSON.stringify({ error: { message: "slow down", type: "rate_limit_error", code: "rate_limit_exceeded" } }) }] }, stream: true, outcome: "upstream-status", status: 429, clientStatus: 200 },
  { name: "a stream that falls silent", script: { tokens: 9, hangAfter: { frames: 4 } }, stream: true, outcome: "gateway-timeout", status: 504, clientStatus: 200 },
  { name: "silence before the head", script: { neverHead: true }, stream: false, outcome: "gateway-timeout", status: 504, clientStatus: 504 },
  { name: "silence behind a head that went ahead", script: { neverHead: true }, stream: true, outcome: "gateway-timeout", status: 504, clientStatus: 200 },
  { name: "a whole answer cut short", script: { closeAfter: { bytes: 40 } }, stream: false, outcome: "upstream-reset", status: 502, clientStatus: 502 }
]

const shown = async (model: string) => {
  const { operator } = lab.gateway
  await operator.settled()
  const logs = await eventually(
    () => operator.call<ReadonlyArray<{ model: string; status: number; clientStatus: number | null; outcome: string }>>("GET", "/api/usage/call-logs?limit=500"),
    (answer) => answer.some((log) => log.model === model), `the row of ${model}`
  )
  return logs.filter((log) => log.model === model)
}

describe.concurrent("the status of an attempt", () => {
  it.each(cases)("$name", async ({ clientStatus, outcome, script, status, stream }) => {
    const model = `status-${cases.findIndex((one) => one.script === script && one.stream === stream)}`
    await lab.sim.rule({ match: { model }, script })
    const reply = await lab.chat({ model, ...(stream ? { stream } : {}) })
    expect(reply.status).toBe(clientStatus)
    const expected = { outcome, status, clientStatus }
    const last = (await lab.rows(reply)).at(-1)
    expect(last).toMatchObject(expected)
    expect((await shown(model)).map((log) => ({ outcome: log.outcome, status: log.status, clientStatus: log.clientStatus }))).toContainEqual(expected)
    const { operator } = lab.gateway
    const listed = await operator.call<ReadonlyArray<{ model: string }>>("GET", `/api/usage/call-logs?limit=500&status=${status < 400 ? "success" : "error"}`)
    expect(listed.some((log) => log.model === model)).toBe(true)
  })

  it("a client that leaves in its stream was given 200, and 499 is the outcome", async () => {
    await lab.sim.rule({ match: { model: "status-left" }, script: { tokens: 100_000, paceMs: 5 } })
    const opened = await lab.stream({ model: "status-left" })
    await opened.until((text) => text.includes("content"))
    opened.leave()
    await lab.sim.ended({ model: "status-left", outcome: "client-aborted" }, 1)
    const rows = await eventually(() => lab.gateway.rows(opened.headers["x-gateway-request-id"] ?? ""), ({ length }) => length > 0, "its row")
    expect(rows).toMatchObject([{ outcome: "client-abort", status: 499, clientStatus: 200 }])
  })

  it("a client that leaves before anything came was given nothing", async () => {
    await lab.sim.rule({ match: { model: "status-early" }, script: { neverHead: true } })
    const call = Http.open(lab.gateway.url, lab.call({ model: "status-early" }))
    call.response.catch(() => undefined)
    await eventually(() => lab.sim.entries({ model: "status-early" }), ({ length }) => length === 1, "its call")
    call.request.destroy()
    const [log] = await shown("status-early")
    expect(log).toMatchObject({ outcome: "client-abort", status: 499, clientStatus: null })
  })

  it("an attempt that another one follows gave the client nothing", async () => {
    await lab.pool("status-pool", ["status-pool-credential-0", "status-pool-credential-1"])
    await lab.sim.rule({ match: { model: "status-next" }, script: { status: 503, error: { message: "down" } }, times: 1 })
    const reply = await lab.chat({ model: "status-pool/status-next" })
    expect((await lab.rows(reply)).map(({ clientStatus, status }) => [status, clientStatus])).toEqual([[503, 0], [200, 200]])
  })
})
