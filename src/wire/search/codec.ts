/** Searches of the web: the clients' format, and how each vendor is asked and read. Pure. */
import type { AnswerFacts } from "#actors/request/ports/Face.ts"
import * as Errors from "#schemas/errors.ts"
import { PublicError } from "#schemas/errors.ts"
import * as Units from "#schemas/records/Units.ts"
import type { TargetFamily } from "#schemas/wire/formats.ts"
import { LONGEST_MODEL_ID } from "#schemas/wire/modelId.ts"
import * as Json from "#src/wire/json/json.ts"
import { invalid } from "#src/wire/neutral/settings.ts"
import * as OneShotJson from "#src/wire/oneShot/oneShotJson.ts"
import type { Asked, Encoded, OneShotCodec, Wanted } from "#src/wire/oneShot/OneShotCodec.ts"
import type { RequestHead } from "#src/wire/WireFormat.ts"
import * as SearchErrors from "./errors.ts"
import * as Request from "./request.ts"
import type { SearchRequest } from "./request.ts"
import * as Results from "./results.ts"
import type { Filter, SearchVendor } from "./SearchVendor.ts"
import * as Vendors from "./vendors/index.ts"

type Body = Readonly<Record<string, unknown>>

/** A provider that was asked before the one that answered. */
export interface Failure {
  readonly provider: string
  readonly code: string
  readonly message: string
}

export interface SearchHead extends RequestHead {
  /** Grows while providers fail. */
  readonly failures: Array<Failure>
}

/** One search is one query, however many results it has. */
const units: Units.Units = { query: 1 }

/** Models that stand for a vendor's usual search of their type. */
const types: ReadonlySet<string> = new Set(["web", "news"])

const head = (body: Body): SearchHead | PublicError => {
  // The path says which model it is, and a large body is read without its path.
  const { model = "" } = body
  if (typeof model !== "string" || model.length > LONGEST_MODEL_ID) return invalid("model", `Field 'model' must be a text of 1 to ${LONGEST_MODEL_ID} characters, such as 'serper-search/web'.`)
  const request = Request.read(body)
  return request instanceof PublicError ? request : { model, stream: false, wantsUsage: false, failures: [] }
}

/** What the request asks for that the vendor cannot do. */
export const unhonoured = (vendor: SearchVendor, request: SearchRequest, count: number): ReadonlyArray<Filter> => {
  const { country, excludeDomains, fullPage, includeDomains, language, offset, safeSearch, synthesis, timeRange } = request
  const asked: ReadonlyArray<readonly [Filter, boolean]> = [
    ["offset", offset > 0], ["country", country !== null], ["language", language !== null], ["time_range", timeRange !== null],
    ["filters.include_domains", includeDomains.length > 0], ["filters.exclude_domains", excludeDomains.length > 0], ["filters.safe_search", safeSearch !== null],
    ["content.full_page", fullPage], ["synthesis", synthesis === "provider"]
  ]
  const between = vendor.paging === "pages" && offset % count !== 0
  return asked.filter(([filter, isAsked]) => isAsked && (!vendor.takes.has(filter) || (filter === "offset" && between))).map(([filter]) => filter)
}

/** The types that a provider searches; empty for one that searches nothing. */
export const typesOf = (provider: string): ReadonlyArray<Request.SearchType> => Vendors.ofProvider(provider)?.types ?? []

const queryOf = (members: Body): string => {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(members)) {
    if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") query.set(name, String(value))
  }
  return query.toString()
}

const noBytes = new Uint8Array(0)

const refuse = (provider: string, what: string): PublicError => Errors.make("bad_request", `Search provider '${provider}' ${what}`)

const encode = (family: TargetFamily, { model, now = 0, parsed }: Asked): Encoded<SearchRequest> | PublicError => {
  const vendor = Vendors.ofFamily(family)
  const provider = family.slice("search/".length)
  if (vendor === null) return refuse(provider, "is none that is known.")
  const request = Request.read(parsed)
  if (request instanceof PublicError) return request
  if (!vendor.types.includes(request.type)) return refuse(provider, `has no search of type '${request.type}': its types are ${vendor.types.join(", ")}.`)
  const count = Math.min(request.maxResults, vendor.most)
  const omitted = unhonoured(vendor, request, count)
  if (request.strict && omitted.length > 0) return refuse(provider, `cannot honour ${omitted.map((name) => `'${name}'`).join(", ")}: leave it out, or set strict_filters to false.`)
  const members = { ...vendor.ask(request, types.has(model) ? null : model, count, now), ...request.options }
  return vendor.byQuery === true
    ? { body: noBytes, query: queryOf(members), omitted, note: request }
    : { body: Buffer.from(JSON.stringify(members)), omitted, note: request }
}

const read = (family: TargetFamily, bytes: Uint8Array, { elapsed, head: { failures }, makeId, model, note: request, now, price }: Wanted<SearchHead, SearchRequest>): AnswerFacts | null => {
  const vendor = Vendors.ofFamily(family)
  const answer = OneShotJson.recordOf(bytes)
  if (vendor === null || answer === null) return null
  const answered = vendor.answered(answer, request)
  if (answered === null) {
    const error = SearchErrors.errorIn(answer)
    return error === null ? null : { usage: null, error, body: bytes, outputText }
  }
  const provider = model.slice(0, model.indexOf("/"))
  const { callMs, requestMs } = elapsed()
  const body = {
    id: `search-${makeId()}`, provider, query: request.query,
    results: Results.resultsOf(answered.results, { request, provider, now }),
    answer: request.synthesis === "none" || answered.answer === null ? null : { source: "provider", text: answered.answer, model: null },
    cached: false,
    usage: { queries_used: 1, search_cost_usd: price === null ? 0 : Units.picoUsd(Units.withRequest(units, price) ?? units, price) / 1e12 },
    metrics: {
      response_time_ms: requestMs, upstream_latency_ms: callMs, gateway_latency_ms: Math.max(0, requestMs - callMs), total_results_available: answered.total
    },
    ...(failures.length === 0 ? {} : { errors: failures })
  }
  return OneShotJson.answered(Buffer.from(JSON.stringify(body)), { usage: null, units })
}

const outputText = (): string => ""

/** The same answer for another request: it cost nothing, and it is not the same event. */
export const repeated = (body: Uint8Array, id: string, ms: number): Uint8Array | null => {
  const parsed = OneShotJson.recordOf(body)
  if (parsed === null) return null
  const metrics = Json.isRecord(parsed["metrics"]) ? parsed["metrics"] : {}
  const { errors: _, ...rest } = parsed
  return Buffer.from(JSON.stringify({
    ...rest, id: `search-${id}`, cached: true, usage: { queries_used: 0, search_cost_usd: 0 },
    metrics: { response_time_ms: ms, total_results_available: metrics["total_results_available"] ?? null }
  }))
}

export const codec: OneShotCodec<SearchHead, SearchRequest> = { head, units: () => units, encode, read, readError: (_family, body) => SearchErrors.readError(body) }
