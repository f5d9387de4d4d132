/** Pages of the call log, and the counts beside them. Each call of it looks at a bounded number of rows. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import type { Configuration } from "#actors/ports/Configuration.ts"
import type { CallFacet, UsageStore } from "#actors/ports/UsageStore.ts"
import * as CallLog from "#src/features/usage/callLog.ts"
import type { CallFacets } from "#src/features/usage/api.ts"
import * as Search from "./search.ts"

/** Rows of a page. */
const PAGE = 100
/** Rows that one search or count reads. */
const LOOK = 20_000
/** Values of a facet. */
const VALUES = 30
/** Bars of the histogram, about. */
const BARS = 60
const DAY_MS = 86_400_000
/** Lengths of a bar that a person can read off, ms. */
const lengths = [1_000, 5_000, 15_000, 60_000, 300_000, 900_000, 3_600_000, 14_400_000, DAY_MS, 7 * DAY_MS, 30 * DAY_MS]

type Query = Omit<Search.CallQuery, "exact"> & { readonly exact?: "true" | "false" }

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

  return { page, facets }
}
