/** Hedging of combos over HTTP: which target answers, what the other one costs, and that nothing of it stays. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { contentOf, errorIn, type Lab, startLab } from "#test/support/lab.ts"
import { watchLate } from "#test/support/late.ts"
import { eventually } from "#test/support/operator.ts"

/** Wire calls that one request may cost. */
const BUDGET = 4
/** Guard of a cancellation on a shared machine; the promise is 50 ms. */
const CANCEL_GUARD_MS = 250

let lab: Lab
beforeAll(async () => {
  lab = await startLab({ resilience: "awake", environment: { GATEWAY_MAX_ATTEMPTS: String(BUDGET) } })
})
afterAll(() => lab.close())

let made = 0
/** A provider of its own whose model answers by the script; answers its prefix. */
const provider = async (script: Record<string, unknown>): Promise<string> => {
  const prefix = `h${++made}`
  await lab.pool(prefix, [`${prefix}-credential-number-0`])
  await lab.sim.rule({ match: { model: `m-${prefix}` }, script })
  return prefix
}
const combo = async (scripts: ReadonlyArray<Record<string, unknown>>, config: Record<string, unknown> = {}) => {
  const prefixes: Array<string> = []
  for (const script of scripts) prefixes.push(await provider(script))
  const name = `hedged-${made}`
  await lab.gateway.operator.call("POST", "/api/combos", {
    name, models: prefixes.map((prefix) => `${prefix}/m-${prefix}`), config: { hedging: true, hedgeDelayMs: 60, maxRetries: 0, ...config }
  })
  return { name, model: `combo/${name}`, prefixes, ended: (index: number) => lab.sim.ended({ model: `m-${prefixes[index]}` }), calls: (index: number) => lab.sim.entries({ model: `m-${prefixes[index]}` }) }
}
const answerOf = (reply: { readonly text: string }): string =>
  (JSON.parse(reply.text) as { choices: ReadonlyArray<{ message: { content: string } }> }).choices[0]?.message.content ?? ""
const rowsOf = async (reply: Parameters<Lab["rows"]>[0]) =>
  (await lab.rows(reply)).map(({ attempt, errorCode, final, outcome }) => [attempt, outcome, errorCode, final])
type Trace = { readonly decision: { readonly ok: boolean | null; readonly trace: { readonly entries: ReadonlyArray<Record<string, unknown>> } } }
const decisionOf = (reply: { readonly headers: Readonly<Record<string, string>> }) =>
  lab.gateway.operator.call<Trace>("GET", `/api/routing/decisions/${reply.headers["x-gateway-request-id"]}`)

describe("a hedged combo whose first target is silent", () => {
  it("whole: the second answers, the first is cut at once and has a row of its own", async () => {
    const { ended, model, name, prefixes } = await combo([{ neverHead: true }, { text: "two" }])
    const late = watchLate()
    const reply = await lab.chat({ model })
    expect([reply.status, answerOf(reply), reply.headers["x-gateway-fallback-attempts"]]).toEqual([200, "two", "1"])
    expect(reply.headers["x-gateway-model"]).toBe(`${prefixes[1]}/m-${prefixes[1]}`)
    expect(await rowsOf(reply)).toEqual([[1, "policy", "hedge_lost", false], [2, "completed", null, true]])
    const [[first], [second]] = [await ended(0), await ended(1)]
    expect(first?.outcome).toBe("client-aborted")
    expect((first?.abortedAt ?? Infinity) - (second?.endedAt ?? 0)).toBeLessThan(CANCEL_GUARD_MS + late())
    // Who lost did not fail: neither for its breaker, nor for the combo.
    const { decision } = await decisionOf(reply)
    expect(decision.ok).toBe(true)
    expect(decision.trace.entries).toMatchObject([{ outcome: "failed", code: "hedge_lost" }, { outcome: "chosen", position: 2 }])
    const { metrics } = await lab.gateway.operator.call<{ metrics: { requests: number } }>("GET", `/api/combos/metrics?combo=${name}`)
    expect(metrics.requests).toBe(1)
    expect(JSON.stringify(metrics)).not.toContain(`m-${prefixes[0]}`)
  })

  it.each([false, true])("the prompt of the call that lost is paid for, stream %s", async (stream) => {
    const { model, prefixes } = await combo([{ ttftMs: 20_000, text: "one" }, { text: "two" }])
    const { nodes } = await lab.gateway.operator.call<{ nodes: ReadonlyArray<{ id: string; prefix: string }> }>("GET", "/api/provider-nodes")
    const { id } = nodes.find(({ prefix }) => prefix === prefixes[0]) ?? { id: "" }
    await lab.gateway.operator.price(id, `m-${prefixes[0]}`, { input: 1_000, output: 1_000, per_request: 1 })
    const reply = await lab.chat({ model, stream })
    const [lost] = await lab.rows(reply)
    expect(lost).toMatchObject({ errorCode: "hedge_lost", estimated: true, tokensOut: 0, units: { request: 1 } })
    expect(lost!.tokensIn).toBeGreaterThan(3)
    expect(lost!.costUsd).toBeCloseTo(1 + lost!.tokensIn / 1_000, 10)
    if (!stream) expect(Number(reply.headers["x-gateway-response-cost"])).toBeCloseTo(lost!.costUsd, 10)
  })

  it("streamed: the first content wins, and the client sees one stream only", async () => {
    const { ended, model } = await combo([{ ttftMs: 20_000, text: "one" }, { text: "two is here", tokenSize: 3 }])
    const reply = await lab.chat({ model, stream: true })
    expect([contentOf(reply.text), reply.text.match(/\[DONE\]/g)?.length, reply.headers["x-gateway-fallback-attempts"]]).toEqual(["two is here", 1, "1"])
    expect(await rowsOf(reply)).toEqual([[1, "policy", "hedge_lost", false], [2, "completed", null, true]])
    expect((await ended(0))[0]?.outcome).toBe("client-aborted")
  })

  it("the first may still win: then the second is cut", async () => {
    const { ended, model } = await combo([{ latencyMs: 1_200, text: "one" }, { neverHead: true }])
    const reply = await lab.chat({ model })
    expect(answerOf(reply)).toBe("one")
    expect(await rowsOf(reply)).toEqual([[1, "completed", null, true], [2, "policy", "hedge_lost", false]])
    expect((await ended(1))[0]?.outcome).toBe("client-aborted")
  })

  it("many losses open no breaker and rest no connection", async () => {
    const { model, prefixes } = await combo([{ neverHead: true }, { text: "two" }], { hedgeDelayMs: 5 })
    const { nodes } = await lab.gateway.operator.call<{ nodes: ReadonlyArray<{ id: string; prefix: string }> }>("GET", "/api/provider-nodes")
    const { id } = nodes.find(({ prefix }) => prefix === prefixes[0]) ?? { id: "" }
    const replies = await Promise.all(Array.from({ length: 12 }, () => lab.chat({ model })))
    expect(replies.map(answerOf)).toEqual(Array.from({ length: 12 }, () => "two"))
    const { breakers } = await lab.gateway.operator.call<{ breakers: ReadonlyArray<{ provider: string; state: string }> }>("GET", "/api/resilience")
    expect(breakers.find(({ provider }) => provider === id)?.state ?? "closed").toBe("closed")
    // It is still the first to be asked.
    const last = await lab.chat({ model })
    expect((await rowsOf(last))[0]).toEqual([1, "policy", "hedge_lost", false])
  })
})

describe("failures under a hedge", () => {
  it("one that fails leaves the other running, and its answer counts", async () => {
    const { model } = await combo([{ latencyMs: 250, status: 503 }, { latencyMs: 500, text: "two" }])
    const reply = await lab.chat({ model })
    expect([answerOf(reply), reply.headers["x-gateway-fallback-attempts"]]).toEqual(["two", "1"])
    expect(await rowsOf(reply)).toEqual([[1, "upstream-status", "server_overloaded", false], [2, "completed", null, true]])
  })

  it("when both fail the walk goes on", async () => {
    const { model } = await combo([{ latencyMs: 250, status: 503 }, { status: 500 }, { text: "three" }])
    const reply = await lab.chat({ model })
    expect([answerOf(reply), reply.headers["x-gateway-fallback-attempts"]]).toEqual(["three", "2"])
    expect((await lab.rows(reply)).map(({ errorCode, final }) => [errorCode, final])).toEqual([
      ["server_overloaded", false], ["internal_server_error", false], [null, true]
    ])
  })

  it("when all fail there is one error, one final row, and no more calls than the budget", async () => {
    const { calls, model, prefixes } = await combo(Array.from({ length: 8 }, () => ({ latencyMs: 120, status: 503 })), { hedgeDelayMs: 10, maxRetries: 3, retryDelayMs: 0 })
    const reply = await lab.chat({ model })
    expect([reply.status, reply.headers["x-gateway-fallback-attempts"]]).toEqual([503, String(BUDGET - 1)])
    expect((await lab.rows(reply)).map(({ final }) => final)).toEqual([false, false, false, true])
    const asked = await Promise.all(prefixes.map((_, index) => calls(index)))
    expect(asked.flat().length).toBe(BUDGET)
  })

  it("an answer that breaks off after its first content is not replayed by the other", async () => {
    const { model } = await combo([{ neverHead: true }, { text: "abc def ghi", tokenSize: 3, resetAfter: { frames: 2 } }, { text: "three" }])
    const reply = await lab.chat({ model, stream: true })
    expect(reply.text).toContain('"error"')
    expect(reply.text).not.toContain("three")
    expect((await lab.rows(reply)).map(({ errorCode }) => errorCode)).toEqual(["hedge_lost", "upstream_reset"])
  })
})

describe("no second call", () => {
  const only = async (scripts: ReadonlyArray<Record<string, unknown>>, config: Record<string, unknown>, chat: Record<string, unknown> = {}) => {
    const { calls, model } = await combo(scripts, config)
    const reply = await lab.chat({ model, ...chat })
    expect(reply.status).toBe(200)
    expect([(await calls(0)).length, (await calls(1)).length]).toEqual([1, 0])
    expect(await rowsOf(reply)).toEqual([[1, "completed", null, true]])
  }

  it("while the first one speaks, however slowly", () => only([{ tokens: 14, paceMs: 130 }, { text: "two" }], { hedgeDelayMs: 1_500 }, { stream: true }))
  it("when the first one answered before the delay", () => only([{ text: "one" }, { text: "two" }], { hedgeDelayMs: 15_000 }))
  it("with hedging off, which is the default", () => only([{ latencyMs: 200, text: "one" }, { text: "two" }], { hedging: false, hedgeDelayMs: 10 }))
  it("with zeroLatencyOptimizationsEnabled off", () => only([{ latencyMs: 200, text: "one" }, { text: "two" }], { hedgeDelayMs: 10, zeroLatencyOptimizationsEnabled: false }))
})

describe("a client that leaves a hedged request", () => {
  it("cuts both calls at once; both rows say so, and one of them is final", async () => {
    const requestId = crypto.randomUUID()
    const { ended, model, prefixes } = await combo([{ neverHead: true }, { neverHead: true }])
    const { request, response } = Http.open(lab.gateway.url, lab.call({ model }, { "x-request-id": requestId }))
    response.catch(() => undefined)
    for (const prefix of prefixes) await eventually(() => lab.sim.entries({ model: `m-${prefix}`, outcome: "open" }), ({ length }) => length === 1, "the call's arrival")
    const late = watchLate()
    const at = performance.timeOrigin + performance.now()
    request.destroy()
    const entries = [(await ended(0))[0], (await ended(1))[0]]
    const allowed = CANCEL_GUARD_MS + late()
    for (const entry of entries) {
      expect(entry?.outcome).toBe("client-aborted")
      expect((entry?.abortedAt ?? Infinity) - at).toBeLessThan(allowed)
    }
    const rows = await eventually(() => lab.rows({ headers: { "x-gateway-request-id": requestId } }), ({ length }) => length === 2, "both rows")
    expect(rows.map(({ outcome, status }) => [outcome, status])).toEqual([["client-abort", 499], ["client-abort", 499]])
    expect(rows.filter(({ final }) => final)).toHaveLength(1)
  })
})

describe("the request's deadline", () => {
  it("is one for both", async () => {
    const short = await startLab({ resilience: "awake", environment: { REQUEST_TIMEOUT_MS: "400" } })
    try {
      for (const prefix of ["a", "b"]) {
        await short.pool(prefix, [`${prefix}-credential-number-0`])
        await short.sim.rule({ match: { model: `m-${prefix}` }, script: { neverHead: true } })
      }
      await short.gateway.operator.call("POST", "/api/combos", {
        name: "late", models: ["a/m-a", "b/m-b"], config: { hedging: true, hedgeDelayMs: 50, maxRetries: 0, targetTimeoutMs: 300 }
      })
      const late = watchLate()
      const reply = await short.chat({ model: "combo/late" })
      expect([reply.status, errorIn(reply)["code"]]).toEqual([504, "upstream_headers_timeout"])
      const rows = await short.rows(reply)
      expect(rows.map(({ outcome }) => outcome)).toEqual(["gateway-timeout", "gateway-timeout"])
      const [first, second] = rows
      expect((second?.settledAt ?? Infinity) - (first?.startedAt ?? 0)).toBeLessThan(1_500 + late())
    } finally {
      await short.close()
    }
  })
})
