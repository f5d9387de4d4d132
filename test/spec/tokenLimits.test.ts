/** Token limits of keys over HTTP: a limit is passed by one request at most, and the 429 says when its window ends. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { errorIn, type Lab, startLab } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"
import { at } from "#test/support/management.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab()
})
afterAll(() => lab.close())

interface Limit {
  readonly id: string
  readonly tokensUsed: number
  readonly remaining: number
  readonly reserved: number
  readonly windowStart: string
  readonly nextResetAt: string
}

/** Each answer of the model counts `tokens` tokens. */
const modelOf = (model: string, tokens: number, script: Record<string, unknown> = {}) =>
  lab.sim.rule({ match: { model }, script: { tokens: 2, usage: { promptTokens: tokens - 1, completionTokens: 1, totalTokens: tokens }, ...script } })

const limited = async (name: string, ...limits: ReadonlyArray<Record<string, unknown>>) => {
  const key = await lab.gateway.operator.createKey(name)
  for (const limit of limits) await lab.gateway.operator.call("POST", "/api/usage/token-limits", { apiKeyId: key.id, scopeType: "global", ...limit })
  return { ...key, auth: { authorization: `Bearer ${key.key}` } }
}

const limitsOf = async (id: string): Promise<ReadonlyArray<Limit>> =>
  (await lab.gateway.operator.call<{ limits: ReadonlyArray<Limit> }>("GET", `/api/usage/token-limits?apiKeyId=${id}`)).limits

describe("token limits", () => {
  it("a key at its limit gets 429 token_limit_exceeded with the time until the window ends, and the GET tells its use", async () => {
    await modelOf("seventy", 70)
    const key = await limited("a", { tokenLimit: "100", resetInterval: "daily" })
    const call = () => lab.chat({ model: "seventy", max_tokens: 5 }, key.auth)
    expect((await call()).status).toBe(200)
    expect((await call()).status).toBe(200)
    const refused = await call()
    expect(refused.status).toBe(429)
    expect(errorIn(refused)).toMatchObject({ type: "rate_limit_error", code: "token_limit_exceeded", scope: "global", limit: 100 })
    const [limit] = await limitsOf(key.id)
    expect(limit).toMatchObject({ tokensUsed: 140, remaining: 0, reserved: 0, unsettled: 0 })
    const untilEnd = (Date.parse(limit?.nextResetAt ?? "") - Date.now()) / 1_000
    expect(Math.abs(Number(refused.headers["retry-after"]) - untilEnd)).toBeLessThan(5)
    expect(Date.parse(limit?.nextResetAt ?? "") - Date.parse(limit?.windowStart ?? "")).toBe(86_400_000)
  })

  it("of several limits the most restrictive one wins", async () => {
    await modelOf("sixty", 60)
    const key = await limited("b", { tokenLimit: 1_000_000 }, { tokenLimit: 50, scopeType: "provider", scopeValue: "lab", resetInterval: "weekly" })
    expect((await lab.chat({ model: "sixty", max_tokens: 5 }, key.auth)).status).toBe(200)
    const refused = await lab.chat({ model: "sixty", max_tokens: 5 }, key.auth)
    expect([refused.status, errorIn(refused)["scope"]]).toEqual([429, "provider:lab"])
  })

  it("a target that cannot be told the request keeps nothing of the limit: the next one may use all of it", async () => {
    const { operator } = lab.gateway
    const provider = await operator.createNode({ prefix: "told", type: "anthropic-compatible", baseUrl: `${lab.sim.url}/v1` })
    await operator.createConnection({ provider, apiKey: "credential-told", name: "told" })
    await operator.call("POST", "/api/combos", { name: "untold", strategy: "priority", models: ["lab/untold", "told/told"] })
    const key = await limited("untold", { tokenLimit: 1_000 })
    // The chat format takes four stop sequences.
    const reply = await Http.send(lab.gateway.url, {
      path: "/v1/messages", headers: key.auth,
      body: { model: "untold", max_tokens: 600, stop_sequences: ["a", "b", "c", "d", "e"], messages: [{ role: "user", content: "hello" }] }
    })
    expect([reply.status, reply.status === 200 ? "" : reply.text]).toEqual([200, ""])
    expect((await lab.sim.entries()).filter(({ model }) => model === "untold" || model === "told").map(({ model }) => model)).toEqual(["told"])
  })

  it("a model's limit refuses that model only, so that a combo goes on with its next target", async () => {
    await modelOf("dear", 90)
    await modelOf("other", 10)
    const key = await limited("c", { tokenLimit: 50, scopeType: "model", scopeValue: "lab/dear" })
    await lab.gateway.operator.call("POST", "/api/combos", { name: "dear-then-other", models: ["lab/dear", "lab/other"], strategy: "priority" })
    const ask = (model: string) => lab.chat({ model, max_tokens: 5 }, key.auth)
    expect((await ask("dear")).headers["x-gateway-model"]).toBe("lab/dear")
    expect((await ask("dear")).status).toBe(429)
    expect((await ask("other")).status).toBe(200)
    const served = await lab.chat({ model: "combo/dear-then-other", max_tokens: 5 }, key.auth)
    expect([served.status, served.headers["x-gateway-model"]]).toEqual([200, "lab/other"])
  })

  it("two hundred calls at once, some of whose clients leave, pass the limit by one request at most, and leave nothing reserved", async () => {
    await modelOf("crowd", 20, { paceMs: 20 })
    const key = await limited("d", { tokenLimit: 1_000 })
    const calls = Array.from({ length: 200 }, async (_, index) => {
      const stream = await lab.stream({ model: "crowd", max_tokens: 4 }, key.auth)
      if (stream.status === 200 && index % 3 === 0) stream.leave()
      else await stream.ended
      return stream.status
    })
    const statuses = await Promise.all(calls)
    expect(new Set(statuses)).toEqual(new Set([200, 429]))
    const [limit] = await eventually(() => limitsOf(key.id), ([seen]) => seen?.reserved === 0, "the end of all reservations")
    expect(limit?.tokensUsed).toBeLessThanOrEqual(1_000 + 20)
    const rows = (await lab.gateway.rows()).filter(({ apiKeyId }) => apiKeyId === key.id)
    expect(rows.reduce((sum, row) => sum + row.tokensIn + row.tokensOut, 0)).toBe(limit?.tokensUsed)
  })

  it("what was used stands after a restart, and a limit that is changed or removed counts at once", async () => {
    await modelOf("keeps", 40)
    const key = await limited("e", { tokenLimit: 60 })
    const ask = () => lab.chat({ model: "keeps", max_tokens: 5 }, key.auth)
    expect([(await ask()).status, (await ask()).status]).toEqual([200, 200])
    await lab.gateway.restart()
    await lab.gateway.operator.login()
    const [limit] = await limitsOf(key.id)
    expect(limit?.tokensUsed).toBe(80)
    expect((await ask()).status).toBe(429)
    const put = (more: Record<string, unknown>) =>
      lab.gateway.operator.call("POST", "/api/usage/token-limits", { id: limit?.id, apiKeyId: key.id, scopeType: "global", tokenLimit: 60, ...more })
    await put({ tokenLimit: 100 })
    expect([(await ask()).status, (await ask()).status]).toEqual([200, 429])
    await put({ enabled: false })
    expect((await ask()).status).toBe(200)
    await put({ enabled: true })
    expect((await ask()).status).toBe(429)
    await lab.gateway.operator.call("DELETE", `/api/usage/token-limits?id=${limit?.id}`)
    expect((await ask()).status).toBe(200)
  })

  it("a name that nothing has yet is kept with a warning", async () => {
    const key = await lab.gateway.operator.createKey("g")
    const put = (scopeType: string, scopeValue: string) =>
      lab.gateway.operator.call<{ warning?: string }>("POST", "/api/usage/token-limits", { apiKeyId: key.id, scopeType, scopeValue, tokenLimit: 5 })
    expect((await put("provider", "opnai")).warning).toContain("'opnai'")
    expect((await put("model", "gtp-4o")).warning).toContain("'gtp-4o'")
    for (const [type, value] of [["provider", "openai"], ["provider", "lab"], ["model", "lab/anything"], ["model", "openai/gpt-4o"]] as const) {
      expect(await put(type, value)).not.toHaveProperty("warning")
    }
  })

  it("wrong bodies are told by field, an unknown id is 404", async () => {
    const key = await lab.gateway.operator.createKey("f")
    const put = async (body: Record<string, unknown>) => {
      const reply = await lab.gateway.operator.raw("POST", "/api/usage/token-limits", { apiKeyId: key.id, scopeType: "global", tokenLimit: 5, ...body })
      return [reply.status, at(JSON.parse(reply.text), "error", "details", 0, "field")]
    }
    expect(await put({ scopeType: "model" })).toEqual([400, "scopeValue"])
    expect((await put({ tokenLimit: 0 }))[0]).toBe(400)
    expect((await put({ tokenLimit: "1.5" }))[0]).toBe(400)
    expect((await put({ resetTime: "24:00" }))[0]).toBe(400)
    expect(await put({ apiKeyId: "nobody" })).toEqual([400, "apiKeyId"])
    expect((await put({ id: "nobody" }))[0]).toBe(404)
    expect((await lab.gateway.operator.raw("DELETE", "/api/usage/token-limits?id=nobody")).status).toBe(404)
  })
})
