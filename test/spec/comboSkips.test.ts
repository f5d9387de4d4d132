/** Targets of a combo that are skipped though nothing is wrong with them: too slow, too small, over HTTP. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { contentOf, type Lab, startLab } from "#test/support/lab.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab()
})
afterAll(() => lab.close())

let made = 0
const combo = async (models: ReadonlyArray<string>, config: Record<string, unknown>): Promise<string> => {
  const name = `skips-${++made}`
  await lab.gateway.operator.call("POST", "/api/combos", { name, models, config })
  return `combo/${name}`
}
const target = async (ttftMs: number): Promise<string> => {
  const prefix = `k${++made}`
  await lab.pool(prefix, [`${prefix}-credential-number-0`])
  await lab.sim.rule({ match: { model: `m-${prefix}` }, script: { ttftMs, text: prefix } })
  return `${prefix}/m-${prefix}`
}
const said = async (model: string): Promise<{ readonly text: string; readonly trace: Trace }> => {
  const reply = await lab.chat({ model, stream: true })
  expect(reply.status).toBe(200)
  const { decision } = await lab.gateway.operator.call<{ decision: { trace: Trace } }>("GET", `/api/routing/decisions/${reply.headers["x-gateway-request-id"]}`)
  return { text: contentOf(reply.text), trace: decision.trace }
}
interface Trace {
  readonly entries: ReadonlyArray<{ readonly outcome: string; readonly model: string; readonly reason?: string }>
  readonly relaxed: ReadonlyArray<string>
}
const skippedIn = ({ entries }: Trace) => entries.flatMap(({ model, outcome, reason }) => outcome === "skipped" ? [[model, reason]] : [])

describe("predictiveTtftMs", () => {
  it("passes over whose first token is expected later, and says so; never everybody", async () => {
    const [slow, quick] = [await target(250), await target(0)]
    for (const model of [slow, slow, slow, quick, quick, quick]) await lab.chat({ model, stream: true })
    const both = await said(await combo([slow, quick], { predictiveTtftMs: 120 }))
    expect([both.text, skippedIn(both.trace)]).toEqual([quick.split("/")[0], [[slow, "too-slow"]]])
    const off = await said(await combo([slow, quick], { predictiveTtftMs: 0 }))
    expect([off.text, skippedIn(off.trace)]).toEqual([slow.split("/")[0], []])
    const switched = await said(await combo([slow, quick], { predictiveTtftMs: 120, zeroLatencyOptimizationsEnabled: false }))
    expect(switched.text).toBe(slow.split("/")[0])
    const alone = await said(await combo([slow], { predictiveTtftMs: 120 }))
    expect([alone.text, skippedIn(alone.trace), alone.trace.relaxed]).toEqual([slow.split("/")[0], [], ["ttft"]])
  })
})

describe("contextRequirements", () => {
  const [large, small] = ["gpt-5.6-luna", "gpt-5.4-nano"]
  beforeAll(async () => {
    await lab.gateway.operator.createConnection({ provider: "openai", apiKey: "sk-windows-000000000001", providerSpecificData: { baseUrl: `${lab.sim.url}/v1` } })
    for (const name of [large, small]) await lab.sim.rule({ match: { model: name }, script: { text: name } })
  })
  const of = (contextRequirements: Record<string, unknown>, models = [`openai/${small}`, `openai/${large}`]) => combo(models, { contextRequirements })

  it("minContextWindow leaves out who is too small; preferLargeContext asks the largest first", async () => {
    const strict = await said(await of({ minContextWindow: 900_000, contextFilterMode: "strict" }))
    expect([strict.text, skippedIn(strict.trace)]).toEqual([large, [[`openai/${small}`, "context-too-small"]]])
    expect((await said(await of({ preferLargeContext: true }))).text).toBe(large)
    expect((await said(await of({ minContextWindow: 10 }))).text).toBe(small)
  })

  it("strict refuses when nobody is large enough, and who is unknown; lenient asks all the same", async () => {
    const unknown = await target(0)
    const refused = await lab.chat({ model: await of({ minContextWindow: 90_000_000, contextFilterMode: "strict" }, [`openai/${small}`, unknown]) })
    expect(refused.status).toBe(503)
    expect(refused.headers["x-gateway-combo-excluded"]).toBe("2")
    const lenient = await said(await of({ minContextWindow: 90_000_000, contextFilterMode: "lenient" }))
    expect([lenient.text, lenient.trace.relaxed]).toEqual([small, ["context"]])
  })
})

describe("a limit of the key", () => {
  it("leaves a target out, which the header and the decision say with its end; who was not asked was not needed", async () => {
    const [dear, cheap, spare] = [await target(0), await target(0), await target(0)]
    const key = await lab.gateway.operator.createKey("limited")
    const limit = await lab.gateway.operator.call<{ limit: { id: string } }>("POST", "/api/usage/token-limits", { apiKeyId: key.id, scopeType: "model", scopeValue: dear, tokenLimit: 1 })
    const name = await combo([dear, cheap, spare], {})
    const auth = { authorization: `Bearer ${key.key}` }
    await lab.chat({ model: dear }, auth)
    const { limits } = await lab.gateway.operator.call<{ limits: ReadonlyArray<{ id: string; nextResetAt: string }> }>("GET", `/api/usage/token-limits?apiKeyId=${key.id}`)
    const until = limits.find(({ id }) => id === limit.limit.id)?.nextResetAt
    const reply = await lab.chat({ model: name }, { ...auth, "x-gateway-explain": "true" })
    expect(reply.status).toBe(200)
    expect(JSON.parse(reply.headers["x-gateway-trace"] ?? "null")).toMatchObject({ skipped: [{ target: dear, reason: "limit", until }] })
    const { decision } = await lab.gateway.operator.call<{ decision: { trace: Trace } }>("GET", `/api/routing/decisions/${reply.headers["x-gateway-request-id"]}`)
    expect(decision.trace.entries).toMatchObject([
      { outcome: "chosen", model: cheap }, { outcome: "not-needed", model: spare },
      { outcome: "skipped", model: dear, reason: "limit", until, detail: expect.stringContaining("limit: ") as unknown }
    ])
  })
})
