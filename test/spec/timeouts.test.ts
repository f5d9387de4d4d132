import * as Net from "node:net"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { errorIn, framesOf, type Lab, startLab } from "#test/support/lab.ts"
import { watchLate } from "#test/support/late.ts"

const HEADERS_MS = 700
const READINESS_MS = 400
const IDLE_MS = 500
const TOTAL_MS = 1_900

let lab: Lab
beforeAll(async () => {
  lab = await startLab({
    environment: {
      FETCH_HEADERS_TIMEOUT_MS: String(HEADERS_MS), STREAM_READINESS_TIMEOUT_MS: String(READINESS_MS), STREAM_IDLE_TIMEOUT_MS: String(IDLE_MS),
      GATEWAY_TOTAL_TIMEOUT_MS: String(TOTAL_MS), FETCH_CONNECT_TIMEOUT_MS: "600"
    }
  })
})
afterAll(() => lab.close())

/** An ended deadline is late by scheduling only; the guard is wide because test machines are shared. */
const LATE_MS = 1_000

/** Runs the call and answers how long it took, too, and what more than its deadline it may have taken. */
const timed = async (run: () => Promise<Http.Reply>) => {
  const late = watchLate()
  const from = performance.now()
  const reply = await run()
  return { reply, ms: performance.now() - from, guardMs: LATE_MS + late() }
}

describe("every phase has its own timeout and its own code", () => {
  it("headers: 504 upstream_headers_timeout", async () => {
    for (const stream of [false, true]) {
      const { guardMs, ms, reply } = await timed(() => lab.chat({ model: "hang", stream }))
      expect([reply.status, errorIn(reply)["code"]]).toEqual([504, "upstream_headers_timeout"])
      expect(ms).toBeGreaterThanOrEqual(HEADERS_MS - 20)
      expect(ms).toBeLessThan(HEADERS_MS + guardMs)
      const [row] = await lab.rows(reply)
      expect(row).toMatchObject({ outcome: "gateway-timeout", phase: "headers", status: 504, upstreamStatus: 0 })
    }
  })

  it("first useful event: 504, type stream_timeout, code STREAM_READINESS_TIMEOUT; keepalives do not count", async () => {
    await lab.sim.rule({ match: { model: "not-ready" }, script: { ttftMs: 60_000, keepaliveMs: 50, tokens: 3 } })
    const { guardMs, ms, reply } = await timed(() => lab.chat({ model: "not-ready", stream: true }))
    expect(reply.status).toBe(504)
    expect(errorIn(reply)).toMatchObject({ type: "stream_timeout", code: "STREAM_READINESS_TIMEOUT" })
    expect(ms).toBeLessThan(READINESS_MS + guardMs)
    expect(await lab.rows(reply)).toMatchObject([{ outcome: "gateway-timeout", phase: "first-event", upstreamStatus: 200 }])
  })

  it("idle: one error frame upstream_idle_timeout, then [DONE]", async () => {
    const { guardMs, ms, reply } = await timed(() => lab.chat({ model: "stall-4", stream: true }))
    expect([reply.status, reply.whole, Http.payloads(reply.text).at(-1)]).toEqual([200, true, "[DONE]"])
    expect(framesOf(reply.text).at(-1)?.["error"]).toMatchObject({ code: "upstream_idle_timeout" })
    expect(ms).toBeLessThan(IDLE_MS + guardMs)
    const [row] = await lab.rows(reply)
    expect(row).toMatchObject({ outcome: "gateway-timeout", phase: "idle", errorCode: "upstream_idle_timeout", estimated: true })
  })

  it("total: a stream that never stalls ends with upstream_total_timeout", async () => {
    await lab.sim.rule({ match: { model: "endless" }, script: { tokens: 1_000, paceMs: 40 } })
    const { guardMs, ms, reply } = await timed(() => lab.chat({ model: "endless", stream: true }))
    expect(framesOf(reply.text).at(-1)?.["error"]).toMatchObject({ code: "upstream_total_timeout" })
    expect(ms).toBeGreaterThanOrEqual(TOTAL_MS - 50)
    expect(ms).toBeLessThan(TOTAL_MS + guardMs)
    expect(await lab.rows(reply)).toMatchObject([{ outcome: "gateway-timeout", phase: "total" }])
  })

  it("total bounds the whole request over all its attempts", async () => {
    await lab.pool("slowpool", ["slowpool-credential-0", "slowpool-credential-1", "slowpool-credential-2", "slowpool-credential-3"])
    const { guardMs, ms, reply } = await timed(() => lab.chat({ model: "slowpool/hang" }))
    expect(reply.status).toBe(504)
    expect(ms).toBeLessThan(TOTAL_MS + guardMs)
    const rows = await lab.rows(reply)
    // Two whole attempts fit, and a third one in part, unless the machine was late.
    expect(rows.length).toBeGreaterThanOrEqual(2)
    expect(rows.length).toBeLessThanOrEqual(3)
    expect(rows.at(-1)).toMatchObject({ phase: "total", errorCode: "upstream_total_timeout", final: true })
  })

  it("connect: 504 upstream_connect_timeout when nobody takes the connection", async () => {
    // A listener whose queue is full never completes a handshake: no address outside this machine is needed.
    const server = Net.createServer()
    await new Promise<void>((resolve) => server.listen({ host: "127.0.0.1", port: 0, backlog: 1 }, resolve))
    const { port } = server.address() as Net.AddressInfo
    const { operator } = lab.gateway
    const node = await operator.createNode({ prefix: "deaf", baseUrl: `https://127.0.0.1:${port}/v1` })
    await operator.createConnection({ provider: node, apiKey: "sk-deaf-00000000000001" })
    const { guardMs, ms, reply } = await timed(() => lab.chat({ model: "deaf/x" }))
    server.close()
    expect([reply.status, errorIn(reply)["code"]]).toEqual([504, "upstream_connect_timeout"])
    expect(ms).toBeLessThan(600 + guardMs)
    expect(await lab.rows(reply)).toMatchObject([{ outcome: "gateway-timeout", phase: "connect", upstreamStatus: 0 }])
  })

  it("a timed-out connection is not used again: the next request is answered at once", async () => {
    const { guardMs, ms, reply } = await timed(() => lab.chat({ model: "echo" }))
    expect(reply.status).toBe(200)
    expect(ms).toBeLessThan(guardMs)
    await lab.sim.idle()
    expect((await lab.sim.summary()).open).toBe(0)
  })
})
