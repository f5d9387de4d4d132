/** A search as clients ask for it: every field read, bounded and given its default. Pure. */
import { PublicError } from "#schemas/errors.ts"
import * as Json from "#src/wire/json/json.ts"
import { invalid } from "#src/wire/neutral/settings.ts"

type Body = Readonly<Record<string, unknown>>

export type SearchType = "web" | "news"
export type TimeRange = "day" | "week" | "month" | "year"
export type SafeSearch = "off" | "moderate" | "strict"

export interface SearchRequest {
  readonly query: string
  readonly type: SearchType
  readonly maxResults: number
  /** Results that are left out at the beginning. */
  readonly offset: number
  /** ISO 3166-1, two capital letters. */
  readonly country: string | null
  readonly language: string | null
  readonly timeRange: TimeRange | null
  readonly snippet: boolean
  readonly fullPage: boolean
  readonly format: "text" | "markdown"
  /** Of the text of one page. */
  readonly maxCharacters: number | null
  readonly includeDomains: ReadonlyArray<string>
  readonly excludeDomains: ReadonlyArray<string>
  readonly safeSearch: SafeSearch | null
  readonly synthesis: "none" | "auto" | "provider"
  /** Members of the vendor's own request. */
  readonly options: Body
  /** What the provider cannot honour is refused. */
  readonly strict: boolean
}

const queryLength = 500
const mostResults = 100
const mostDomains = 20
const domainLength = 253
const mostOptionBytes = 8_192
const contentBounds = { least: 100, most: 100_000 } as const
const mostTokens = 4_000

/** Options that would replace the provider's credential. */
const credentials: ReadonlySet<string> = new Set(["key", "api_key", "apikey", "api-key", "token", "authorization", "access_token"])

const types = ["web", "news"] as const
const ranges = ["any", "day", "week", "month", "year"] as const
const formats = ["text", "markdown"] as const
const safeties = ["off", "moderate", "strict"] as const
const strategies = ["none", "auto", "provider", "internal"] as const

const domainPattern = /^(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)+$/

/** The first field that is wrong ends the reading. */
class RequestFault {
  readonly error: PublicError
  constructor(name: string, message: string) {
    this.error = invalid(name, message)
  }
}

const isSaid = (value: unknown): boolean => value !== undefined && value !== null

const word = <const A extends string>(body: Body, at: string, name: string, allowed: ReadonlyArray<A>, otherwise: A): A => {
  const value = body[name]
  if (!isSaid(value)) return otherwise
  const known = typeof value === "string" ? allowed.find((one) => one === value.toLowerCase()) : undefined
  if (known === undefined) throw new RequestFault(at, `Field '${at}' must be one of ${allowed.join(", ")}.`)
  return known
}

const whole = (body: Body, at: string, name: string, least: number, most: number): number | null => {
  const value = body[name]
  if (!isSaid(value)) return null
  if (!Number.isSafeInteger(value) || (value as number) < least || (value as number) > most) {
    throw new RequestFault(at, `Field '${at}' must be a whole number from ${least} to ${most}.`)
  }
  return value as number
}

const flag = (body: Body, at: string, name: string, otherwise: boolean): boolean => {
  const value = body[name]
  if (!isSaid(value)) return otherwise
  if (typeof value !== "boolean") throw new RequestFault(at, `Field '${at}' must be true or false.`)
  return value
}

const record = (body: Body, name: string): Body => {
  const value = body[name]
  if (!isSaid(value)) return {}
  if (!Json.isRecord(value)) throw new RequestFault(name, `Field '${name}' must be an object.`)
  return value
}

const text = (body: Body, name: string, pattern: RegExp, example: string): string | null => {
  const value = body[name]
  if (!isSaid(value)) return null
  if (typeof value !== "string" || !pattern.test(value)) throw new RequestFault(name, `Field '${name}' must be a code such as '${example}'.`)
  return value
}

const domains = (filters: Body, name: string): ReadonlyArray<string> => {
  const at = `filters.${name}`
  const value = filters[name]
  if (!isSaid(value)) return []
  if (!Array.isArray(value) || value.length > mostDomains) throw new RequestFault(at, `Field '${at}' must be a list of at most ${mostDomains} domains.`)
  return value.map((one: unknown, i) => {
    const domain = typeof one === "string" ? one.trim().toLowerCase() : ""
    if (!domainPattern.test(domain)) throw new RequestFault(`${at}[${i}]`, `Field '${at}[${i}]' must be a domain such as 'example.com', of at most ${domainLength} characters.`)
    return domain
  })
}

const queryOf = ({ query }: Body): string => {
  const trimmed = typeof query === "string" ? query.trim() : ""
  if (trimmed === "" || trimmed.length > queryLength) throw new RequestFault("query", `Field 'query' must be a text of 1 to ${queryLength} characters.`)
  return trimmed
}

const synthesisOf = (body: Body): SearchRequest["synthesis"] => {
  const synthesis = record(body, "synthesis")
  const strategy = word(synthesis, "synthesis.strategy", "strategy", strategies, "none")
  whole(synthesis, "synthesis.max_tokens", "max_tokens", 1, mostTokens)
  if (strategy === "internal") {
    throw new RequestFault("synthesis.strategy", "Field 'synthesis.strategy' may not be 'internal' yet: use 'provider', or ask a model with the results.")
  }
  return strategy
}

const optionsOf = (body: Body): Body => {
  const options = record(body, "provider_options")
  const secret = Object.keys(options).find((name) => credentials.has(name.toLowerCase()))
  if (secret !== undefined) throw new RequestFault(`provider_options.${secret}`, "Field 'provider_options' may hold no credential: connections do.")
  if (JSON.stringify(options).length > mostOptionBytes) throw new RequestFault("provider_options", `Field 'provider_options' must be shorter than ${mostOptionBytes} bytes.`)
  return options
}

const readUnsafe = (body: Body): SearchRequest => {
  const content = record(body, "content")
  const filters = record(body, "filters")
  const range = word(body, "time_range", "time_range", ranges, "any")
  return {
    query: queryOf(body),
    type: word(body, "search_type", "search_type", types, "web"),
    maxResults: whole(body, "max_results", "max_results", 1, mostResults) ?? 5,
    offset: whole(body, "offset", "offset", 0, Number.MAX_SAFE_INTEGER) ?? 0,
    country: text(body, "country", /^[a-z]{2}$/i, "US")?.toUpperCase() ?? null,
    language: text(body, "language", /^[a-z][a-z-]{0,3}[a-z]$/i, "en"),
    timeRange: range === "any" ? null : range,
    snippet: flag(content, "content.snippet", "snippet", true),
    fullPage: flag(content, "content.full_page", "full_page", false),
    format: word(content, "content.format", "format", formats, "text"),
    maxCharacters: whole(content, "content.max_characters", "max_characters", contentBounds.least, contentBounds.most),
    includeDomains: domains(filters, "include_domains"),
    excludeDomains: domains(filters, "exclude_domains"),
    safeSearch: isSaid(filters["safe_search"]) ? word(filters, "filters.safe_search", "safe_search", safeties, "moderate") : null,
    synthesis: synthesisOf(body),
    options: optionsOf(body),
    strict: flag(body, "strict_filters", "strict_filters", false)
  }
}

/** The search, or the first field that is wrong. */
export const read = (body: Body): SearchRequest | PublicError => {
  try {
    return readUnsafe(body)
  } catch (error) {
    if (error instanceof RequestFault) return error.error
    throw error
  }
}
