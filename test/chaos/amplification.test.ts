/** Many clients that repeat what fails against upstreams that are all down: what it costs them, and what happens when they are back. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { TruthEntry } from "#src/simulator/Simulator.ts"
import * as Http from "#test/support/http.ts"
import { errorIn, type Lab, startLab } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"

/** Wire calls that one request may cost. */
const BUDGET = 4
const CLIENTS = 100
const TARGETS = 10
/** Counted failures that open a breaker of a server on this machine. */
const THRESHOLD = 2
const RESET_MS = 1_000

let lab: Lab
beforeAll(async () => {
  lab = await startLab({ resilience: "awake", environment: { GATEWAY_MAX_ATTEMPTS: String(BUDGET) } })
  await lab.gateway.operator.call("PATCH", "/api/resilience", {
    // The breaker alone decides: a cooldown would hide how many it lets through.
    connectionCooldown: { local: { baseCooldownMs: 0 } },
    providerBreaker: { local: { resetTimeoutMs: RESET_MS } }
  })
})
afterAll(() => lab.close())

const modelOf = (prefix: string): string => `m-${prefix}`
const idOf = (prefix: string): string => `${prefix}/${modelOf(prefix)}`

/** A provider of its own whose model answers by the script; a second rule for the same prefix takes the first one's place. */
const script = (prefix: string, given: Record<string, unknown>): Promise<string> =>
  lab.sim.rule({ id: prefix, match: { model: modelOf(prefix) }, script: given })
const providers = async (names: ReadonlyArray<string>, given: Record<string, unknown>): Promise<void> => {
  for (const name of names) {
    await lab.pool(name, [`${name}-credential-number-0`])
    await script(name, given)
  }
}
const combo = (name: string, prefixes: ReadonlyArray<string>, config: Record<string, unknown> = {}) =>
  lab.gateway.operator.call("POST", "/api/combos", { name, models: prefixes.map(idOf), config: { maxRetries: 0, ...config } })
const entriesOf = (prefix: string): Promise<ReadonlyArray<TruthEntry>> => lab.sim.entries({ model: modelOf(prefix) })
const callsOf = async (prefixes: ReadonlyArray<string>): Promise<number> => {
  const found = await Promise.all(prefixes.map(entriesOf))
  return found.reduce((total, entries) => total + entries.length, 0)
}
const states = async (): Promise<ReadonlyMap<string, string>> => {
  const { nodes } = await lab.gateway.operator.call<{ nodes: ReadonlyArray<{ prefix: string }> }>("GET", "/api/provider-nodes")
  const { breakers } = await lab.gateway.operator.call<{ breakers: ReadonlyArray<{ provider: string; state: string }> }>("GET", "/api/resilience")
  const byPrefix = new Map(breakers.map(({ provider, state }) => [provider, state]))
  return new Map(nodes.map(({ prefix }) => [prefix, byPrefix.get(prefix) ?? "closed"]))
}
const allAre = (prefixes: ReadonlyArray<string>, state: string) =>
  eventually(states, (seen) => prefixes.every((prefix) => seen.get(prefix) === state), `${prefixes.join(", ")}: ${state}`)
const crowd = (model: string): Promise<ReadonlyArray<Http.Reply>> => Promise.all(Array.from({ length: CLIENTS }, () => lab.chat({ model })))

describe("amplification", () => {
  const dead = Array.from({ length: TARGETS }, (_, i) => `dead${i}`)

  it("ten dead targets and a hundred clients that repeat: the budget of each request holds, and soon nobody is asked", async () => {
    await providers(dead, { status: 503 })
    await combo("dead", dead)
    const replies: Array<Http.Reply> = []
    for (let round = 0; round < 3; round++) replies.push(...await crowd("combo/dead"))

    for (const reply of replies) {
      expect(reply.status).toBe(503)
      expect(Number(reply.headers["x-gateway-fallback-attempts"] ?? 0)).toBeLessThan(BUDGET)
    }
    const rows = await lab.gateway.rows()
    const costs = new Map<string, number>()
    for (const { requestId } of rows) costs.set(requestId, (costs.get(requestId) ?? 0) + 1)
    expect(Math.max(...costs.values())).toBeLessThanOrEqual(BUDGET)
    const calls = await callsOf(dead)
    // Every wire call has its row, and no wire call is the client library's or the transport's own idea.
    expect(calls).toBe(rows.filter(({ combo: name }) => name === "dead").length)
    expect(calls).toBeLessThanOrEqual(CLIENTS * BUDGET)
  })

  it("each breaker opens at its threshold; meanwhile a request costs no wire call and says when to come back", async () => {
    // One at a time until every target has had its failures: recoveries on the way only cost probes.
    await lab.gateway.operator.call("PATCH", "/api/resilience", { providerBreaker: { local: { resetTimeoutMs: 3_600_000 } } })
    await lab.gateway.operator.call("POST", "/api/resilience/reset")
    const before = await callsOf(dead)
    let asked = 0
    while ([...await states()].some(([prefix, state]) => dead.includes(prefix) && state !== "open")) {
      expect((await lab.chat({ model: "combo/dead" })).status).toBe(503)
      expect(++asked).toBeLessThanOrEqual(TARGETS * THRESHOLD)
    }
    expect(await callsOf(dead) - before).toBe(TARGETS * THRESHOLD)
    const refused = await crowd("combo/dead")
    expect(await callsOf(dead) - before).toBe(TARGETS * THRESHOLD)
    for (const reply of refused) {
      expect(reply.status).toBe(503)
      expect(Number(reply.headers["retry-after"])).toBeGreaterThan(3_000)
    }
  })

  it("when they are back: one probe per target, nobody in its company, then everybody is served", async () => {
    const { operator } = lab.gateway
    await operator.call("PATCH", "/api/resilience", { providerBreaker: { local: { resetTimeoutMs: RESET_MS } } })
    await operator.call("POST", "/api/resilience/reset")
    const [one = ""] = dead
    for (let i = 0; i < THRESHOLD; i++) await lab.chat({ model: idOf(one) })
    expect((await states()).get(one)).toBe("open")
    await script(one, { latencyMs: 3_000, text: "back" })
    await allAre([one], "half-open")
    const before = (await entriesOf(one)).length
    const replies = await crowd(idOf(one))
    const served = replies.filter(({ status }) => status === 200)
    const refused = replies.filter(({ status }) => status !== 200)
    expect([served.length, refused.length, (await entriesOf(one)).length - before]).toEqual([1, CLIENTS - 1, 1])
    for (const reply of refused) {
      expect([reply.status, errorIn(reply)["code"], reply.headers["retry-after"]]).toEqual([503, "provider_circuit_open", "1"])
    }
    await script(one, { text: "back" })
    expect((await states()).get(one)).toBe("closed")
    expect((await crowd(idOf(one))).map(({ status }) => status)).toEqual(Array.from({ length: CLIENTS }, () => 200))
  })

  it("a probe that fails opens it again for the whole time, and costs one call", async () => {
    const two = dead[1] ?? ""
    for (let i = 0; i < THRESHOLD; i++) await lab.chat({ model: idOf(two) })
    await allAre([two], "half-open")
    await script(two, { latencyMs: 1_500, status: 503 })
    const before = (await entriesOf(two)).length
    await crowd(idOf(two))
    expect((await entriesOf(two)).length - before).toBe(1)
    const [last] = (await entriesOf(two)).slice(-1)
    expect(last?.outcome).toBe("completed")
    await script(two, { text: "back" })
    const seen = await eventually(() => lab.chat({ model: idOf(two) }), ({ status }) => status === 200, "the recovery")
    expect(seen.status).toBe(200)
    // Not before the breaker's time, counted from the failed probe's answer.
    const [recovered] = (await entriesOf(two)).slice(-1)
    expect((recovered?.at ?? 0) - (last?.headAt ?? Infinity)).toBeGreaterThanOrEqual(RESET_MS - 50)
  })

  it("a client that leaves its probe gives the place to the next one", async () => {
    const three = dead[2] ?? ""
    for (let i = 0; i < THRESHOLD; i++) await lab.chat({ model: idOf(three) })
    await script(three, { neverHead: true })
    await allAre([three], "half-open")
    const { request } = Http.open(lab.gateway.url, lab.call({ model: idOf(three), stream: true }))
    await eventually(() => lab.sim.entries({ model: modelOf(three), outcome: "open" }), ({ length }) => length === 1, "the probe's arrival")
    expect(errorIn(await lab.chat({ model: idOf(three) }))["code"]).toBe("provider_circuit_open")
    await script(three, { text: "back" })
    request.destroy()
    const reply = await eventually(() => lab.chat({ model: idOf(three) }), ({ status }) => status === 200, "the next probe")
    expect(reply.text).toContain("back")
  })
})

describe("a combo whose last target alone lives", () => {
  const four = ["last0", "last1", "last2", "last3"]

  it("answers inside the budget, and costs one call once the others are known", async () => {
    await providers(four, { status: 502 })
    await script("last3", { text: "alive" })
    await lab.gateway.operator.call("PATCH", "/api/resilience", { providerBreaker: { local: { resetTimeoutMs: 3_600_000 } } })
    await combo("last", four)
    const attempts: Array<string> = []
    for (let i = 0; i < THRESHOLD + 2; i++) {
      const reply = await lab.chat({ model: "combo/last" })
      expect([reply.status, reply.text.includes("alive")]).toEqual([200, true])
      attempts.push(reply.headers["x-gateway-fallback-attempts"] ?? "0")
    }
    expect(attempts).toEqual(["3", "3", "0", "0"])
    const replies = await crowd("combo/last")
    expect(replies.every(({ status }) => status === 200)).toBe(true)
    expect(await Promise.all(four.map((prefix) => callsOf([prefix])))).toEqual([THRESHOLD, THRESHOLD, THRESHOLD, THRESHOLD + 2 + CLIENTS])
  })

  it("a crowd that arrives before anything is known is served as a whole", async () => {
    await lab.gateway.operator.call("POST", "/api/resilience/reset")
    const replies = await crowd("combo/last")
    expect(replies.map(({ status }) => status)).toEqual(Array.from({ length: CLIENTS }, () => 200))
    for (const reply of replies) expect(Number(reply.headers["x-gateway-fallback-attempts"] ?? 0)).toBeLessThan(BUDGET)
  })
})

describe("hedging", () => {
  const hedged = ["hedged0", "hedged1", "hedged2", "hedged3", "hedged4", "hedged5"]

  it("costs no more than the budget of each request, at most two calls of it at once, and every call has its row", async () => {
    await lab.gateway.operator.call("POST", "/api/resilience/reset")
    await lab.gateway.operator.call("PATCH", "/api/resilience", { providerBreaker: { local: { degradationThreshold: 900, failureThreshold: 1_000 } } })
    await providers(hedged, { latencyMs: 60, status: 503 })
    await combo("hedged", hedged, { hedging: true, hedgeDelayMs: 5, maxRetries: 2, retryDelayMs: 0, maxSetRetries: 2, setRetryDelayMs: 0 })
    const replies = await crowd("combo/hedged")
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([503]))
    const rows = (await lab.gateway.rows()).filter(({ combo: name }) => name === "hedged")
    const byRequest = Map.groupBy(rows, ({ requestId }) => requestId)
    expect(byRequest.size).toBe(CLIENTS)
    for (const [requestId, own] of byRequest) {
      expect(own.length, requestId).toBeLessThanOrEqual(BUDGET)
      expect(own.filter(({ final }) => final).length, requestId).toBe(1)
      for (const { startedAt } of own) {
        expect(own.filter((other) => other.startedAt <= startedAt && other.settledAt > startedAt).length, requestId).toBeLessThanOrEqual(2)
      }
    }
    expect(await callsOf(hedged)).toBe(rows.length)
  })
})
