/** Vendors that fetch pages, each under a path of its own; nothing is fetched, and every page says where it came from. */
import * as Predicate from "effect/Predicate"
import { Bad, strictly } from "#src/simulator/formats/chatRequest.ts"
import { chatStreamError } from "#src/simulator/formats/errors.ts"
import type { Body, Format, RequestHead, SimulatedRefusal } from "#src/simulator/formats/Format.ts"
import { oneShotCall } from "#src/simulator/formats/oneShotCall.ts"
import { check, type Fields, isFlag, isText, listOf, oneOf } from "./fields.ts"

interface Fetcher {
  readonly name: string
  readonly path: string
  readonly fields: Fields
  readonly required: ReadonlyArray<string>
  /** Name of the field with the address, or with the list of them. */
  readonly url: "url" | "urls"
  readonly answer: (url: string, asked: Body, head: RequestHead) => unknown
  readonly error: (refusal: SimulatedRefusal) => unknown
}

const isUrl = (value: unknown): boolean => Predicate.isString(value) && URL.canParse(value)
const markdownOf = (url: string): string => `# Page of ${url}\n\nA [link](https://www.example.com/next) and [another](https://www.example.com/other).`
const htmlOf = (url: string): string => `<h1>Page of ${url}</h1>`
const links = ["https://www.example.com/next", "https://www.example.com/other"]
const title = "A page"
const shot = "https://shots.example.com/1.png"

const firecrawl: Fetcher = {
  name: "firecrawl", path: "/firecrawl/scrape", url: "url", required: ["url"],
  fields: {
    url: isUrl, formats: listOf(oneOf("markdown", "html", "links", "screenshot")), onlyMainContent: isFlag, waitFor: Predicate.isNumber,
    actions: listOf((one) => Predicate.isObject(one) && (one as Body)["type"] === "wait" && isText((one as Body)["selector"]))
  },
  answer: (url, { formats }) => {
    const has = (format: string): boolean => Array.isArray(formats) && formats.includes(format)
    return {
      success: true,
      data: {
        ...(has("markdown") ? { markdown: markdownOf(url) } : {}), ...(has("html") ? { html: htmlOf(url) } : {}), ...(has("links") ? { links } : {}), ...(has("screenshot") ? { screenshot: shot } : {}),
        metadata: { title, description: "What it says", sourceURL: url, statusCode: 200 }
      }
    }
  },
  error: ({ message }) => ({ success: false, error: message })
}

const jina: Fetcher = {
  name: "jina-reader", path: "/jina/", url: "url", required: ["url"], fields: { url: isUrl },
  answer: (url, _asked, { headers }) => {
    if (headers.accept !== "application/json") throw new Bad("Only application/json is simulated.", null)
    const format = headers["x-return-format"] ?? "markdown"
    if (!["markdown", "html", "screenshot"].includes(String(format))) throw new Bad(`Unknown format ${String(format)}`, "x-return-format")
    return {
      code: 200, status: 20000,
      data: {
        title, description: "What it says", url, usage: { tokens: 20 }, ...(format === "html" ? { html: htmlOf(url) } : format === "screenshot" ? { screenshotUrl: shot } : { content: markdownOf(url) }),
        ...(headers["x-with-links-summary"] === "true" ? { links: Object.fromEntries(links.map((link, i) => [`link ${i}`, link])) } : {})
      }
    }
  },
  error: ({ message, status }) => ({ data: null, code: status, name: "AssertionFailureError", status: status * 100, message, readableMessage: `AssertionFailureError: ${message}` })
}

const tavily: Fetcher = {
  name: "tavily-extract", path: "/tavily/extract", url: "urls", required: ["urls"],
  fields: { urls: listOf(isUrl, 20), extract_depth: oneOf("basic", "advanced"), format: oneOf("markdown", "text"), include_images: isFlag },
  answer: (url) => url.endsWith("/missing")
    ? { results: [], failed_results: [{ url, error: "Failed to fetch url" }], response_time: 0.1 }
    : { results: [{ url, raw_content: markdownOf(url), images: [] }], failed_results: [], response_time: 0.1 },
  error: ({ message }) => ({ detail: { error: message } })
}

const tinyfish: Fetcher = {
  name: "tinyfish", path: "/tinyfish/", url: "urls", required: ["urls"], fields: { urls: listOf(isUrl, 10), format: oneOf("markdown", "html", "json"), links: isFlag },
  answer: (url, { format, links: wants }) => ({
    results: [{ url, final_url: url, title, description: "What it says", language: "en", format, text: format === "html" ? htmlOf(url) : markdownOf(url), ...(wants === true ? { links } : {}) }], errors: []
  }),
  error: ({ code, message }) => ({ error: { code: code ?? "INVALID_INPUT", message } })
}

const nimble: Fetcher = {
  name: "nimble", path: "/nimble/extract", url: "url", required: ["url"], fields: { url: isUrl, formats: listOf(oneOf("markdown", "html")), render: isFlag },
  answer: (url, { formats }) => ({
    task_id: "n-1", status: "success", status_code: 200, data: Array.isArray(formats) && formats.includes("html") ? { html: htmlOf(url) } : { markdown: markdownOf(url) }
  }),
  error: ({ message }) => ({ status: "failed", message })
}

const formatOf = ({ answer, error, fields, name, path, required, url }: Fetcher): Format => ({
  name, matches: (asked) => asked === path,
  identify: () => ({ model: null, stream: false }),
  read: strictly((body, head) => {
    const asked = check(body, fields, ...required)
    const first: unknown = url === "url" ? asked["url"] : (asked["urls"] as ReadonlyArray<unknown>)[0]
    const said = answer(String(first), asked, head)
    return oneShotCall(name, 0, () => ({ type: "application/json", pieces: [Buffer.from(JSON.stringify(said))] }))
  }),
  events: () => [], body: () => "", renderError: (refusal) => JSON.stringify(error(refusal)), streamError: chatStreamError
})

export const fetchers: ReadonlyArray<Format> = [firecrawl, jina, tavily, tinyfish, nimble].map(formatOf)
