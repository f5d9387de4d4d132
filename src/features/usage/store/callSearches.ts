/** Searches of the ledger: a page behind a place, and how many attempts have which value. Each looks at a bounded number of rows. */
import * as Effect from "effect/Effect"
import type * as SqlClient from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"
import { callFacets, type CallBucket, type CallFacet, type CallField, type CallPlace, type CallSearch, type CallTerm, type FacetCount, type UsageStore } from "#actors/ports/UsageStore.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import type { LedgerRow } from "#schemas/records/LedgerRow.ts"
import * as StatusReason from "#schemas/statusReason.ts"
import { columnOf } from "#src/platform/postgres/Table.ts"
import type { RunOperation } from "#src/platform/postgres/operation.ts"

const newestFirst = "started_at DESC, attempt_id DESC"

const columns: Readonly<Record<CallFacet, CallField | "status">> = {
  provider: "provider", model: "model", apiKey: "apiKeyId", connection: "connectionId", combo: "combo", outcome: "outcome", status: "status", error: "errorCode"
}

/** What the facets and their conditions read; the rest of a row stays where it is. */
const looked = "attempt_id, request_id, session_tag, model, requested_model, provider, connection_id, api_key_id, api_key_name, combo, outcome, error_code, endpoint, node_id, status, latency_ms, started_at, proxy_id"

export const make = (
  sql: SqlClient.SqlClient, run: RunOperation, select: Fragment, decode: (rows: ReadonlyArray<object>) => Effect.Effect<ReadonlyArray<LedgerRow>, StoreError>
): Pick<UsageStore["Service"], "calls" | "facets"> => {
  const within = ({ proxied, since, until }: CallSearch): Array<Fragment> => [
    ...(since === undefined ? [] : [sql`started_at >= ${Math.ceil(since)}`]),
    ...(until === undefined ? [] : [sql`started_at < ${Math.ceil(until)}`]),
    ...(proxied === undefined ? [] : [sql`proxy_id IS NOT NULL`])
  ]

  const termOf = (term: CallTerm): Fragment => {
    const column = sql(columnOf(term.field))
    if ("from" in term) return sql`${column} BETWEEN ${term.from} AND ${term.to}`
    if ("is" in term) return term.is.length === 0 ? sql`false` : sql.in(columnOf(term.field), term.is)
    const has = sql`strpos(lower(${column}), ${term.has.toLowerCase()}) > 0`
    return term.except === undefined || term.except.length === 0 ? has : sql.and([has, sql`NOT ${sql.in(columnOf(term.field), term.except)}`])
  }

  /** Every condition but those of one name. */
  const fits = ({ conditions }: CallSearch, without: string | null = null): Fragment =>
    sql.and(conditions.filter(({ name }) => name !== without).map(({ anyOf }) => sql.or(anyOf.map(termOf))))

  return {
    calls: (search, { after, limit, look }) => {
      const range = within(search)
      if (after !== null) range.push(sql`(started_at, attempt_id) < (${after.startedAt}, ${after.attemptId})`)
      const from = search.conditions.length === 0
        ? sql`FROM usage WHERE ${sql.and(range)}`
        : sql`FROM (SELECT * FROM usage WHERE ${sql.and(range)} ORDER BY ${sql.literal(newestFirst)} LIMIT ${look}) AS usage WHERE ${fits(search)}`
      return run("calls", Effect.gen(function*() {
        const found = yield* decode(yield* sql`SELECT ${select} ${from} ORDER BY ${sql.literal(newestFirst)} LIMIT ${limit + 1}`)
        const rows = found.slice(0, limit)
        const last = rows.at(-1)
        if (found.length > limit && last !== undefined) return { rows, next: { startedAt: last.startedAt, attemptId: last.attemptId } }
        if (search.conditions.length === 0) return { rows, next: null }
        // All that fits within the bound was found: the search goes on behind the last row that was looked at.
        const [end] = yield* sql<CallPlace>`
          SELECT started_at AS "startedAt", attempt_id AS "attemptId" FROM usage WHERE ${sql.and(range)}
          ORDER BY ${sql.literal(newestFirst)} OFFSET ${look - 1} LIMIT 1`
        return { rows, next: end === undefined ? null : { startedAt: end.startedAt, attemptId: end.attemptId } }
      }))
    },
    facets: (search, { bucketMs, look, most }) => {
      const facet = (name: CallFacet): Fragment => sql`
        (SELECT ${name}::text AS facet, ${sql(columnOf(columns[name]))}::text AS value,
          ${name === "apiKey" ? sql`(array_agg(api_key_name ORDER BY started_at DESC))[1]` : sql`NULL::text`} AS label, count(*) AS count
        FROM looked WHERE ${sql(columnOf(columns[name]))} IS NOT NULL AND ${fits(search, name)}
        GROUP BY 2 ORDER BY 4 DESC, 2 LIMIT ${most})`
      const rows = sql`WITH looked AS MATERIALIZED (
        SELECT ${sql.literal(looked)} FROM usage WHERE ${sql.and(within(search))} ORDER BY ${sql.literal(newestFirst)} LIMIT ${look}
      )`
      return run("facets", Effect.gen(function*() {
        const counted = yield* sql<Omit<FacetCount, "facet"> & { readonly facet: CallFacet | "looked" }>`
          ${rows} SELECT 'looked' AS facet, '' AS value, NULL::text AS label, count(*) AS count FROM looked
          UNION ALL ${sql.join(" UNION ALL ", false)(callFacets.map(facet))}`
        const buckets = yield* sql<CallBucket>`
          ${rows} SELECT started_at / ${bucketMs} * ${bucketMs} AS start, count(*) AS count, count(*) FILTER (WHERE status >= ${StatusReason.FIRST_ERROR}) AS errors
          FROM looked WHERE ${fits(search)} GROUP BY 1 ORDER BY 1`
        const values = counted.flatMap(({ facet: name, ...value }) => name === "looked" ? [] : [{ facet: name, ...value }])
        return {
          values, buckets,
          count: buckets.reduce((sum, { count }) => sum + count, 0),
          looked: counted.find((row) => row.facet === "looked")?.count ?? 0
        }
      }))
    }
  }
}
