/** Pages of the call log, and the counts beside them. Each call of it looks at a bounded number of rows. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import type { Configuration } from "#actors/ports/Configuration.ts"
import type { CallFacet, CallPlace, UsageStore } from "#actors/ports/UsageStore.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import * as CallLog from "#src/features/usage/callLog.ts"
import type { CallFacets } from "#src/features/usage/api.ts"
import * as Search from "./search.ts"

/** Rows of a page. */
export const PAGE = 100
/** Rows that one search or count reads. */
export const LOOK = 20_000
/** Attempts of one request that are shown. */
const ATTEMPTS = 200
/** Values of a facet. */
const VALUES = 30
/** Bars of the histogram, about. */
const BARS = 60
const DAY_MS = 86_400_000
/** Lengths of a bar that a person can read off, ms. */
const lengths = [1_000, 5_000, 15_000, 60_000, 300_000, 900_000, 3_600_000, 14_400_000, DAY_MS, 7 * DAY_MS, 30 * DAY_MS]

export type Query = Omit<Search.CallQuery, "exact"> & { readonly exact?: "true" | "false" }

const isExact = ({ exact, ...query }: Query): Search.CallQuery => ({ ...query, exact: exact === "true" })

export const make = (store: UsageStore["Service"], configuration: Configuration["Service"], names: CallLog.Names) => {
  const page = Effect.fnUntraced(function*({ before, limit = PAGE, ...query }: Query & { readonly before?: string; readonly limit?: number }) {
    const search = Search.searchOf(isExact(query), configuration.current())
    const { next, rows } = yield* store.calls(search, { after: before === undefined ? null : Search.placeOf(before), limit, look: LOOK })
    return HttpApiSchema.withHeaders({
      body: rows.map((row) => CallLog.ofRow(row, names)),
      headers: next === null ? {} : { "x-next-cursor": Search.cursorOf(next) }
    })
  })

  const facets = Effect.fnUntraced(function*(query: Query) {
    const now = yield* Clock.currentTimeMillis
    const known = configuration.current()
    const given = Search.searchOf(isExact(query), known)
    const until = given.until ?? now + 1
    const since = given.since ?? until - DAY_MS
    const bucketMs = lengths.find((length) => length * BARS >= until - since) ?? lengths.at(-1) as number
    const counted = yield* store.facets({ ...given, since, until }, { look: LOOK, most: VALUES, bucketMs })
    const labelOf = (facet: CallFacet, value: string, label: string | null): string | null => facet === "connection" ? names.accountOf(value) : label
    const of = (facet: CallFacet) => counted.values.filter((each) => each.facet === facet)
      .map(({ count, label, value }) => ({ value: Search.shownValue(known, facet, value), label: labelOf(facet, value, label), count }))
    return {
      count: counted.count,
      looked: counted.looked,
      complete: counted.looked < LOOK,
      facets: {
        provider: of("provider"), model: of("model"), apiKey: of("apiKey"), connection: of("connection"), combo: of("combo"), outcome: of("outcome"),
        status: of("status"), error: of("error")
      },
      histogram: {
        from: new Date(since).toISOString(), to: new Date(until).toISOString(), bucketMs,
        buckets: counted.buckets.map(({ start, ...counts }) => ({ start: new Date(start).toISOString(), ...counts }))
      }
    } satisfies CallFacets
  })

  const detail = Effect.fnUntraced(function*(id: string) {
    // The attempt id starts with, or belongs to, its request: a request id finds all of its attempts.
    const byRequest = yield* store.rows({ requestId: id, limit: ATTEMPTS })
    const found = byRequest.find((row) => row.final) ?? byRequest[0] ?? (yield* store.rows({ attemptId: id, limit: 1 }))[0]
    if (found === undefined) return yield* Effect.fail(Refusal.notFound("Call log not found"))
    const attempts = byRequest.length > 0 ? byRequest : yield* store.rows({ requestId: found.requestId, limit: ATTEMPTS })
    return {
      ...CallLog.ofRow(found, names),
      requestBody: null,
      responseBody: null,
      pipelineDetails: null,
      attempts: attempts.map((row) => CallLog.ofRow(row, names)).sort((a, b) => a.attempt - b.attempt)
    }
  })

  /** Pages of all that fits, newest first, one after another: a slow reader holds one of them. */
  const pages = (query: Query) => {
    const search = Search.searchOf(isExact(query), configuration.current())
    return (after: CallPlace | null, limit: number) => Effect.map(store.calls(search, { after, limit, look: LOOK }), ({ next, rows }) => ({
      next, calls: rows.map((row) => CallLog.ofRow(row, names))
    }))
  }

  return { page, facets, detail, pages }
}
