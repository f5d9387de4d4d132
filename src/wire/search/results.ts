/** The results of every vendor in one form. Pure. */
import type { SearchRequest } from "./request.ts"
import { type Found, textIn } from "./SearchVendor.ts"

/** Characters of single fields: a vendor must not fill an answer. */
const longest = { title: 1_000, url: 4_096, snippet: 10_000, name: 500, page: 100_000 } as const

interface Content {
  readonly format: "text" | "markdown"
  readonly text: string
  readonly length: number
}

export interface Result {
  readonly title: string
  readonly url: string
  readonly display_url?: string
  readonly snippet: string
  readonly position: number
  readonly score: number | null
  readonly published_at?: string
  readonly favicon_url?: string
  readonly content?: Content
  readonly metadata: {
    readonly author: string | null
    readonly language: string | null
    readonly source_type: SourceType
    readonly image_url: string | null
  }
  readonly citation: { readonly provider: string; readonly retrieved_at: string; readonly rank: number }
}

type SourceType = "article" | "blog" | "forum" | "video" | "academic" | "news" | "other"

const entities: Readonly<Record<string, string>> = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'", "&#x27;": "'", "&nbsp;": " " }

/** Vendors mark what matches with tags, and escape the rest. */
const plain = (text: string): string =>
  text.replace(/<\/?(?:strong|b|em|i|mark)>/gi, "").replace(/&(?:amp|lt|gt|quot|nbsp|#39|#x27);/g, (entity) => entities[entity] ?? entity).trim()

const cut = (value: unknown, most: number): string | null => {
  const text = textIn(value)
  return text === null ? null : plain(text).slice(0, most)
}

/** An address of the web, as it was given. */
const addressOf = (value: unknown): URL | null => {
  const text = textIn(value)
  const url = text === null || text.length > longest.url ? null : URL.parse(text)
  return url !== null && /^https?:$/.test(url.protocol) ? url : null
}

const units: Readonly<Record<string, number>> = { second: 1, minute: 60, min: 60, hour: 3_600, day: 86_400, week: 604_800, month: 2_592_000, year: 31_536_000 }

/** ISO 8601; null where no date can be read. `now`: Unix seconds. */
const publishedAt = (value: unknown, now: number): string | null => {
  const text = textIn(value)?.trim() ?? ""
  const [, count, unit] = /^(\d{1,4}) (second|minute|min|hour|day|week|month|year)s? ago$/i.exec(text) ?? []
  if (count !== undefined && unit !== undefined) return new Date((now - Number(count) * (units[unit.toLowerCase()] ?? 0)) * 1_000).toISOString()
  if (!/\b(?:19|20)\d{2}\b/.test(text)) return null
  // A date without an hour is one of UTC, wherever the gateway runs.
  const at = Date.parse(/\d:\d|T\d/.test(text) ? text : `${text} UTC`) || Date.parse(text)
  return Number.isFinite(at) ? new Date(at).toISOString() : null
}

const hosts: ReadonlyArray<readonly [RegExp, SourceType]> = [
  [/(?:^|\.)(?:youtube\.com|youtu\.be|vimeo\.com|dailymotion\.com|twitch\.tv)$/, "video"],
  [/(?:^|\.)(?:reddit\.com|stackoverflow\.com|stackexchange\.com|quora\.com|news\.ycombinator\.com)$|^(?:forum|forums|community|discuss)\./, "forum"],
  [/(?:^|\.)(?:arxiv\.org|doi\.org|pubmed\.ncbi\.nlm\.nih\.gov|semanticscholar\.org|jstor\.org|springer\.com|sciencedirect\.com)$|^scholar\./, "academic"],
  [/(?:^|\.)(?:medium\.com|substack\.com|wordpress\.com|blogspot\.com|dev\.to)$|^blog\./, "blog"]
]

const sourceOf = (url: URL, { type }: Pick<SearchRequest, "type">): SourceType => {
  if (type === "news") return "news"
  const known = hosts.find(([pattern]) => pattern.test(url.hostname))
  return known === undefined ? /\/blogs?\//.test(url.pathname) ? "blog" : "other" : known[1]
}

export interface Told {
  readonly request: Pick<SearchRequest, "type" | "snippet" | "fullPage" | "maxCharacters" | "offset" | "maxResults">
  readonly provider: string
  /** Unix seconds. */
  readonly now: number
}

const contentOf = ({ page, pageFormat = "text" }: Found, most: number | null): Content | undefined => {
  const text = textIn(page)?.slice(0, Math.min(most ?? longest.page, longest.page))
  return text === undefined ? undefined : { format: pageFormat, text, length: text.length }
}

const optional = <K extends string, V>(name: K, value: V | null | undefined): { readonly [Name in K]?: V } =>
  value === null || value === undefined ? {} : { [name]: value } as { readonly [Name in K]: V }

/** In the vendor's order; what has no address of the web is left out. */
export const resultsOf = (found: ReadonlyArray<Found>, { now, provider, request }: Told): ReadonlyArray<Result> => {
  const retrievedAt = new Date(now * 1_000).toISOString()
  return found.flatMap((one) => {
    const url = addressOf(one.url)
    return url === null ? [] : [{ one, url }]
  }).slice(0, request.maxResults).map(({ one, url }, index): Result => ({
    title: cut(one.title, longest.title) ?? url.hostname,
    url: one.url as string,
    display_url: cut(one.displayUrl, longest.name) ?? url.hostname,
    snippet: request.snippet ? cut(one.snippet, longest.snippet) ?? "" : "",
    position: request.offset + index + 1,
    score: typeof one.score === "number" && one.score >= 0 && one.score <= 1 ? one.score : null,
    ...optional("published_at", publishedAt(one.published, now)),
    ...optional("favicon_url", addressOf(one.favicon)?.href),
    ...optional("content", request.fullPage ? contentOf(one, request.maxCharacters) : null),
    metadata: {
      author: cut(one.author, longest.name), language: cut(one.language, 35), source_type: sourceOf(url, request), image_url: addressOf(one.image)?.href ?? null
    },
    citation: { provider, retrieved_at: retrievedAt, rank: index + 1 }
  }))
}
