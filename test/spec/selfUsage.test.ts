/** A key's own usage: the endpoint, the quotas of its providers, and the command in a chat. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { contentOf, type Lab, startLab } from "#test/support/lab.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab()
})
afterAll(() => lab.close())

const own = (key: string | null, query = "") =>
  Http.send(lab.gateway.url, { path: `/api/usage/self-usage${query}`, headers: key === null ? {} : { authorization: `Bearer ${key}` } })

const asking = (policy: Record<string, unknown> = {}) => lab.gateway.operator.createKey("asks", { allowUsageCommand: true, ...policy })

describe("GET /api/usage/self-usage", () => {
  it("needs the caller's own key with allowUsageCommand: 401 without or with a wrong one, 403 while it is off", async () => {
    const plain = await lab.gateway.operator.createKey("plain")
    expect((await own(null)).status).toBe(401)
    const wrong = await own("sk-wrong", "?format=json")
    expect([wrong.status, JSON.parse(wrong.text)]).toEqual([401, { allowed: false, error: { message: "The API key is not valid." } }])
    const off = await own(plain.key, "?format=json")
    expect([off.status, (JSON.parse(off.text) as { allowed: boolean }).allowed]).toEqual([403, false])
  })

  it("tells the USD limits as JSON, and only where there are any", async () => {
    await lab.gateway.operator.price(lab.node, "m", { input: 0, output: 100_000 })
    await lab.sim.rule({ match: { model: "m" }, script: { tokens: 2, usage: { promptTokens: 1, completionTokens: 5, totalTokens: 6 } } })
    const key = await asking({ usageLimitEnabled: true, dailyUsageLimitUsd: 2, weeklyUsageLimitUsd: 10 })
    await lab.chat({ model: "m", max_tokens: 2 }, { authorization: `Bearer ${key.key}` })
    const reply = JSON.parse((await own(key.key, "?format=json")).text) as { allowed: boolean; personal: Record<string, unknown>; provider: unknown; providers: unknown }
    expect(reply).toMatchObject({ allowed: true, provider: null, providers: [] })
    expect(reply.personal).toMatchObject({ enabled: true, dailyLimitUsd: 2, weeklyLimitUsd: 10, dailySpentUsd: 0.5, weeklySpentUsd: 0.5, dailyExceeded: false, weeklyExceeded: false })
    expect(String(reply.personal["dailyWindowStartIso"]).slice(11)).toBe("03:00:00.000Z")
    expect(new Date(String(reply.personal["weeklyResetAtIso"])).getUTCDay()).toBe(1)
    const free = await asking()
    expect(JSON.parse((await own(free.key, "?format=json")).text)).not.toHaveProperty("personal")
  })

  it("is plain text by default: blocks of a label, a percentage and a reset", async () => {
    const key = await asking({ usageLimitEnabled: true, dailyUsageLimitUsd: 2 })
    await lab.gateway.operator.call("POST", "/api/usage/token-limits", { apiKeyId: key.id, scopeType: "global", tokenLimit: 1_000 })
    const reply = await own(key.key)
    expect([reply.headers["content-type"], (await own(null)).headers["content-type"]]).toEqual(["text/plain; charset=utf-8", "text/plain; charset=utf-8"])
    expect(reply.text).toMatch(/^Plan\nAPI key asks\n\nUsage\n/)
    expect(reply.text).toMatch(/Daily limit\n0% used\nResets in \d+[mhd]\nLimit\n\$0\.0000 of \$2\.00/)
    expect(reply.text).toMatch(/Tokens \(global, monthly\)\n0% used\nResets in \d+[mhd]\nLimit\n0 tokens of 1000 tokens/)
  })

  it("lists rates and sessions, and says that there are no limits only where there are none", async () => {
    const key = await asking({ rateLimits: [{ limit: 60, window: 60 }, { limit: 5, window: 7_200 }], maxSessions: 3 })
    expect(JSON.parse((await own(key.key, "?format=json")).text)).toMatchObject({
      rates: [{ limit: 60, windowSeconds: 60 }, { limit: 5, windowSeconds: 7_200 }], maxSessions: 3, spent: { dailyUsd: 0, weeklyUsd: 0 }
    })
    const { text } = await own(key.key)
    expect(text).toContain("Usage\nToday $0.0000, this week $0.0000\n\nRequests\n60 in 1m\n\nRequests\n5 in 2h\n\nSessions\n3 at once\n")
    expect(text).not.toContain("No limits")
    expect((await own((await asking()).key)).text).toContain("Usage\nToday $0.0000, this week $0.0000\nNo limits are set for this key.")
  })

  it("has its usage block for a key with a token limit only", async () => {
    const key = await asking()
    await lab.gateway.operator.call("POST", "/api/usage/token-limits", { apiKeyId: key.id, scopeType: "global", tokenLimit: 1_000 })
    expect((await own(key.key)).text).toMatch(/^Plan\nAPI key asks\n\nUsage\nToday \$0\.0000, this week \$0\.0000\n\nTokens/)
  })
})

describe("provider quotas in self-usage", () => {
  const used = (share: number) => ({ "anthropic-ratelimit-unified-5h-utilization": String(share), "anthropic-ratelimit-unified-5h-reset": String(Math.ceil(Date.now() / 1_000) + 3_000) })
  interface Own {
    readonly provider: Record<string, unknown> | null
    readonly providers: ReadonlyArray<{ readonly connectionId: string; readonly provider: string; readonly plan: string | null; readonly quotas: Record<string, Record<string, unknown>> }>
  }
  let ids: ReadonlyArray<string> = []
  beforeAll(async () => {
    const credentials = ["own-credential-number-0", "own-credential-number-1"]
    ids = await lab.pool("own", credentials)
    const [first = "", second = ""] = ids
    await lab.gateway.operator.changeConnection(first, { name: "owner@example.com", providerSpecificData: { plan: "pro" } })
    await lab.gateway.operator.changeConnection(second, { providerSpecificData: { plan: "somebody@example.com" } })
    for (const [index, credential] of credentials.entries()) await lab.sim.rule({ match: { key: credential }, script: { headers: used(0.25 + index / 2) } })
    for (const id of ids) {
      const key = await lab.gateway.operator.createKey("meets", { allowedConnections: [id] })
      expect((await lab.chat({ model: "own/tokens-2" }, { authorization: `Bearer ${key.key}` })).status).toBe(200)
    }
  })
  const read = async (policy: Record<string, unknown>) => {
    const key = await asking({ scopes: ["self:account-quota"], ...policy })
    const { text } = await own(key.key, "?format=json")
    return { key, text, usage: JSON.parse(text) as Own }
  }

  it("are the documented fields of every connection that the key may use, the preferred one first", async () => {
    const { text, usage } = await read({ allowedConnections: ids, preferredConnections: [ids[1]] })
    expect(usage.providers.map(({ connectionId }) => connectionId)).toEqual([ids[1], ids[0]])
    const [second, first] = usage.providers
    expect(usage.provider).toEqual(second)
    expect(first).toEqual({
      connectionId: ids[0], provider: "own", plan: "pro",
      quotas: { "5h": { used: 25, total: 100, remaining: 75, remainingPercentage: 75, resetAt: expect.stringMatching(/Z$/) as unknown, unlimited: false } }
    })
    expect(second).toMatchObject({ plan: null, quotas: { "5h": { used: 75 } } })
    expect(text).not.toMatch(/example\.com|credential|own-0/)
  })

  it("are left out without the scope, for other connections, other models, hidden and inactive ones", async () => {
    const shown = async (policy: Record<string, unknown>) => (await read(policy)).usage.providers.map(({ connectionId }) => connectionId).filter((id) => ids.includes(id))
    const [first = "", second = ""] = ids
    expect(await shown({})).toEqual(ids)
    expect(await shown({ scopes: [] })).toEqual([])
    expect(await shown({ allowedConnections: [second] })).toEqual([second])
    expect(await shown({ allowedModels: ["lab/*"] })).toEqual([])
    expect(await shown({ blockedModels: ["own/*"] })).toEqual([])
    expect(await shown({ allowedModels: ["ow*"] })).toEqual(ids)
    const { usage } = await read({ allowedModels: ["lab/m"] })
    expect([usage.provider, usage.providers.map(({ provider, quotas }) => [provider, quotas])]).toEqual([null, [["lab", {}]]])
    await lab.gateway.operator.changeConnection(first, { quotaVisible: false })
    expect(await shown({})).toEqual([second])
    await lab.gateway.operator.changeConnection(first, { quotaVisible: true, isActive: false })
    expect(await shown({})).toEqual([second])
    await lab.gateway.operator.changeConnection(first, { isActive: true })
  })

  it("stand in the text and in the chat's answer: a label, a percentage and a reset for every window", async () => {
    const { key } = await read({ allowedConnections: ids })
    const blocks = /Quota \(own #1, 5h\)\n25% used\nResets in \d+[mh]\n\nQuota \(own #2, 5h\)\n75% used\nResets in \d+[mh]\n$/
    const { text } = await own(key.key)
    expect(text).toMatch(/^Plan\nAPI key asks\nown: pro\n\nUsage\n/)
    expect(text).toMatch(blocks)
    const said = await lab.chat({ model: "silent", messages: [{ role: "user", content: "/usage" }] }, { authorization: `Bearer ${key.key}` })
    expect((JSON.parse(said.text) as { choices: ReadonlyArray<{ message: { content: string } }> }).choices[0]?.message.content).toMatch(blocks)
  })
})

describe("the usage command", () => {
  const messages = [{ role: "user", content: "hello" }, { role: "assistant", content: "hi" }, { role: "user", content: " /usage\n" }]

  it("is answered by the gateway in the client's format, streamed or not, without an upstream call", async () => {
    const key = await asking({ usageLimitEnabled: true, dailyUsageLimitUsd: 2 })
    const auth = { authorization: `Bearer ${key.key}` }
    const whole = await lab.chat({ model: "silent", messages }, auth)
    expect(whole.status).toBe(200)
    expect((JSON.parse(whole.text) as { choices: ReadonlyArray<{ message: { content: string } }> }).choices[0]?.message.content).toContain("Daily limit")
    const stream = await lab.stream({ model: "silent", messages }, auth)
    const { text } = await stream.ended
    expect(contentOf(text)).toContain("Daily limit")
    expect(text).toContain("[DONE]")
    const native = await Http.send(lab.gateway.url, { path: "/v1/messages", headers: auth, body: { model: "lab/silent", max_tokens: 5, messages } })
    expect((JSON.parse(native.text) as { content: ReadonlyArray<{ text: string }> }).content[0]?.text).toContain("Daily limit")
    const gemini = await Http.send(lab.gateway.url, { path: "/v1beta/models/lab/silent:generateContent", headers: auth, body: { contents: [{ role: "user", parts: [{ text: "/usage" }] }] } })
    expect(gemini.text).toContain("Daily limit")
    expect(await lab.sim.entries({ model: "silent" })).toEqual([])
  })

  it("says that it is disabled for other keys, and is a message like any other without a key", async () => {
    const key = await lab.gateway.operator.createKey("no")
    const told = await lab.chat({ model: "silent", messages }, { authorization: `Bearer ${key.key}` })
    expect([told.status, told.text.includes("disabled")]).toEqual([200, true])
    await lab.chat({ model: "heard", messages })
    expect(await lab.sim.entries({ model: "heard" })).toHaveLength(1)
  })
})
