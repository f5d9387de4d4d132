/** USD budgets and usage limits of keys over HTTP, and flag GATEWAY_EMERGENCY_FALLBACK: a budget is passed by one call at most. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { errorIn, type Lab, startLab } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"
import { at } from "#test/support/management.ts"

let lab: Lab
let free: Lab
beforeAll(async () => {
  lab = await startLab()
  free = await startLab({ environment: { GATEWAY_EMERGENCY_FALLBACK_MODEL: "lab/gift" } })
})
afterAll(async () => {
  await lab.close()
  await free.close()
})

/** Each answer costs `usd`. */
const priced = async (at: Lab, model: string, usd: number, script: Record<string, unknown> = {}) => {
  await at.sim.rule({ match: { model }, script: { tokens: 2, usage: { promptTokens: 1_000, completionTokens: 1_000, totalTokens: 2_000 }, ...script } })
  await at.gateway.operator.price(at.node, model, { input: 0, output: usd * 1_000 })
}

const budgeted = async (at: Lab, name: string, budget: Record<string, unknown>) => {
  const key = await at.gateway.operator.createKey(name)
  await at.gateway.operator.call("POST", "/api/usage/budget", { apiKeyId: key.id, ...budget })
  return { ...key, auth: { authorization: `Bearer ${key.key}` } }
}

interface Status {
  readonly totalCostToday: number
  readonly totalCostPeriod: number
  readonly nextResetAt: string
  readonly periodStartAt: string
  readonly budgetCheck: { readonly allowed: boolean; readonly reason?: string; readonly warningReached: boolean; readonly remaining: number; readonly reservedUsd: number }
}
const statusOf = (at: Lab, id: string) => at.gateway.operator.call<Status>("GET", `/api/usage/budget?apiKeyId=${id}`)

describe("budgets", () => {
  it("DELETE takes a budget away, and a deleted key takes its budget and token limits with it", async () => {
    const { operator } = lab.gateway
    const key = await budgeted(lab, "removed", { dailyLimitUsd: 1 })
    expect(await operator.call("DELETE", `/api/usage/budget?apiKeyId=${key.id}`)).toEqual({ success: true })
    expect(await statusOf(lab, key.id)).toMatchObject({ activeLimitUsd: 0, budgetCheck: { allowed: true } })
    expect((await operator.raw("DELETE", `/api/usage/budget?apiKeyId=${key.id}`)).status).toBe(404)
    await operator.call("POST", "/api/usage/budget", { apiKeyId: key.id, dailyLimitUsd: 1 })
    await operator.call("POST", "/api/usage/token-limits", { apiKeyId: key.id, scopeType: "global", tokenLimit: 5 })
    await operator.call("DELETE", `/api/keys/${key.id}`)
    expect((await operator.raw("GET", `/api/usage/budget?apiKeyId=${key.id}`)).status).toBe(404)
    expect(await operator.call("GET", `/api/usage/token-limits?apiKeyId=${key.id}`)).toEqual({ limits: [] })
  })

  it("refuses with 429 budget_exceeded when the budget is used up, and the GET tells use, warning and reset", async () => {
    await priced(lab, "coin", 0.4)
    const key = await budgeted(lab, "a", { dailyLimitUsd: 1, warningThreshold: 0.75, resetTime: "03:00" })
    const ask = () => lab.chat({ model: "coin", max_tokens: 1_000 }, key.auth)
    expect((await ask()).status).toBe(200)
    expect(await statusOf(lab, key.id)).toMatchObject({
      dailyLimitUsd: 1, activeLimitUsd: 1, totalCostToday: 0.4, resetInterval: "daily", resetTime: "03:00",
      budgetCheck: { allowed: true, dailyUsed: 0.4, dailyLimit: 1, warningReached: false, remaining: 0.6, reservedUsd: 0 }
    })
    expect((await ask()).status).toBe(200)
    expect((await statusOf(lab, key.id)).budgetCheck).toMatchObject({ allowed: true, warningReached: true })
    expect((await ask()).status).toBe(200)
    const refused = await ask()
    expect([refused.status, errorIn(refused)["code"]]).toEqual([429, "budget_exceeded"])
    expect(errorIn(refused)["message"]).toContain("daily budget")
    expect(errorIn(refused)["message"]).toContain("1.200000 USD of 1.000000 USD")
    const status = await statusOf(lab, key.id)
    expect(status.budgetCheck).toMatchObject({ allowed: false, remaining: 0 })
    expect(status.nextResetAt.slice(11)).toBe("03:00:00.000Z")
    expect(Math.abs(Number(refused.headers["retry-after"]) - (Date.parse(status.nextResetAt) - Date.now()) / 1_000)).toBeLessThan(5)
  })

  it("every limit above 0 is enforced over its own period, and an active one says when it ends", async () => {
    await priced(lab, "week", 2)
    const key = await budgeted(lab, "b", { dailyLimitUsd: 100, monthlyLimitUsd: 1.5, resetInterval: "daily" })
    expect((await lab.chat({ model: "week", max_tokens: 1_000 }, key.auth)).status).toBe(200)
    const refused = await lab.chat({ model: "week", max_tokens: 1_000 }, key.auth)
    expect([refused.status, errorIn(refused)["scope"]]).toEqual([429, "monthly"])
    expect((await statusOf(lab, key.id)).budgetCheck).toMatchObject({ allowed: false })
  })

  it("the USD limits of a key itself count like a budget", async () => {
    await priced(lab, "own", 0.5)
    const key = await lab.gateway.operator.createKey("c")
    await lab.gateway.operator.call("PUT", `/api/keys/${key.id}/usage-limits`, { usageLimitEnabled: true, dailyUsageLimitUsd: 0.6, weeklyUsageLimitUsd: null })
    const ask = () => lab.chat({ model: "own", max_tokens: 1_000 }, { authorization: `Bearer ${key.key}` })
    expect([(await ask()).status, (await ask()).status, (await ask()).status]).toEqual([200, 200, 429])
    await lab.gateway.operator.call("PUT", `/api/keys/${key.id}/usage-limits`, { usageLimitEnabled: false })
    expect((await ask()).status).toBe(200)
  })

  it("a hundred calls at once cost one call more than the budget at most, and leave nothing reserved", async () => {
    await priced(lab, "rush", 0.1, { paceMs: 15 })
    const key = await budgeted(lab, "d", { weeklyLimitUsd: 2, resetInterval: "weekly" })
    const statuses = await Promise.all(Array.from({ length: 100 }, async (_, index) => {
      const stream = await lab.stream({ model: "rush", max_tokens: 1_000 }, key.auth)
      if (stream.status === 200 && index % 4 === 0) stream.leave()
      else await stream.ended
      return stream.status
    }))
    expect(new Set(statuses)).toEqual(new Set([200, 429]))
    const status = await eventually(() => statusOf(lab, key.id), (seen) => seen.budgetCheck.reservedUsd === 0, "the end of all reservations")
    expect(status.totalCostPeriod).toBeLessThanOrEqual(2.1)
  })

  it("the legacy body and bodies without a limit are refused with 400, an unknown key is named", async () => {
    const key = await lab.gateway.operator.createKey("e")
    const put = async (body: Record<string, unknown>) => (await lab.gateway.operator.raw("POST", "/api/usage/budget", body)).status
    expect(await put({ keyId: key.id, limit: 5, period: "daily" })).toBe(400)
    expect(await put({ apiKeyId: key.id })).toBe(400)
    expect(await put({ apiKeyId: key.id, dailyLimitUsd: 0, weeklyLimitUsd: 0, monthlyLimitUsd: 0 })).toBe(400)
    expect(await put({ apiKeyId: key.id, dailyLimitUsd: -1 })).toBe(400)
    expect(await put({ apiKeyId: key.id, dailyLimitUsd: 1, warningThreshold: 1.5 })).toBe(400)
    expect(await put({ apiKeyId: "nobody", dailyLimitUsd: 1 })).toBe(400)
    expect((await lab.gateway.operator.raw("GET", "/api/usage/budget?apiKeyId=nobody")).status).toBe(404)
    const all = await lab.gateway.operator.call<{ budgets: ReadonlyArray<{ apiKeyId: string; budgetCheck: unknown }> }>("GET", "/api/usage/budget")
    expect(all.budgets.map(({ apiKeyId }) => apiKeyId)).toContain(key.id)
    expect(at(await lab.gateway.operator.call("POST", "/api/usage/budget", { apiKeyId: key.id, dailyLimitUsd: 1 }), "budget", "warningThreshold")).toBe(0.8)
  })
})

describe("GATEWAY_EMERGENCY_FALLBACK", () => {
  it("sends a request whose budget is used up to the free model and says so; off, it is refused", async () => {
    await priced(free, "dear", 1)
    await free.sim.rule({ match: { model: "gift" }, script: { tokens: 2 } })
    const key = await budgeted(free, "f", { dailyLimitUsd: 0.5 })
    const ask = () => free.chat({ model: "dear", max_tokens: 1_000 }, key.auth)
    expect((await ask()).headers["x-gateway-decision"]).not.toContain("emergency")
    const saved = await ask()
    expect([saved.status, saved.headers["x-gateway-model"]]).toEqual([200, "lab/gift"])
    expect(saved.headers["x-gateway-decision"]).toContain("fallback=emergency")
    const streamed = await free.stream({ model: "dear", max_tokens: 1_000 }, key.auth)
    expect(streamed.headers["x-gateway-decision"]).toContain("fallback=emergency")
    await streamed.ended
    await free.gateway.operator.setFlag("GATEWAY_EMERGENCY_FALLBACK", "false")
    expect((await ask()).status).toBe(429)
    await free.gateway.operator.clearFlags()
  })

  it.each([false, true])("its answer is not kept for the model that was asked for; stream: %s", async (stream) => {
    const model = `dear-kept-${stream}`
    await priced(free, model, 1)
    const key = await budgeted(free, model, { dailyLimitUsd: 0.5 })
    const ask = (temperature: number) => free.chat({ model, max_tokens: 1_000, temperature, stream }, key.auth)
    await ask(1)
    const saved = await ask(0)
    expect([saved.status, saved.headers["x-gateway-model"]]).toEqual([200, "lab/gift"])
    await free.gateway.operator.call("POST", "/api/usage/budget", { apiKeyId: key.id, dailyLimitUsd: 50 })
    const paid = await ask(0)
    expect(paid.headers["x-gateway-model"]).toBe(`lab/${model}`)
    expect(paid.headers["x-gateway-cache"]).not.toBe("HIT")
    expect((await ask(0)).headers["x-gateway-cache"]).toBe("HIT")
  })

  it("a fallback model that is not free is not called", async () => {
    await priced(free, "gift", 0.01)
    const key = await budgeted(free, "g", { dailyLimitUsd: 0.5 })
    const ask = () => free.chat({ model: "dear", max_tokens: 1_000 }, key.auth)
    expect((await ask()).status).toBe(200)
    expect((await ask()).status).toBe(429)
  })

  it("without a free provider there is no fallback", async () => {
    await priced(lab, "alone", 1)
    const key = await budgeted(lab, "h", { dailyLimitUsd: 0.5 })
    const ask = () => lab.chat({ model: "alone", max_tokens: 1_000 }, key.auth)
    expect([(await ask()).status, (await ask()).status]).toEqual([200, 429])
  })
})
