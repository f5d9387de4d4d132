/** Combos and the three resilience mechanisms on the request path, over HTTP. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { contentOf, errorIn, type Lab, startLab } from "#test/support/lab.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab({ resilience: "awake" })
})
afterAll(() => lab.close())

let made = 0
/** A provider of its own whose model `m` answers by the script; answers its prefix. */
const provider = async (script: Record<string, unknown>, connections = 1): Promise<string> => {
  const prefix = `p${++made}`
  await lab.pool(prefix, Array.from({ length: connections }, (_, i) => `${prefix}-credential-${i}`))
  await lab.sim.rule({ match: { model: `m-${prefix}` }, script })
  return prefix
}
const model = (prefix: string): string => `${prefix}/m-${prefix}`
const combo = (name: string, models: ReadonlyArray<unknown>, more: Record<string, unknown> = {}) =>
  lab.gateway.operator.call("POST", "/api/combos", { name, models, ...more })
const answerOf = (reply: { readonly text: string }): string =>
  (JSON.parse(reply.text) as { choices: ReadonlyArray<{ message: { content: string } }> }).choices[0]?.message.content ?? ""

describe("a combo", () => {
  it("is asked for by name and by combo/<name>; the first target answers; headers and row name it", async () => {
    const first = await provider({ text: "one" })
    const second = await provider({ text: "two" })
    await combo("duo", [model(first), model(second)])
    const reply = await lab.chat({ model: "combo/duo" })
    expect([reply.status, answerOf(reply)]).toEqual([200, "one"])
    expect(reply.headers["x-gateway-decision"]).toMatch(/^strategy=priority; provider=/)
    expect((await lab.rows(reply)).map((row) => [row.combo, row.requestedModel])).toEqual([["duo", "combo/duo"]])
  })

  it("falls back to the next target, streamed or not, before the commit point", async () => {
    const broken = await provider({ status: 503 })
    const good = await provider({ text: "saved" })
    await combo("fallback", [model(broken), model(good)])
    const whole = await lab.chat({ model: "combo/fallback" })
    expect([whole.status, answerOf(whole), whole.headers["x-gateway-fallback-attempts"]]).toEqual([200, "saved", "1"])
    const streamed = await lab.chat({ model: "combo/fallback", stream: true })
    expect(contentOf(streamed.text)).toBe("saved")
  })

  it("when all fail: the last error with diagnostics and the earliest hint", async () => {
    const a = await provider({ status: 429, retryAfter: 40, error: { message: "slow down" } })
    const b = await provider({ status: 429, retryAfter: 7, error: { message: "slow down" } })
    const c = await provider({ status: 402, error: { message: "pay" } })
    await combo("doomed", [model(a), model(b), model(c)], { config: { maxRetries: 0 } })
    const reply = await lab.chat({ model: "combo/doomed" })
    expect(reply.status).toBe(402)
    expect(reply.headers["retry-after"]).toBe("7")
    expect(errorIn(reply)).toMatchObject({
      diagnostics: { poolSize: 3, attempted: 3, terminalReason: "all_targets_failed" }, recovery_hint: { action: "wait", retry_after_seconds: 7 }
    })
  })

  it("round-robin takes turns, weighted honours a zero weight", async () => {
    const [x, y] = [await provider({ text: "x" }), await provider({ text: "y" })]
    await combo("turns", [model(x), model(y)], { strategy: "round-robin", config: { stickyRoundRobinLimit: 1 } })
    const said: Array<string> = []
    for (let i = 0; i < 4; i++) said.push(answerOf(await lab.chat({ model: "combo/turns" })))
    expect([...said].sort()).toEqual(["x", "x", "y", "y"])
    expect(said[0]).not.toBe(said[1])
    await combo("drawn", [{ model: model(x), weight: 0 }, { model: model(y), weight: 10 }], { strategy: "weighted" })
    for (let i = 0; i < 5; i++) expect(answerOf(await lab.chat({ model: "combo/drawn" }))).toBe("y")
  })

  it("a mapping sends matching ids to it, and its system message stands in front", async () => {
    const echo = await provider({})
    const { id } = await combo("mapped", [model(echo)], { system_message: "You are mapped." }) as { id: string }
    await lab.gateway.operator.call("POST", "/api/model-combo-mappings", { pattern: "any-*", comboId: id })
    const answered = await Http.send(lab.gateway.url, { path: "/v1/chat/completions", body: { model: "any-thing", messages: [{ role: "user", content: "Hi." }] } })
    expect(answered.status).toBe(200)
    const [entry] = await lab.sim.entries({ model: `m-${echo}` })
    expect(JSON.stringify(entry)).toContain("You are mapped.")
  })

  it("answers 404 for an unknown name and lists what exists", async () => {
    expect((await lab.chat({ model: "combo/nobody" })).status).toBe(404)
  })
})

describe("the provider breaker", () => {
  it("opens after its threshold, refuses with 503 provider_circuit_open, and a reset closes it", async () => {
    const broken = await provider({ status: 500 })
    for (let i = 0; i < 2; i++) expect((await lab.chat({ model: model(broken) })).status).toBe(500)
    const refused = await lab.chat({ model: model(broken) })
    expect([refused.status, errorIn(refused)["code"]]).toEqual([503, "provider_circuit_open"])
    const seconds = Number(refused.headers["retry-after"])
    expect(seconds).toBeGreaterThan(0)
    expect(refused.headers["x-gateway-provider-breaker"]).toBe("open")
    expect(errorIn(refused)).toMatchObject({ provider: broken, retry_after: seconds })
    await lab.gateway.operator.call("POST", "/api/resilience/reset")
    expect((await lab.chat({ model: model(broken) })).status).toBe(500)
  })

  it("is not moved by a client that leaves", async () => {
    const slow = await provider({ tokens: 50, paceMs: 40 })
    for (let i = 0; i < 4; i++) {
      const opened = await lab.stream({ model: model(slow) })
      await opened.until((text) => text.includes("content"))
      opened.leave()
    }
    expect((await lab.chat({ model: model(slow), max_tokens: 1 })).status).toBe(200)
  })
})

describe("the cooldown of a connection", () => {
  it("a hint rests it, the next connection serves; when all rest: 429 model_cooldown until the first is back", async () => {
    const limited = await provider({ status: 429, retryAfter: 90, error: { message: "limit" } }, 2)
    const first = await lab.chat({ model: model(limited) })
    expect([first.status, first.headers["x-gateway-fallback-attempts"]]).toEqual([429, "1"])
    const second = await lab.chat({ model: model(limited) })
    expect([second.status, errorIn(second)["code"], second.headers["x-gateway-fallback-attempts"]]).toEqual([429, "model_cooldown", undefined])
    expect(Number(second.headers["retry-after"])).toBeGreaterThan(20)
    expect((await lab.sim.entries({ model: `m-${limited}` })).length).toBe(2)
  })
})

describe("why a request went where it went", () => {
  it("a dry run names the order and who is left out until when; nothing is sent", async () => {
    const resting = await provider({ status: 429, retryAfter: 60, error: { message: "limit" } })
    const free = await provider({ text: "free" })
    await combo("explained", [model(resting), model(free)], { config: { maxRetries: 0 } })
    await lab.chat({ model: "combo/explained" })
    const before = (await lab.sim.entries({ model: `m-${free}` })).length
    const dry = await lab.gateway.operator.call<Record<string, unknown>>("POST", "/api/routing/explain", { model: "combo/explained" })
    expect(dry).toMatchObject({ strategy: "priority", combo: "explained" })
    const targets = dry["targets"] as ReadonlyArray<{ position: number | null; model: string; skipped: { reason: string; until: string } | null }>
    expect(targets.find(({ position }) => position === 1)?.model).toBe(model(free))
    const out = targets.find(({ skipped }) => skipped !== null)
    expect([out?.model, out?.skipped?.reason]).toEqual([model(resting), "model-cooldown"])
    expect(Date.parse(out?.skipped?.until ?? "")).toBeGreaterThan(Date.now())
    expect((await lab.sim.entries({ model: `m-${free}` })).length).toBe(before)
  })

  it("a past decision is kept by its request id, and a header shows it at once", async () => {
    const broken = await provider({ status: 503 })
    const good = await provider({ text: "good" })
    await combo("kept", [model(broken), model(good)], { config: { maxRetries: 0 } })
    const reply = await lab.chat({ model: "combo/kept" }, { "x-gateway-explain": "true" })
    expect(JSON.parse(reply.headers["x-gateway-trace"] ?? "{}")).toMatchObject({ strategy: "priority", combo: "kept" })
    const kept = await lab.gateway.operator.call<{ decision: { trace: { entries: ReadonlyArray<Record<string, unknown>> } } }>(
      "GET", `/api/routing/decisions/${reply.headers["x-gateway-request-id"]}`)
    expect(kept.decision.trace.entries).toMatchObject([
      { outcome: "failed", model: model(broken), status: 503 }, { outcome: "chosen", model: model(good), position: 2 }
    ])
  })
})
