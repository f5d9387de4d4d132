/** Searches that were made before: who shares an answer, for how long, what it costs, and what is counted. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { errorIn, type Lab, startLab } from "#test/support/lab.ts"
import type { Headers } from "#test/support/oneShots.ts"
import { eventually } from "#test/support/operator.ts"

let lab: Lab
let serper: string
beforeAll(async () => {
  lab = await startLab()
  serper = await connect("serper-search", "/serper")
  await connect("exa-search", "/exa")
})
afterAll(() => lab.close())

const connect = (provider: string, base: string, more: Readonly<Record<string, unknown>> = {}) =>
  lab.gateway.operator.createConnection({ provider, apiKey: `${provider}-credential-000001`, providerSpecificData: { baseUrl: `${lab.sim.url}${base}`, ...more } })

const send = (body: Readonly<Record<string, unknown>>, headers: Headers = {}) => Http.send(lab.gateway.url, { path: "/v1/search", headers, body: { provider: "serper", ...body } })
const json = <A>(reply: Http.Reply): A => {
  expect([reply.status, reply.text]).toEqual([200, expect.any(String)])
  return JSON.parse(reply.text) as A
}
interface Answer {
  readonly id: string
  readonly cached: boolean
  readonly provider: string
  readonly results: ReadonlyArray<unknown>
}
const calls = async (query: string) => (await lab.sim.entries({})).filter(({ body }) => JSON.stringify(body).includes(query))
const bearer = (key: string): Headers => ({ authorization: `Bearer ${key}` })

interface Analytics {
  readonly total: number
  readonly today: number
  readonly cached: number
  readonly errors: number
  readonly totalCostUsd: number
  readonly byProvider: Readonly<Record<string, { readonly count: number; readonly costUsd: number }>>
  readonly cacheHitRate: number
  readonly avgDurationMs: number
  readonly last24h: ReadonlyArray<{ readonly hour: string; readonly count: number }>
}
const analytics = async (headers: Headers = {}) => json<Analytics>(await Http.send(lab.gateway.url, { path: "/v1/search/analytics", headers }))

describe("an equal search", () => {
  it("is answered from the cache, as another event that cost nothing", async () => {
    const first = await send({ query: "again" })
    const again = await send({ query: " again ", max_results: 5, content: { snippet: true }, filters: {} })
    const [one, other] = [json<Answer>(first), json<Answer>(again)]
    expect([one.cached, other.cached, one.results, await calls("again")]).toEqual([false, true, other.results, [expect.anything()]])
    expect(other.id).toMatch(/^search-[0-9a-f-]{36}$/)
    expect(other.id).not.toBe(one.id)
    expect(other).toMatchObject({ provider: "serper-search", usage: { queries_used: 0, search_cost_usd: 0 }, metrics: { response_time_ms: expect.any(Number) } })
    expect(again.headers).toMatchObject({
      "x-gateway-cache": "HIT", "x-gateway-cache-hit": "true", "x-gateway-cache-latency": "synthetic", "x-gateway-response-cost": "0.0000000000", "x-gateway-cost-saved": "0.0010000000",
      "x-gateway-model": "serper-search/web", "x-gateway-provider": "serper", "x-gateway-request-id": expect.any(String), "x-gateway-version": expect.any(String)
    })
    expect(first.headers).toMatchObject({ "x-gateway-cache": "MISS", "x-gateway-cache-hit": "false" })
    expect([(await lab.rows(first)).length, (await lab.rows(again)).length]).toEqual([1, 0])
  })

  it.each([
    { provider: "exa" }, { search_type: "news" }, { max_results: 6 }, { offset: 5 }, { country: "DE" }, { language: "de" }, { time_range: "day" }, { content: { snippet: false } },
    { filters: { include_domains: ["a.com"] } }, { filters: { safe_search: "strict" } }, { synthesis: { strategy: "auto" } }, { provider_options: { autocorrect: false } }, { query: "Differs" }
  ])("is none that differs in %j", async (more) => {
    json(await send({ query: "differs" }))
    expect(json<Answer>(await send({ query: "differs", ...more })).cached).toBe(false)
    expect(json<Answer>(await send({ query: "differs", ...more })).cached).toBe(true)
  })

  it("of another key is its own", async () => {
    const [one, other] = await Promise.all(["one", "other"].map((name) => lab.gateway.operator.createKey(`tenant-${name}`)))
    expect(json<Answer>(await send({ query: "tenants" }, bearer(one?.key ?? ""))).cached).toBe(false)
    expect(json<Answer>(await send({ query: "tenants" }, bearer(other?.key ?? ""))).cached).toBe(false)
    expect(json<Answer>(await send({ query: "tenants" })).cached).toBe(false)
    expect(json<Answer>(await send({ query: "tenants" }, bearer(one?.key ?? ""))).cached).toBe(true)
    expect((await calls("tenants")).length).toBe(3)
  })

  it.each([[{ "x-gateway-no-cache": "true" }], [{ "cache-control": "no-cache" }], [{ "cache-control": "no-store" }]])("with %j is made anew", async (headers) => {
    const query = `fresh ${JSON.stringify(headers).replaceAll(/[^a-z-]/g, "")}`
    for (let i = 0; i < 2; i++) expect(json<Answer>(await send({ query }, headers as Headers)).cached).toBe(false)
    expect((await calls(query)).length).toBe(2)
    expect(json<Answer>(await send({ query })).cached).toBe(!("cache-control" in headers && headers["cache-control"] === "no-store"))
  })

  it("that failed is made anew", async () => {
    await lab.sim.rule({ match: { path: "/serper/search" }, times: 1, script: { status: 500 } })
    expect((await send({ query: "failed once" })).status).toBe(502)
    expect(json<Answer>(await send({ query: "failed once" })).cached).toBe(false)
  })

  it("whose answer is large is read beside the loop, cut to its bounds, and kept no longer than for those that wait", async () => {
    const results = Array.from({ length: 8 }, (_, i) => ({ title: `Large ${i}`, url: `https://example.com/${i}`, text: "x".repeat(150_000), highlights: ["h"] }))
    await lab.sim.rule({ match: { path: "/exa/search" }, times: 2, script: { status: 200, body: { results } } })
    for (let i = 0; i < 2; i++) {
      const answer = json<Answer & { readonly results: ReadonlyArray<{ readonly content: { readonly length: number } }> }>(await send({ query: "large", provider: "exa", max_results: 8, content: { full_page: true } }))
      expect([answer.cached, answer.results.map(({ content }) => content.length)]).toEqual([false, results.map(() => 100_000)])
    }
    expect((await calls("large")).length).toBe(2)
  })

  it("is forgotten with the response cache", async () => {
    json(await send({ query: "forgotten" }))
    await lab.gateway.operator.call("DELETE", "/api/cache")
    expect(json<Answer>(await send({ query: "forgotten" })).cached).toBe(false)
  })

  it("is kept for as long as its connection says", async () => {
    await lab.gateway.operator.changeConnection(serper, { providerSpecificData: { cacheTTLMs: 0 } })
    for (let i = 0; i < 2; i++) expect(json<Answer>(await send({ query: "not kept" })).cached).toBe(false)
    await lab.gateway.operator.changeConnection(serper, { providerSpecificData: { cacheTTLMs: 1 } })
    json(await send({ query: "kept for a moment" }))
    await eventually(async () => json<Answer>(await send({ query: "kept for a moment" })).cached, (cached) => !cached, "the end of what was kept")
    await lab.gateway.operator.changeConnection(serper, { providerSpecificData: { cacheTTLMs: null } })
  })

  it("outlives its node, in the durable tier", async () => {
    json(await send({ query: "durable" }))
    await lab.gateway.restart()
    expect(json<Answer>(await send({ query: "durable" })).cached).toBe(true)
  })
})

describe("equal searches at the same time", () => {
  it("share one call, and each is counted", async () => {
    await lab.sim.rule({ match: { path: "/serper/search" }, times: 1, script: { neverHead: true } })
    const { request } = Http.open(lab.gateway.url, { path: "/v1/search", body: { provider: "serper", query: "together" } })
    await eventually(() => calls("together"), ({ length }) => length === 1, "the call of the first")
    const others = Array.from({ length: 5 }, () => send({ query: "together" }))
    // The first leaves: one of the others makes the call, and the rest share its answer, or get it from the cache.
    request.destroy()
    const answers = (await Promise.all(others)).map((reply) => json<Answer>(reply))
    expect(answers.filter(({ cached }) => !cached).length).toBe(1)
    expect(new Set(answers.map(({ id }) => id)).size).toBe(5)
    expect((await calls("together")).length).toBe(2)
  })
})

describe("the statistics", () => {
  it("of a key are what it searched itself, kept and failed searches too", async () => {
    const { key } = await lab.gateway.operator.createKey("analyst")
    expect(await analytics(bearer(key))).toEqual({
      total: 0, today: 0, cached: 0, errors: 0, totalCostUsd: 0, byProvider: {}, cacheHitRate: 0, avgDurationMs: 0,
      last24h: Array.from({ length: 24 }, () => ({ hour: expect.stringMatching(/:00:00\.000Z$/), count: 0, cached: 0, errors: 0, costUsd: 0 }))
    })
    for (const body of [{ query: "counted" }, { query: "counted" }, { query: "counted", provider: "exa" }]) json(await send(body, bearer(key)))
    await lab.sim.rule({ match: { path: "/exa/search" }, times: 1, script: { status: 500 } })
    expect((await send({ query: "counted as failed", provider: "exa" }, bearer(key))).status).toBe(502)
    const told = await eventually(() => analytics(bearer(key)), ({ total }) => total === 4, "the counts")
    expect(told).toMatchObject({
      total: 4, today: 4, cached: 1, errors: 1, totalCostUsd: 0.008, cacheHitRate: 0.25,
      byProvider: { "serper-search": { count: 2, costUsd: 0.001 }, "exa-search": { count: 2, costUsd: 0.007 } }
    })
    expect(told.last24h.reduce((sum, { count }) => sum + count, 0)).toBe(4)
  })

  it("of all are the operator's, and leave out connections that went when a flag says so", async () => {
    const { operator } = lab.gateway
    const gone = await connect("brave-search", "/brave")
    json(await send({ query: "gone", provider: "brave" }))
    const stats = () => operator.call<{ readonly total: number; readonly rows: ReadonlyArray<{ readonly provider: string; readonly connectionId: string | null }> }>("GET", "/api/search/stats")
    const rows = async () => (await stats()).rows.filter(({ connectionId }) => connectionId === gone)
    await eventually(rows, ({ length }) => length === 1, "the counts of the connection")
    await operator.removeConnection(gone)
    expect(await rows()).toMatchObject([{ provider: "brave-search", requests: 1, attempts: 1, cached: 0, errors: 0, costUsd: 0.005 }])
    await operator.call("PUT", "/api/settings/feature-flags", { key: "SEARCH_STATS_HIDE_DELETED_CONNECTIONS", value: "true" })
    expect(await rows()).toEqual([])
    expect((await stats()).total).toBeGreaterThan(4)
  })

  it("and the list need a key that may search", async () => {
    const { key } = await lab.gateway.operator.createKey("no searches", { allowedEndpoints: ["chat"] })
    for (const path of ["/v1/search", "/v1/search/analytics"]) {
      expect([path, (await Http.send(lab.gateway.url, { path, headers: bearer(key) })).status]).toEqual([path, 403])
      const unknown = await Http.send(lab.gateway.url, { path, headers: bearer("sk-none") })
      expect([path, unknown.status, errorIn(unknown)["code"]]).toEqual([path, 401, "invalid_api_key"])
    }
  })
})

describe("the providers", () => {
  it("that are connected are listed for clients", async () => {
    const list = json<{ readonly object: string; readonly data: ReadonlyArray<unknown> }>(await Http.send(lab.gateway.url, { path: "/v1/search" }))
    expect(list).toEqual({
      object: "list",
      data: [["serper-search", "Serper"], ["exa-search", "Exa"]].map(([id, name]) => ({ id, object: "search_provider", created: expect.any(Number), name, search_types: ["web", "news"] }))
    })
  })

  it("are all shown to operators, with what they can and cost", async () => {
    const { providers } = await lab.gateway.operator.call<{ providers: ReadonlyArray<{ readonly id: string }> }>("GET", "/api/search/providers")
    expect(providers.length).toBe(12)
    expect(providers.find(({ id }) => id === "serper-search")).toEqual({
      id: "serper-search", name: "Serper", searchTypes: ["web", "news"], maxResults: 100, costPerQueryUsd: 0.001, keyless: false, configured: true, connections: 1,
      filters: ["offset", "country", "language", "time_range", "filters.include_domains", "filters.exclude_domains"]
    })
    expect(providers.find(({ id }) => id === "searxng-search")).toMatchObject({ keyless: true, configured: false, connections: 0 })
  })
})
