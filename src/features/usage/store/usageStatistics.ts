/** Percentiles and counts over a time window of the ledger: the database does the arithmetic, only groups cross the wire. */
import * as Effect from "effect/Effect"
import type * as SqlClient from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"
import type { ComboCalls, ComboTargetStatistics, LatencyStatistics, PromptCacheHour, PromptCacheUse, PromptCacheWrites, UsageStore, UsageWindow } from "#actors/ports/UsageStore.ts"
import type { RunOperation } from "#src/platform/postgres/operation.ts"

/** Groups of one answer. */
const maxGroups = 10_000

const succeeded = "outcome = 'completed'"
/** Outcomes that count for the upstream's health. */
const failed = "outcome IN ('gateway-timeout', 'upstream-reset', 'upstream-status')"

const counts = `
  count(*) AS requests,
  count(*) FILTER (WHERE ${succeeded}) AS successes,
  count(*) FILTER (WHERE ${failed}) AS failures,
  max(started_at) AS "lastUsed"`

const promptCache = `
  count(*) AS requests,
  count(*) FILTER (WHERE tokens_cache_read > 0 OR tokens_cache_creation > 0) AS "cachedRequests",
  coalesce(sum(tokens_in), 0) AS "inputTokens",
  coalesce(sum(tokens_cache_read), 0) AS "cachedTokens",
  coalesce(sum(tokens_cache_creation), 0) AS "cacheCreationTokens"`

const wrote = "tokens_cache_creation > 0"

const dimensions = {
  provider: { by: "provider", model: "NULL" },
  model: { by: "provider, model", model: "model" }
} as const

type Latencies = Omit<LatencyStatistics, "p50Ms" | "p95Ms" | "p99Ms"> & { readonly percentiles: ReadonlyArray<number> }

export const make = (sql: SqlClient.SqlClient, run: RunOperation): Pick<UsageStore["Service"], "latencies" | "comboTargets" | "comboCalls" | "promptCache" | "promptCacheWrites" | "promptCacheHours"> => {
  const within = ({ since, until }: UsageWindow): Array<Fragment> => [
    sql`started_at >= ${Math.ceil(since)}`,
    ...(until === undefined ? [] : [sql`started_at <= ${Math.floor(until)}`])
  ]

  return {
    latencies: (dimension, { maxRows, minSamples = 1, model, provider, ...window }) => {
      const { by, model: name } = dimensions[dimension]
      const clauses = within(window)
      if (provider !== undefined) clauses.push(sql`provider = ${provider}`)
      if (model !== undefined) clauses.push(sql`model = ${model}`)
      const newest = maxRows === undefined ? sql`` : sql`ORDER BY started_at DESC, attempt_id DESC LIMIT ${maxRows}`
      return run("latencies", Effect.map(
        sql<Latencies>`
          WITH looked AS (
            SELECT provider, model, outcome, latency_ms, started_at FROM usage WHERE ${sql.and(clauses)} ${newest}
          ), marked AS (
            SELECT *, ${sql.literal(succeeded)} OR
              count(*) FILTER (WHERE ${sql.literal(succeeded)}) OVER (PARTITION BY ${sql.literal(by)}) < ${minSamples} AS sample
            FROM looked
          )
          SELECT provider, ${sql.literal(name)} AS model, ${sql.literal(counts)},
            count(*) FILTER (WHERE sample) AS samples,
            avg(latency_ms) FILTER (WHERE sample) AS "avgMs",
            stddev_pop(latency_ms) FILTER (WHERE sample) AS "deviationMs",
            percentile_cont(ARRAY[0.5, 0.95, 0.99]::double precision[]) WITHIN GROUP (ORDER BY latency_ms)
              FILTER (WHERE sample) AS percentiles
          FROM marked GROUP BY ${sql.literal(by)} HAVING count(*) >= ${minSamples}
          ORDER BY requests DESC, ${sql.literal(by)} LIMIT ${maxGroups}`,
        (rows) => rows.map(({ percentiles: [p50Ms = 0, p95Ms = 0, p99Ms = 0], ...row }) => ({ ...row, p50Ms, p95Ms, p99Ms }))
      ))
    },
    comboTargets: ({ combo, ...window }) =>
      run("comboTargets", sql<ComboTargetStatistics>`
        SELECT combo, provider, model, connection_id AS "connectionId", ${sql.literal(counts)},
          avg(latency_ms) FILTER (WHERE ${sql.literal(succeeded)}) AS "avgMs",
          (array_agg(status ORDER BY started_at DESC, attempt_id DESC))[1] AS "lastStatus"
        FROM usage WHERE ${sql.and([...within(window), combo === undefined ? sql`combo IS NOT NULL` : sql`combo = ${combo}`])}
        GROUP BY combo, provider, model, connection_id
        ORDER BY combo COLLATE "C", requests DESC, provider, model, connection_id LIMIT ${maxGroups}`),
    promptCache: (window) =>
      run("promptCache", sql<PromptCacheUse>`
        SELECT provider, model, ${sql.literal(promptCache)} FROM usage WHERE ${sql.and(within(window))}
        GROUP BY provider, model ORDER BY requests DESC, provider, model LIMIT ${maxGroups}`),
    promptCacheWrites: ({ model, ...window }) =>
      run("promptCacheWrites", Effect.map(
        sql<Omit<PromptCacheWrites, "target"> & { readonly provider: string | null; readonly model: string | null }>`
          SELECT provider, model, ${sql.literal(promptCache)},
            count(*) FILTER (WHERE ${sql.literal(wrote)}) AS writes,
            percentile_disc(ARRAY[0.5, 0.9, 0.95, 0.99, 1]::double precision[]) WITHIN GROUP (ORDER BY tokens_cache_creation)
              FILTER (WHERE ${sql.literal(wrote)}) AS sizes
          FROM usage WHERE ${sql.and([...within(window), ...(model === undefined ? [] : [sql`model = ${model}`])])}
          GROUP BY GROUPING SETS ((), (provider, model)) ORDER BY grouping(provider) DESC, requests DESC, provider, model LIMIT ${maxGroups}`,
        (rows) => rows.map(({ model: name, provider, ...row }) => ({ ...row, target: provider === null || name === null ? null : { provider, model: name } }))
      )),
    promptCacheHours: (window) =>
      run("promptCacheHours", sql<PromptCacheHour>`
        SELECT started_at / 3600000 * 3600000 AS hour, ${sql.literal(promptCache)} FROM usage WHERE ${sql.and(within(window))}
        GROUP BY 1 ORDER BY 1 LIMIT ${maxGroups}`),
    comboCalls: (window) =>
      run("comboCalls", sql<ComboCalls>`
        SELECT combo, provider, count(*) AS calls, avg(latency_ms) AS "avgMs"
        FROM usage WHERE ${sql.and([...within(window), sql`final`, sql`combo IS NOT NULL`])}
        GROUP BY combo, provider ORDER BY calls DESC, combo COLLATE "C", provider LIMIT ${maxGroups}`)
  }
}
