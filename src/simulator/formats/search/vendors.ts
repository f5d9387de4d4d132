/** Vendors of searches, each under a path of its own: what they refuse is refused here, and what they find is found. */
import * as Predicate from "effect/Predicate"
import { Bad, strictly } from "#src/simulator/formats/chatRequest.ts"
import { chatStreamError } from "#src/simulator/formats/errors.ts"
import type { Body, Format, RequestHead, SimulatedRefusal } from "#src/simulator/formats/Format.ts"
import { oneShotCall } from "#src/simulator/formats/oneShotCall.ts"
import { check, type Fields, isCode, isDate, isFlag, isText, listOf, ofQuery, oneOf, type Page, pagesOf, within } from "./fields.ts"

interface Vendor {
  readonly name: string
  readonly paths: ReadonlyArray<string>
  readonly byQuery?: true
  readonly fields: Fields
  readonly required: ReadonlyArray<string>
  /** The parameter that the vendor calls its kind of search. */
  readonly model?: string
  readonly query: string
  readonly count: readonly [name: string, usual: number]
  readonly answer: (pages: ReadonlyArray<Page>, asked: Body, head: RequestHead) => unknown
  readonly error: (refusal: SimulatedRefusal) => unknown
}

const range = oneOf("day", "week", "month", "year")

const serper: Vendor = {
  name: "serper", paths: ["/serper/search", "/serper/news"], query: "q", count: ["num", 10], required: ["q"],
  fields: { q: isText, num: within(1, 100), gl: isCode, hl: isText, tbs: oneOf("qdr:h", "qdr:d", "qdr:w", "qdr:m", "qdr:y"), page: within(1, 100), autocorrect: isFlag },
  answer: (pages, asked, { path }) => {
    const list = pages.map(({ rank, text, title, url }) => ({ title, link: url, snippet: text, date: "2 days ago", position: rank }))
    return { searchParameters: asked, [path.endsWith("/news") ? "news" : "organic"]: list, credits: 1 }
  },
  error: ({ message, status }) => ({ message, statusCode: status })
}

const brave: Vendor = {
  name: "brave", paths: ["/brave/web/search", "/brave/news/search"], byQuery: true, query: "q", count: ["count", 20], required: ["q"],
  fields: {
    q: isText, count: within(1, 20), offset: within(0, 9), country: isCode, search_lang: isText, freshness: oneOf("pd", "pw", "pm", "py"),
    safesearch: oneOf("off", "moderate", "strict"), extra_snippets: oneOf("true", "false")
  },
  answer: (pages, _asked, { path }) => {
    const list = pages.map(({ text, title, url }) => ({
      title, url, description: `<strong>${text}</strong> &amp; more`, page_age: "2026-11-01T08:00:00", language: "en", meta_url: { hostname: "www.example.com", favicon: "https://imgs.example.com/f.ico" }
    }))
    return path.endsWith("/news/search") ? { type: "news", results: list } : { type: "search", query: {}, ...(list.length === 0 ? {} : { web: { type: "search", results: list } }) }
  },
  error: ({ code, message, status }) => ({ type: "ErrorResponse", error: { id: "e-1", status, code: code ?? "VALIDATION", detail: message } })
}

const perplexity: Vendor = {
  name: "perplexity", paths: ["/perplexity/search"], query: "query", count: ["max_results", 10], required: ["query"],
  fields: {
    query: isText, max_results: within(1, 20), country: isCode, search_recency_filter: oneOf("hour", "day", "week", "month", "year"), search_language_filter: listOf(isCode, 20),
    search_domain_filter: (value) => listOf(isText, 20)(value) && new Set((value as ReadonlyArray<string>).map((one) => one.startsWith("-"))).size === 1, max_tokens_per_page: within(1, 100_000)
  },
  answer: (pages) => ({ id: "s-1", results: pages.map(({ text, title, url }) => ({ title, url, snippet: text, date: "2026-10-05", last_updated: "2026-11-01" })) }),
  error: ({ message, status }) => ({ error: { message, type: "invalid_request", code: status } })
}

const exa: Vendor = {
  name: "exa", paths: ["/exa/search"], query: "query", count: ["numResults", 10], required: ["query"], model: "type",
  fields: {
    query: isText, type: isText, numResults: within(1, 100), category: oneOf("news", "company", "research paper"), userLocation: isCode, includeDomains: listOf(isText), excludeDomains: listOf(isText),
    startPublishedDate: isDate, moderation: isFlag,
    contents: (value) => Predicate.isObject(value) && Object.entries(value).every(([name, one]) =>
      name === "highlights" ? one === true : name === "text" && (one === true || (Predicate.isObject(one) && within(1, 100_000)((one as Body)["maxCharacters"]))))
  },
  answer: (pages, { contents }) => ({
    requestId: "r-1", resolvedSearchType: "auto", costDollars: { total: 0.007 },
    results: pages.map(({ rank, text, title, url }) => ({
      id: url, title, url, score: 1 / (rank + 1), publishedDate: "2026-11-01T00:00:00.000Z", author: "A. Writer", image: "https://www.example.com/i.png", favicon: "https://www.example.com/f.ico",
      ...(Predicate.isObject(contents) && "highlights" in contents ? { highlights: [text] } : {}), ...(Predicate.isObject(contents) && "text" in contents ? { text: `${text} In full.` } : {})
    }))
  }),
  error: ({ message }) => ({ requestId: "r-1", error: message, tag: "INVALID_REQUEST" })
}

const tavily: Vendor = {
  name: "tavily", paths: ["/tavily/search"], query: "query", count: ["max_results", 5], required: ["query"], model: "search_depth",
  fields: {
    query: isText, topic: oneOf("general", "news", "finance"), search_depth: isText, max_results: within(1, 20), time_range: range, country: isText, include_domains: listOf(isText),
    exclude_domains: listOf(isText), include_answer: oneOf(true, false, "basic", "advanced"), include_raw_content: oneOf(true, false, "markdown", "text"), include_favicon: isFlag
  },
  answer: (pages, { include_answer: answers, include_raw_content: raw, query, topic }) => ({
    query, answer: answers === undefined ? null : `All about ${String(query)}.`, images: [], response_time: 0.5, request_id: "t-1",
    results: pages.map(({ rank, text, title, url }) => ({
      title, url, content: text, score: 1 / (rank + 1), raw_content: raw === undefined ? null : `${text} In full.`, ...(topic === "news" ? { published_date: "Sun, 01 Nov 2026 08:00:00 GMT" } : {})
    }))
  }),
  error: ({ message }) => ({ detail: { error: message } })
}

const googlePse: Vendor = {
  name: "google-pse", paths: ["/customsearch/v1"], byQuery: true, query: "q", count: ["num", 10], required: ["q", "cx", "key"],
  fields: {
    q: isText, cx: isText, key: isText, num: within(1, 10), start: within(1, 100), gl: isCode, lr: (value) => Predicate.isString(value) && /^lang_[a-z]{2}/.test(value),
    dateRestrict: oneOf("d1", "w1", "m1", "y1"), safe: oneOf("active", "off"), sort: oneOf("date")
  },
  answer: (pages) => ({
    kind: "customsearch#search", searchInformation: { searchTime: 0.2, totalResults: String(pages.length * 100) },
    ...(pages.length === 0 ? {} : {
      items: pages.map(({ text, title, url }) => ({ title, link: url, snippet: text, displayLink: "www.example.com", pagemap: { cse_image: [{ src: "https://www.example.com/i.png" }] } }))
    })
  }),
  error: ({ message, status }) => ({ error: { code: status, message, status: "INVALID_ARGUMENT" } })
}

const linkup: Vendor = {
  name: "linkup", paths: ["/linkup/search"], query: "q", count: ["maxResults", 10], required: ["q", "depth", "outputType"], model: "depth",
  fields: {
    q: isText, depth: isText, outputType: oneOf("searchResults", "sourcedAnswer"), maxResults: within(1, 100), fromDate: isDate, includeDomains: listOf(isText, 100), excludeDomains: listOf(isText, 100)
  },
  answer: (pages, { outputType }) => {
    const list = pages.map(({ text, title, url }) => ({ type: "text", name: title, url, content: text }))
    return outputType === "searchResults" ? { results: list } : { answer: "All of it.", sources: list.map(({ content, name, url }) => ({ name, url, snippet: content })) }
  },
  error: ({ code, message, status }) => ({ statusCode: status, error: { code: code ?? "VALIDATION_ERROR", message, details: [] } })
}

const searchApi: Vendor = {
  name: "searchapi", paths: ["/searchapi/search"], byQuery: true, query: "q", count: ["num", 10], required: ["engine", "q"], model: "engine",
  fields: {
    engine: isText, q: isText, num: within(1, 100), page: within(1, 100), gl: isCode, hl: isText, safe: oneOf("active", "off"),
    time_period: oneOf("last_hour", "last_day", "last_week", "last_month", "last_year")
  },
  answer: (pages) => ({
    search_metadata: { status: "Success" }, search_information: { total_results: pages.length * 100 },
    organic_results: pages.map(({ rank, text, title, url }) => ({ position: rank, title, link: url, displayed_link: "www.example.com", snippet: text, date: "Nov 1, 2026" }))
  }),
  error: ({ message }) => ({ error: message })
}

const youcom: Vendor = {
  name: "youcom", paths: ["/youcom/search"], query: "query", count: ["count", 10], required: ["query"],
  fields: {
    query: isText, count: within(1, 100), offset: within(0, 9), country: isCode, language: isText, freshness: range, safesearch: oneOf("off", "moderate", "strict"), include_domains: listOf(isText),
    exclude_domains: listOf(isText), livecrawl: oneOf("web", "news", "all"), livecrawl_formats: listOf(oneOf("html", "markdown"))
  },
  answer: (pages, { livecrawl }) => {
    const list = pages.map(({ text, title, url }) => ({
      title, url, description: title, snippets: [text], page_age: "2026-11-01T08:00:00", favicon_url: "https://www.example.com/f.ico", ...(livecrawl === undefined ? {} : { contents: { markdown: `# ${title}` } })
    }))
    return { results: pages.length === 0 ? {} : { web: list, news: list.slice(0, 2) }, metadata: { search_uuid: "y-1" } }
  },
  error: ({ message }) => ({ detail: message })
}

const ollama: Vendor = {
  name: "ollama-web-search", paths: ["/ollama/web_search"], query: "query", count: ["max_results", 5], required: ["query"], fields: { query: isText, max_results: within(1, 10) },
  answer: (pages) => ({ results: pages.map(({ text, title, url }) => ({ title, url, content: text })) }),
  error: ({ message }) => ({ error: message })
}

const searxng: Vendor = {
  name: "searxng", paths: ["/searxng/search"], byQuery: true, query: "q", count: ["count", 15], required: ["q", "format"],
  fields: { q: isText, format: oneOf("json"), categories: oneOf("general", "news"), language: isText, time_range: range, safesearch: oneOf("0", "1", "2"), pageno: within(1, 100) },
  answer: (pages, { q }) => ({
    query: q, number_of_results: 0, answers: [], results: pages.map(({ text, title, url }) => ({ title, url, content: text, score: 3.5, engine: "brave", publishedDate: "2026-11-01T00:00:00" }))
  }),
  error: ({ message }) => ({ error: message })
}

const zai: Vendor = {
  name: "zai-web-search", paths: ["/zai/web_search"], query: "search_query", count: ["count", 10], required: ["search_engine", "search_query"], model: "search_engine",
  fields: {
    search_engine: isText, search_query: isText, count: within(1, 50), search_domain_filter: isText, search_recency_filter: oneOf("oneDay", "oneWeek", "oneMonth", "oneYear", "noLimit")
  },
  answer: (pages) => ({ id: "z-1", created: 1, search_result: pages.map(({ text, title, url }) => ({ title, link: url, content: text, media: "Example", icon: "https://www.example.com/f.ico", publish_date: "2026-11-01" })) }),
  error: ({ code, message }) => ({ error: { code: code ?? "1214", message } })
}

const formatOf = ({ answer, byQuery, count, error, fields, model, name, paths, query, required }: Vendor): Format => ({
  name, matches: (path) => paths.includes(path), ...(byQuery === true ? { methods: ["GET"] } : {}),
  identify: (_path, body, sent) => {
    const asked = byQuery === true ? ofQuery(sent) : body
    const said = model === undefined ? undefined : asked[model]
    return { model: Predicate.isString(said) ? said : null, stream: false }
  },
  read: strictly((body, head) => {
    if (byQuery === true && head.method !== "GET") throw new Bad("Only GET is allowed here.", null, null, 405)
    const asked = check(byQuery === true ? ofQuery(head.query) : body, fields, ...required)
    const said = model === undefined ? undefined : asked[model]
    return oneShotCall(Predicate.isString(said) ? said : name, 0, () => ({
      type: "application/json", pieces: [Buffer.from(JSON.stringify(answer(pagesOf(asked[query], asked[count[0]], count[1]), asked, head)))]
    }))
  }),
  events: () => [], body: () => "", renderError: (refusal) => JSON.stringify(error(refusal)), streamError: chatStreamError
})

export const searches: ReadonlyArray<Format> = [serper, brave, perplexity, exa, tavily, googlePse, linkup, searchApi, youcom, ollama, searxng, zai].map(formatOf)
