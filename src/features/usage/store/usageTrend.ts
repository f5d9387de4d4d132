/** Use over time: the database sums each slice and the whole in one read. */
import * as Effect from "effect/Effect"
import type * as SqlClient from "effect/sql/SqlClient"
import type { UsageSlice, UsageStore } from "#actors/ports/UsageStore.ts"
import { noSlice } from "#src/features/usage/statistics.ts"
import type { RunOperation } from "#src/platform/postgres/operation.ts"

const failed = "outcome IN ('gateway-timeout', 'upstream-reset', 'upstream-status')"
/** Phases are a list: before, queue, limits, sent, head, end. */
const own = "(phases->>1)::double precision + (phases->>2)::double precision + greatest(0, latency_ms - (phases->>5)::double precision)"
const percentiles = (value: string, condition: string): string =>
  `percentile_cont(ARRAY[0.5, 0.95, 0.99]::double precision[]) WITHIN GROUP (ORDER BY ${value}) FILTER (WHERE ${condition})`

type Found = Omit<UsageSlice, "latencyMs" | "firstTokenMs" | "ownMs"> & {
  /** Place in `starts`; null = the whole. */
  readonly place: number | null
  readonly latencies: ReadonlyArray<number> | null
  readonly firsts: ReadonlyArray<number> | null
  readonly owns: ReadonlyArray<number> | null
}

const named = (list: ReadonlyArray<number> | null) => list === null || list[0] === undefined || list[0] === null ? null : { p50: list[0], p95: list[1] ?? list[0], p99: list[2] ?? list[0] }

export const make = (sql: SqlClient.SqlClient, run: RunOperation, sums: string): Pick<UsageStore["Service"], "trend"> => ({
  trend: ({ apiKeyId, connectionId, model, provider, since, until }, starts) => {
    const clauses = [sql`started_at >= ${Math.ceil(since)}`, sql`started_at < ${Math.ceil(until)}`]
    if (provider !== undefined) clauses.push(sql`provider = ${provider}`)
    if (model !== undefined) clauses.push(sql`model = ${model}`)
    if (connectionId !== undefined) clauses.push(sql`connection_id = ${connectionId}`)
    if (apiKeyId !== undefined) clauses.push(sql`api_key_id = ${apiKeyId}`)
    return run("trend", Effect.map(
      sql<Found>`
        WITH placed AS (
          SELECT *, width_bucket(started_at, string_to_array(${starts.join(",")}, ',')::bigint[]) - 1 AS place FROM usage WHERE ${sql.and(clauses)}
        )
        SELECT place, ${sql.literal(sums)},
          count(*) FILTER (WHERE outcome = 'completed') AS successes, count(*) FILTER (WHERE ${sql.literal(failed)}) AS failures,
          count(*) FILTER (WHERE estimated) AS estimated, count(*) FILTER (WHERE unpriced) AS unpriced,
          avg(latency_ms) AS "avgMs", ${sql.literal(percentiles("latency_ms", "outcome = 'completed'"))} AS latencies,
          ${sql.literal(percentiles("ttft_ms", "ttft_ms IS NOT NULL"))} AS firsts,
          ${sql.literal(percentiles(own, "phases IS NOT NULL"))} AS owns
        FROM placed GROUP BY GROUPING SETS ((place), ())`,
      (rows) => {
        const slices = new Map<number, UsageSlice>()
        let total = noSlice
        for (const { firsts, latencies, owns, place, ...sum } of rows) {
          const slice = { ...sum, latencyMs: named(latencies), firstTokenMs: named(firsts), ownMs: named(owns) }
          if (place === null) total = slice
          else slices.set(place, slice)
        }
        return { total, slices }
      }
    ))
  }
})
