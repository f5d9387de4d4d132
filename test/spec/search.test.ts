/** POST /v1/search over HTTP: what is refused, how each vendor is asked, how its answer is told, what it costs, and who is asked when nobody is named. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { errorIn, type Lab, startLab } from "#test/support/lab.ts"
import { type Headers, rowsOf } from "#test/support/oneShots.ts"

let lab: Lab

/** Where each vendor is served by the simulator. */
const vendors = {
  "serper-search": "/serper", "brave-search": "/brave", "perplexity-search": "/perplexity", "exa-search": "/exa", "tavily-search": "/tavily", "google-pse-search": "/customsearch",
  "linkup-search": "/linkup", "searchapi-search": "/searchapi", "youcom-search": "/youcom", "ollama-search": "/ollama", "searxng-search": "/searxng", "zai-search": "/zai"
} as const
type Provider = keyof typeof vendors
const names = Object.keys(vendors) as ReadonlyArray<Provider>

const connect = (provider: Provider, more: Readonly<Record<string, unknown>> = {}) => lab.gateway.operator.createConnection({
  provider, apiKey: provider === "searxng-search" ? "" : `${provider}-credential-000001`,
  providerSpecificData: { baseUrl: `${lab.sim.url}${vendors[provider]}`, ...provider === "google-pse-search" ? { cx: "engine-1" } : {}, ...more }
})

let connections: Record<string, string>
beforeAll(async () => {
  lab = await startLab()
  connections = Object.fromEntries(await Promise.all(names.map(async (name) => [name, await connect(name)] as const)))
})
afterAll(() => lab.close())

const send = (body: Readonly<Record<string, unknown>>, headers: Headers = {}) => Http.send(lab.gateway.url, { path: "/v1/search", headers, body })

interface Answer {
  readonly [field: string]: unknown
  readonly provider: string
  readonly results: ReadonlyArray<Readonly<Record<string, unknown>>>
}
const answerIn = (reply: Http.Reply): Answer => {
  expect([reply.status, reply.text]).toEqual([200, expect.any(String)])
  return JSON.parse(reply.text) as Answer
}
const callsFor = async (query: string) => (await lab.sim.entries({})).filter((entry) => JSON.stringify([entry.body, decodeURIComponent(entry.query.replaceAll("+", " "))]).includes(query))
const onlyCall = async (query: string) => {
  const calls = await callsFor(query)
  expect(calls.length).toBe(1)
  return calls[0] as NonNullable<typeof calls[0]>
}

describe("a search", () => {
  it("is told in one form, with its cost", async () => {
    const reply = await send({ query: "  one form ", provider: "exa-search", max_results: 2 })
    const answer = answerIn(reply)
    expect(answer).toEqual({
      id: expect.stringMatching(/^search-[0-9a-f]{8}-[0-9a-f-]{27}$/), provider: "exa-search", query: "one form",
      results: [1, 2].map((rank) => ({
        title: `Page ${rank} about one form`, url: `https://www.example.com/pages/${rank}`, display_url: "www.example.com", snippet: `What page ${rank} says about one form.`, position: rank,
        score: 1 / (rank + 1), published_at: "2026-11-01T00:00:00.000Z", favicon_url: "https://www.example.com/f.ico",
        metadata: { author: "A. Writer", language: null, source_type: "other", image_url: "https://www.example.com/i.png" },
        citation: { provider: "exa-search", retrieved_at: expect.stringMatching(/^\d{4}-.*Z$/), rank }
      })),
      answer: null, cached: false, usage: { queries_used: 1, search_cost_usd: 0.007 },
      metrics: { response_time_ms: expect.any(Number), upstream_latency_ms: expect.any(Number), gateway_latency_ms: expect.any(Number), total_results_available: null }
    })
    expect(reply.headers).toMatchObject({ "x-gateway-response-cost": "0.0070000000", "x-gateway-model": "exa-search/web", "x-gateway-provider": "exa" })
    expect(await lab.rows(reply)).toMatchObject([{ endpoint: "/v1/search", provider: "exa-search", model: "web", units: { query: 1 }, costUsd: 0.007, unpriced: false, outcome: "completed" }])
  })

  it.each([
    [{}, "query"], [{ query: "  " }, "query"], [{ query: "x".repeat(501) }, "query"], [{ query: 7 }, "query"], [{ provider: "" }, "provider"], [{ provider: "serper", model: "exa-search/web" }, "provider"],
    [{ max_results: 0 }, "max_results"], [{ max_results: 101 }, "max_results"], [{ max_results: "5" }, "max_results"], [{ search_type: "images" }, "search_type"], [{ offset: -1 }, "offset"],
    [{ country: "USA" }, "country"], [{ language: "e" }, "language"], [{ language: "en-GB-x" }, "language"], [{ time_range: "hour" }, "time_range"], [{ content: "full" }, "content"],
    [{ content: { format: "html" } }, "content.format"], [{ content: { max_characters: 99 } }, "content.max_characters"], [{ filters: { include_domains: "a.com" } }, "filters.include_domains"],
    [{ filters: { include_domains: Array.from({ length: 21 }, (_, i) => `a${i}.com`) } }, "filters.include_domains"], [{ filters: { exclude_domains: ["a.com OR b"] } }, "filters.exclude_domains[0]"],
    [{ filters: { safe_search: "high" } }, "filters.safe_search"], [{ synthesis: { strategy: "deep" } }, "synthesis.strategy"], [{ synthesis: { strategy: "internal" } }, "synthesis.strategy"],
    [{ synthesis: { max_tokens: 4001 } }, "synthesis.max_tokens"], [{ provider_options: [] }, "provider_options"], [{ provider_options: { api_key: "mine" } }, "provider_options.api_key"],
    [{ strict_filters: "yes" }, "strict_filters"]
  ])("%j is refused by the name of its field, and nothing is sent", async (body, param) => {
    const before = (await lab.sim.entries({})).length
    const reply = await send({ ...Object.keys(body).length === 0 || "query" in body ? {} : { query: "refused" }, ...body })
    expect([reply.status, errorIn(reply)["param"]]).toEqual([400, param])
    expect((await lab.sim.entries({})).length).toBe(before)
  })

  it("with a large body is refused like a small one, and nothing is sent", async () => {
    const before = (await lab.sim.entries({})).length
    const reply = await send({ query: "refused", provider: "serper", provider_options: { filler: "x".repeat(400_000) } })
    expect([reply.status, errorIn(reply)["param"]]).toEqual([400, "provider_options"])
    expect((await lab.sim.entries({})).length).toBe(before)
    expect(answerIn(await send({ query: "large and good", provider: "serper", filler: "x".repeat(400_000) })).provider).toBe("serper-search")
  })

  it("of a provider that is none is refused, and so is one without its type", async () => {
    for (const provider of ["nobody", "openai", "jina"]) {
      const reply = await send({ query: "refused", provider })
      expect([reply.status, errorIn(reply)["message"]]).toEqual([400, `Unknown search provider: ${provider}`])
    }
    const reply = await send({ query: "refused", provider: "perplexity", search_type: "news" })
    expect([reply.status, errorIn(reply)["message"]]).toEqual([400, expect.stringContaining("has no search of type 'news'")])
  })

  it.each(["serper", "SERPER-SEARCH", "brave", "perplexity", "exa", "tavily", "google-pse", "linkup", "searchapi", "youcom", "ollama", "searxng", "zai"])("takes %s for a provider", async (provider) => {
    expect(answerIn(await send({ query: `alias ${provider}`, provider })).provider).toBe(provider === "SERPER-SEARCH" ? "serper-search" : `${provider}-search`)
  })

  it("without a match is an empty answer of every vendor", async () => {
    for (const provider of names) expect([provider, answerIn(await send({ query: "nothing", provider })).results]).toEqual([provider, []])
  })
})

const everything = {
  max_results: 5, offset: 10, country: "de", language: "en", time_range: "week", content: { full_page: true, format: "markdown", max_characters: 200 },
  filters: { include_domains: ["a.com", "B.org"], exclude_domains: ["c.net"], safe_search: "strict" }
}
const sites = "(site:a.com OR site:b.org) -site:c.net"
const date = expect.stringMatching(/^\d{4}-\d{2}-\d{2}$/)
const lists = { include_domains: ["a.com", "b.org"], exclude_domains: ["c.net"] }

/** What each vendor is sent for the same search with every filter, and what it cannot honour. */
const dialects: ReadonlyArray<readonly [Provider, string, Readonly<Record<string, unknown>>, ReadonlyArray<string>]> = [
  ["serper-search", "/serper/search", { q: `every ${sites}`, num: 5, gl: "de", hl: "en", tbs: "qdr:w", page: 3 }, ["filters.safe_search", "content.full_page"]],
  ["brave-search", "/brave/web/search", { q: `every ${sites}`, count: "5", offset: "2", country: "DE", search_lang: "en", freshness: "pw", safesearch: "strict" }, ["content.full_page"]],
  ["perplexity-search", "/perplexity/search", { query: "every", max_results: 5, country: "DE", search_language_filter: ["en"], search_recency_filter: "week", search_domain_filter: ["a.com", "b.org"] },
    ["offset", "filters.safe_search", "content.full_page"]],
  ["exa-search", "/exa/search", {
    query: "every", type: "auto", numResults: 5, userLocation: "DE", includeDomains: ["a.com", "b.org"], excludeDomains: ["c.net"], startPublishedDate: date, moderation: true,
    contents: { highlights: true, text: { maxCharacters: 200 } }
  }, ["offset", "language"]],
  ["tavily-search", "/tavily/search", {
    query: "every", topic: "general", search_depth: "basic", max_results: 5, time_range: "week", country: "germany", ...lists, include_raw_content: "markdown", include_favicon: true
  }, ["offset", "language", "filters.safe_search"]],
  ["google-pse-search", "/customsearch/v1", {
    cx: "engine-1", key: "google-pse-search-credential-000001", q: `every ${sites}`, num: "5", start: "11", gl: "de", lr: "lang_en", dateRestrict: "w1", safe: "active"
  }, ["content.full_page"]],
  ["linkup-search", "/linkup/search", { q: "every", depth: "standard", outputType: "searchResults", maxResults: 5, fromDate: date, includeDomains: ["a.com", "b.org"], excludeDomains: ["c.net"] },
    ["offset", "country", "language", "filters.safe_search"]],
  ["searchapi-search", "/searchapi/search", { engine: "google", q: `every ${sites}`, num: "5", gl: "de", hl: "en", time_period: "last_week", safe: "active", page: "3" }, ["content.full_page"]],
  ["youcom-search", "/youcom/search", {
    query: "every", count: 5, offset: 2, country: "DE", language: "EN", freshness: "week", safesearch: "strict", ...lists, livecrawl: "web", livecrawl_formats: ["markdown"]
  }, []],
  ["ollama-search", "/ollama/web_search", { query: "every", max_results: 5 },
    ["offset", "country", "language", "time_range", "filters.include_domains", "filters.exclude_domains", "filters.safe_search"]],
  ["searxng-search", "/searxng/search", { q: "every", format: "json", categories: "general", language: "en", time_range: "week", safesearch: "2" },
    ["offset", "country", "filters.include_domains", "filters.exclude_domains", "content.full_page"]],
  ["zai-search", "/zai/web_search", { search_engine: "search-prime", search_query: "every", count: 5, search_recency_filter: "oneWeek" },
    ["offset", "country", "language", "filters.include_domains", "filters.exclude_domains", "filters.safe_search", "content.full_page"]]
]

describe.each(dialects)("%s", (provider, path, sent, unhonoured) => {
  it("is asked in its own words, and told of what it cannot do", async () => {
    const since = Date.now()
    const reply = await send({ ...everything, query: "every", provider })
    answerIn(reply)
    const [call] = (await lab.sim.entries({ path })).filter((entry) => entry.at >= since - 1_000 && JSON.stringify([entry.body, entry.query]).includes("every"))
    expect([call?.path, call?.method]).toEqual([path, call?.query === "" ? "POST" : "GET"])
    expect(call?.query === "" ? call.body : Object.fromEntries(new URLSearchParams(call?.query))).toEqual(sent)
    expect(reply.headers["x-gateway-omitted"] ?? "").toBe(unhonoured.join(", "))
    expect(JSON.stringify(call?.headers) + String(call?.query)).toContain(provider === "searxng-search" ? "" : provider === "google-pse-search" ? "google-pse-search-credential" : call?.key?.last4 ?? "no key")
  })

  it("is not asked for what it cannot do when its filters are strict", async () => {
    const before = (await lab.sim.entries({ path })).length
    const reply = await send({ ...everything, query: "strict", provider, strict_filters: true })
    expect(reply.status).toBe(unhonoured.length === 0 ? 200 : 400)
    for (const name of unhonoured) expect(errorIn(reply)["message"]).toContain(`'${name}'`)
    expect((await lab.sim.entries({ path })).length).toBe(before + (unhonoured.length === 0 ? 1 : 0))
  })

  it("is told as any other", async () => {
    const { results } = answerIn(await send({ query: "told", provider, max_results: 1 }))
    expect(results).toMatchObject([{
      title: "Page 1 about told", url: "https://www.example.com/pages/1", display_url: "www.example.com", snippet: expect.stringContaining("What page 1 says about told."), position: 1,
      citation: { provider, rank: 1 }
    }])
    expect(JSON.stringify(results)).not.toMatch(/<strong>|&amp;/)
  })

  it("is never asked for more results than it gives", async () => {
    const reply = await send({ query: "many", provider, max_results: 100 })
    const most = { "brave-search": 20, "perplexity-search": 20, "tavily-search": 20, "google-pse-search": 10, "linkup-search": 50, "ollama-search": 10, "searxng-search": 15, "zai-search": 50 }
    expect(answerIn(reply).results.length).toBe((most as Readonly<Record<string, number>>)[provider] ?? 100)
  })

  it("that fails is a bad gateway, its limit is passed on, and its words are", async () => {
    for (const [status, told] of [[500, 502], [401, 502], [403, 502], [404, 502], [429, 429], [400, 400]] as const) {
      await lab.sim.rule({ match: { path }, times: 1, script: { status, error: { message: `it said ${status}` } } })
      const reply = await send({ query: `fails ${status}`, model: `${provider}/failing` })
      expect([status, reply.status]).toEqual([status, told])
      expect(errorIn(reply)["message"]).toContain(`it said ${status}`)
    }
  })
})

describe("news", () => {
  it.each([
    ["serper-search", "/serper/news"], ["brave-search", "/brave/news/search"], ["exa-search", "/exa/search"], ["tavily-search", "/tavily/search"], ["google-pse-search", "/customsearch/v1"],
    ["searchapi-search", "/searchapi/search"], ["youcom-search", "/youcom/search"], ["searxng-search", "/searxng/search"]
  ])("of %s are asked at %s", async (provider, path) => {
    const reply = await send({ query: `news of ${provider}`, provider, search_type: "news" })
    expect(answerIn(reply).results[0]).toMatchObject({ metadata: { source_type: "news" } })
    expect((await onlyCall(`news of ${provider}`)).path).toBe(path)
    expect(reply.headers["x-gateway-model"]).toBe(`${provider}/news`)
  })

  it("that are some days old get their date", async () => {
    const [first] = answerIn(await send({ query: "days ago", provider: "serper", search_type: "news" })).results
    const age = Date.now() - Date.parse(String(first?.["published_at"]))
    expect(Math.round(age / 86_400_000)).toBe(2)
  })
})

describe("what a vendor adds", () => {
  it("is asked for with its options, which replace the gateway's own words", async () => {
    answerIn(await send({ query: "options", provider: "serper", provider_options: { autocorrect: false, num: 3 } }))
    expect((await onlyCall("options")).body).toEqual({ q: "options", num: 3, autocorrect: false })
  })

  it("is the page itself, cut to the wanted length", async () => {
    const [first] = answerIn(await send({ query: "page ".repeat(30), provider: "tavily", max_results: 1, content: { snippet: false, full_page: true, max_characters: 100 } })).results
    expect(first).toMatchObject({ snippet: "", content: { format: "text", length: 100, text: expect.stringContaining("What page 1") } })
  })

  it("is its own summary, where it writes one", async () => {
    const answer = answerIn(await send({ query: "summary", provider: "tavily", synthesis: { strategy: "provider" } }))
    expect(answer["answer"]).toEqual({ source: "provider", text: "All about summary.", model: null })
    expect(answerIn(await send({ query: "no summary", provider: "serper", synthesis: { strategy: "auto" } }))["answer"]).toBe(null)
    const strict = await send({ query: "summary", provider: "serper", synthesis: { strategy: "provider" }, strict_filters: true })
    expect([strict.status, errorIn(strict)["message"]]).toEqual([400, expect.stringContaining("'synthesis'")])
  })

  it("is another kind of search, named as a model", async () => {
    const reply = await send({ query: "bing it", model: "searchapi-search/bing" })
    expect([answerIn(reply).provider, reply.headers["x-gateway-model"]]).toEqual(["searchapi-search", "searchapi-search/bing"])
    expect(new URLSearchParams((await onlyCall("bing it")).query).get("engine")).toBe("bing")
  })

  it("that is no address of the web is left out", async () => {
    await lab.sim.rule({ match: { path: "/serper/search" }, times: 1, script: { status: 200, body: { organic: [{ title: "a", link: "javascript:alert(1)" }, { title: "<b>b</b>", link: "https://b.example/x" }, { link: 7 }] } } })
    const { results } = answerIn(await send({ query: "odd addresses", provider: "serper" }))
    expect(results).toMatchObject([{ title: "b", url: "https://b.example/x", snippet: "", score: null, position: 1 }])
  })
})

describe("a search that names no provider", () => {
  const off = async (...providers: ReadonlyArray<Provider>) => {
    await lab.gateway.operator.call("PATCH", "/api/providers", { ids: providers.map((name) => connections[name]), isActive: false })
    return () => lab.gateway.operator.call("PATCH", "/api/providers", { ids: providers.map((name) => connections[name]), isActive: true })
  }

  it("goes to the cheapest with a price, and to one other when that fails", async () => {
    const on = await off("searxng-search")
    expect(answerIn(await send({ query: "cheapest" })).provider).toBe("serper-search")
    const breaks = (path: string) => lab.sim.rule({ match: { path }, times: 1, script: { status: 503, error: { message: "down" } } })
    await breaks("/serper/search")
    const reply = await send({ query: "second cheapest" })
    expect(answerIn(reply)).toMatchObject({ provider: "searchapi-search", errors: [{ provider: "serper-search", code: expect.any(String), message: expect.any(String) }] })
    expect([reply.headers["x-gateway-fallback-attempts"], reply.headers["x-gateway-response-cost"]]).toEqual(["1", "0.0040000000"])
    await Promise.all(["/serper/search", "/searchapi/search"].map(breaks))
    const failed = await send({ query: "no third" })
    expect(failed.status).toBe(502)
    expect((await callsFor("no third")).map(({ path }) => path)).toEqual(["/serper/search", "/searchapi/search"])
    await on()
  })

  it("goes to a keyless one first, and follows the operator's prices", async () => {
    expect(answerIn(await send({ query: "free" })).provider).toBe("searxng-search")
    await lab.gateway.operator.price("zai-search", "web", { per_query: 0 })
    await lab.gateway.operator.price("searxng-search", "web", { per_query: 1 })
    expect(answerIn(await send({ query: "free no more" })).provider).toBe("zai-search")
    await lab.gateway.operator.price("zai-search", "web", { per_query: 1 })
  })

  it("goes to a provider with its type, and through a strict filter to one that can", async () => {
    const reply = await send({ query: "guarded", filters: { safe_search: "strict" }, strict_filters: true })
    expect(answerIn(reply).provider).toBe("searchapi-search")
    expect(await callsFor("guarded")).toMatchObject([{ path: "/searchapi/search" }])
  })

  it("that neither of two can honour is refused as the request's own fault", async () => {
    const on = await off("searxng-search")
    const reply = await send({ query: "whole pages", content: { full_page: true }, strict_filters: true })
    expect([reply.status, errorIn(reply)]).toEqual([400, { message: expect.stringContaining("cannot honour 'content.full_page'"), type: "invalid_request_error", code: "bad_request" }])
    expect(await callsFor("whole pages")).toEqual([])
    await on()
  })

  it("without any credentials is refused", async () => {
    const on = await off(...names)
    const reply = await send({ query: "none" })
    expect([reply.status, errorIn(reply)["message"]]).toEqual([400, "No credentials for any search provider of type 'web': add a connection with POST /api/providers."])
    const named = await send({ query: "none", provider: "serper" })
    expect([named.status, errorIn(named)["message"]]).toEqual([503, expect.stringContaining("serper-search")])
    await on()
  })

  it("goes where a combo of the operator says", async () => {
    await lab.gateway.operator.call("POST", "/api/combos", { name: "my-search", models: ["brave-search/web", "exa-search/web"], config: { maxRetries: 0 } })
    await lab.sim.rule({ match: { path: "/brave/web/search" }, times: 1, script: { status: 500 } })
    const reply = await send({ query: "combo", model: "my-search" })
    expect(answerIn(reply)).toMatchObject({ provider: "exa-search", errors: [{ provider: "brave-search" }] })
  })
})

it("all calls of this file have their rows", async () => {
  expect(await rowsOf(lab, "bing")).toHaveLength(1)
  expect(await lab.gateway.operator.settled()).toMatchObject({ gap: 0 })
})
