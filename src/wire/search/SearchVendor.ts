/** What a vendor of searches says in its own way, and what all of them share. Pure. */
import * as Json from "#src/wire/json/json.ts"
import type { SearchRequest, SearchType } from "./request.ts"

export type Members = Readonly<Record<string, unknown>>

/** What a request may ask for beside its query; the names of the client's fields. */
export type Filter =
  | "offset" | "country" | "language" | "time_range" | "filters.include_domains" | "filters.exclude_domains" | "filters.safe_search" | "content.full_page" | "synthesis"

/** One result as the vendor gave it; absent: it said nothing. */
export interface Found {
  readonly title: unknown
  readonly url: unknown
  readonly snippet?: unknown
  /** Between 0 and 1, else it is left out. */
  readonly score?: unknown
  /** ISO, or `2 days ago`. */
  readonly published?: unknown
  readonly favicon?: unknown
  readonly displayUrl?: unknown
  readonly author?: unknown
  readonly language?: unknown
  readonly image?: unknown
  /** The text of the page. */
  readonly page?: unknown
  readonly pageFormat?: "text" | "markdown"
}

export interface Answered {
  readonly results: ReadonlyArray<Found>
  /** How many there are in all; null when the vendor does not say. */
  readonly total: number | null
  /** The vendor's own summary. */
  readonly answer: string | null
}

export interface SearchVendor {
  /** Most results of one call. */
  readonly most: number
  readonly types: ReadonlyArray<SearchType>
  readonly takes: ReadonlySet<Filter>
  /** The offset is a count of results, or of pages as long as the request's results. */
  readonly paging: "results" | "pages" | "none"
  /** The vendor is asked by GET; else by POST with JSON. */
  readonly byQuery?: true
  /** Where a search of the type is asked, given the provider's own path. */
  readonly path?: (path: string, type: SearchType) => string
  /** Members of the body, or parameters of the query; what is undefined is left out. `variant`: the vendor's own word for the kind of search; null = its usual one. `now`: ms since the epoch. */
  readonly ask: (request: SearchRequest, variant: string | null, count: number, now: number) => Members
  /** Null when the bytes are no answer of the vendor. */
  readonly answered: (answer: Members, request: Pick<SearchRequest, "type" | "format">) => Answered | null
}

export const recordAt = (value: unknown, name: string): Members => {
  const found = Json.isRecord(value) ? value[name] : undefined
  return Json.isRecord(found) ? found : {}
}

/** The objects of a list; null when it is none. */
export const listAt = (value: Members, name: string): ReadonlyArray<Members> | null => {
  const list = value[name]
  return Array.isArray(list) ? list.filter(Json.isRecord) : null
}

export const textIn = (value: unknown): string | null => typeof value === "string" && value !== "" ? value : null

export const countIn = (value: unknown): number | null => {
  const count = typeof value === "string" && /^\d+$/.test(value) ? Number(value) : value
  return typeof count === "number" && Number.isFinite(count) && count >= 0 ? count : null
}

/** Search engines take domains as operators of the query. */
export const withSites = ({ excludeDomains, includeDomains, query }: SearchRequest): string => {
  const included = includeDomains.map((domain) => `site:${domain}`)
  const group = included.length > 1 ? `(${included.join(" OR ")})` : included.join("")
  return [query, group, ...excludeDomains.map((domain) => `-site:${domain}`)].filter((part) => part !== "").join(" ")
}

/** 0 for the first page. */
export const pageOf = ({ offset }: SearchRequest, count: number): number => Math.floor(offset / count)

/** Days of a time range. */
const days: Readonly<Record<NonNullable<SearchRequest["timeRange"]>, number>> = { day: 1, week: 7, month: 30, year: 365 }

/** The first day of the range that ends now, `YYYY-MM-DD`, for vendors that take dates. */
export const sinceOf = (range: SearchRequest["timeRange"], now: number): string | undefined =>
  range === null ? undefined : new Date(now - days[range] * 86_400_000).toISOString().slice(0, 10)

const none: Answered = { results: [], total: null, answer: null }

/** An answer of results alone; null without their list. */
export const results = (list: ReadonlyArray<Members> | null, of: (one: Members) => Found, rest: Partial<Answered> = none): Answered | null =>
  list === null ? null : { ...none, ...rest, results: list.map(of) }
