import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { version } from "#schemas/version.ts"
import { type Lab, startLab } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"
import * as Http from "#test/support/http.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab()
  await lab.gateway.operator.price(lab.node, "priced", { input: 0.15, output: 0.6, cached: 0.075 })
  await lab.gateway.operator.price(lab.node, "priced-stream", { input: 3, output: 15 })
})
afterAll(() => lab.close())

describe("response headers", () => {
  it("X-Gateway-Decision is 'strategy=single; provider=<alias>; latency_ms=<n>' on a whole answer and on a stream", async () => {
    const form = /^strategy=single; provider=lab; latency_ms=\d+$/
    expect((await lab.chat({ model: "echo" })).headers["x-gateway-decision"]).toMatch(form)
    expect((await lab.chat({ model: "echo", stream: true })).headers["x-gateway-decision"]).toMatch(form)
  })

  it("X-Gateway-Version is always present: answers, streams, refusals, unknown routes, lists", async () => {
    const { url } = lab.gateway
    const replies = [
      await lab.chat({ model: "echo" }),
      await lab.chat({ model: "echo", stream: true }),
      await lab.chat({ model: "nowhere/x" }),
      await lab.chat({ model: "error-503" }),
      await Http.send(url, { path: "/v1/nothing-here" }),
      await Http.send(url, { path: "/v1/models" }),
      await Http.send(url, { path: "/v1/chat/completions", method: "GET" })
    ]
    expect(replies.map((reply) => reply.headers["x-gateway-version"])).toEqual(replies.map(() => version))
  })

  it("X-Gateway-Request-Id is given on every inference reply, and differs per request", async () => {
    const ids = [
      (await lab.chat({ model: "echo" })).headers["x-gateway-request-id"],
      (await lab.chat({ model: "echo", stream: true })).headers["x-gateway-request-id"],
      (await lab.chat({ model: "nowhere/x" })).headers["x-gateway-request-id"]
    ]
    expect(ids.every((id) => typeof id === "string" && id.length > 0)).toBe(true)
    expect(new Set(ids).size).toBe(3)
  })

  it("a well-formed X-Request-Id of the client becomes the request id; an ill-formed one does not", async () => {
    const given = await lab.chat({ model: "echo" }, { "x-request-id": "trace-7.a:b_c" })
    expect(given.headers["x-gateway-request-id"]).toBe("trace-7.a:b_c")
    expect((await lab.rows(given)).map((row) => row.requestId)).toEqual(["trace-7.a:b_c"])
    const refused = await lab.chat({ model: "echo" }, { "x-request-id": "two words; and more" })
    expect(refused.headers["x-gateway-request-id"]).not.toContain("two words")
  })

  it("X-Gateway-Session-Id is persisted verbatim, echoed, and never synthesized when absent", async () => {
    const tagged = await lab.chat({ model: "echo" }, { "x-gateway-session-id": "Session 42/α".replace("α", "a") })
    expect(tagged.headers["x-gateway-session-id"]).toBe("Session 42/a")
    expect((await lab.rows(tagged)).map((row) => row.sessionTag)).toEqual(["Session 42/a"])
    const untagged = await lab.chat({ model: "echo" })
    expect(untagged.headers).not.toHaveProperty("x-gateway-session-id")
    expect((await lab.rows(untagged)).map((row) => row.sessionTag)).toEqual([null])
    const streamed = await lab.chat({ model: "echo", stream: true }, { "x-session-id": "sticky" })
    expect(streamed.headers["x-gateway-session-id"]).toBe("sticky")
    expect((await lab.rows(streamed)).map((row) => row.sessionTag)).toEqual([null])
    const both = await lab.chat({ model: "echo" }, { "x-session-id": "sticky", "x-gateway-session-id": "invoice-7" })
    expect(both.headers["x-gateway-session-id"]).toBe("invoice-7")
    expect((await lab.rows(both)).map((row) => row.sessionTag)).toEqual(["invoice-7"])
  })

  it("GET /api/sessions shows a session by its X-Session-Id, counts its requests once and names who answered last, and shows no secret", async () => {
    const { operator } = lab.gateway
    interface Seen { readonly sessionId: string; readonly requestCount: number; readonly connectionId: string | null }
    const sessions = async () => (await operator.call<{ sessions: ReadonlyArray<Seen> }>("GET", "/api/sessions")).sessions
    for (const headers of [{ "x-session-id": "live-1" }, { x_session_id: "live-1" }, { "x-session-id": "live-2", "x-gateway-session-id": "tagged-2" }]) {
      expect((await lab.chat({ model: "echo" }, headers)).status).toBe(200)
    }
    await lab.chat({ model: "echo" }, { "x-session-id": "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789" })
    const seen = await eventually(sessions, (list) => list.some(({ sessionId }) => sessionId === "tagged-2"), "the tagged session's row")
    expect(seen.find(({ sessionId }) => sessionId === "live-1")).toMatchObject({ requestCount: 2, connectionId: lab.connection })
    expect(seen.filter(({ sessionId }) => sessionId === "live-2")).toEqual([])
    expect(JSON.stringify(seen)).not.toContain("abcdefghijklmnopqrstuvwxyz")
  })

  it("X-Gateway-Compression is '<mode>; source=<source>', and X-Gateway-Cache is MISS on a whole answer", async () => {
    const reply = await lab.chat({ model: "echo" }, { "x-gateway-compression": "default" })
    expect(reply.headers["x-gateway-compression"]).toBe("off; source=off")
    expect(reply.headers["x-gateway-cache"]).toBe("MISS")
    expect(reply.headers["x-gateway-cache-hit"]).toBe("false")
    expect(reply.headers).not.toHaveProperty("x-gateway-cache-latency")
    expect(reply.headers).not.toHaveProperty("x-gateway-cost-saved")
    expect(reply.headers).not.toHaveProperty("x-gateway-idempotent")
  })

  it("X-Gateway-Model and X-Gateway-Provider name the canonical model and provider, never a generated node id", async () => {
    const reply = await lab.chat({ model: "echo" })
    expect(reply.headers["x-gateway-model"]).toBe("lab/echo")
    expect(reply.headers["x-gateway-provider"]).toBe("lab")
    expect(JSON.stringify(reply.headers)).not.toContain(lab.node)
  })

  it("X-Gateway-Fallback-Attempts is present only when greater than 0", async () => {
    expect((await lab.chat({ model: "echo" })).headers).not.toHaveProperty("x-gateway-fallback-attempts")
  })

  it("a stream is text/event-stream, Cache-Control no-cache, no-transform, X-Accel-Buffering no", async () => {
    const { headers } = await lab.chat({ model: "echo", stream: true })
    expect(headers["content-type"]).toBe("text/event-stream")
    expect(headers["cache-control"]).toBe("no-cache, no-transform")
    expect(headers["x-accel-buffering"]).toBe("no")
  })

  it("the upstream's own headers stay upstream, except its rate-limit view and request id", async () => {
    await lab.sim.rule({
      match: { model: "chatty" },
      script: { headers: {
        "set-cookie": "upstream=1", "server": "vendor", "x-internal-route": "cell-7", "openai-organization": "org-of-the-operator",
        "x-ratelimit-remaining-requests": "41", "x-request-id": "vendor-9"
      } }
    })
    for (const stream of [false, true]) {
      const { headers } = await lab.chat({ model: "chatty", stream })
      expect(headers["x-ratelimit-remaining-requests"]).toBe("41")
      expect(headers["x-upstream-request-id"]).toBe("vendor-9")
      for (const name of ["set-cookie", "server", "x-internal-route", "openai-organization"]) expect(headers).not.toHaveProperty(name)
    }
  })
})

describe("cost telemetry", () => {
  it("X-Gateway-Response-Cost has 10 fixed decimals: (in - cached) x input + cached x cached + out x output, per million", async () => {
    await lab.sim.rule({ match: { model: "priced" }, script: { usage: { promptTokens: 1_234, completionTokens: 567, cachedTokens: 200 } } })
    const reply = await lab.chat({ model: "priced" })
    // 1034 x 0.15 + 200 x 0.075 + 567 x 0.6 = 510.3 USD per million
    expect(reply.headers["x-gateway-response-cost"]).toBe("0.0005103000")
    expect(reply.headers["x-gateway-tokens-in"]).toBe("1234")
    expect(reply.headers["x-gateway-tokens-out"]).toBe("567")
    expect(Number(reply.headers["x-gateway-latency-ms"])).toBeGreaterThanOrEqual(0)
    const [row] = await lab.rows(reply)
    expect(row).toMatchObject({ costUsd: 0.0005103, tokensIn: 1_234, tokensOut: 567, tokensCacheRead: 200, estimated: false })
  })

  it("the cost is 0.0000000000 when the model is unpriced", async () => {
    expect((await lab.chat({ model: "echo" })).headers["x-gateway-response-cost"]).toBe("0.0000000000")
  })

  it("a stream carries no cost header (its usage comes last) and its row has the cost", async () => {
    await lab.sim.rule({ match: { model: "priced-stream" }, script: { usage: { promptTokens: 1_000, completionTokens: 500 } } })
    const reply = await lab.chat({ model: "priced-stream", stream: true })
    for (const name of ["x-gateway-response-cost", "x-gateway-tokens-in", "x-gateway-tokens-out"]) expect(reply.headers).not.toHaveProperty(name)
    const [row] = await lab.rows(reply)
    expect(row).toMatchObject({ costUsd: 0.0105, tokensIn: 1_000, tokensOut: 500, outcome: "completed", status: 200 })
    expect(row?.ttftMs).toBeTypeOf("number")
  })

  it("usage that the upstream does not give is estimated from the text and marked so", async () => {
    await lab.sim.rule({ match: { model: "no-usage" }, script: { usage: "omit", text: "Ten words of plain English text are easily counted here." } })
    for (const stream of [false, true]) {
      const [row] = await lab.rows(await lab.chat({ model: "no-usage", stream }))
      expect(row?.estimated).toBe(true)
      expect(row?.tokensOut).toBeGreaterThan(5)
      expect(row?.tokensOut).toBeLessThan(25)
      expect(row?.tokensIn).toBeGreaterThan(2)
    }
  })
})
