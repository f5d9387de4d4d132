/**
 * The ledger in Postgres: batches go in with one statement, keyed by attempt id, so that a replay adds nothing.
 *
 * Reads count by `startedAt`. Sums leave the database as numbers: cost is exact to ten decimals there.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SqlClient from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"
import { type ConnectionUse, type CountedKey, type KeyUse, type UsageFilter, type UsageGroup, UsageStore, type UsageTotals } from "#actors/ports/UsageStore.ts"
import { LedgerRow } from "#schemas/records/LedgerRow.ts"
import * as Units from "#schemas/records/Units.ts"
import * as Operation from "#src/platform/postgres/operation.ts"
import * as Table from "#src/platform/postgres/Table.ts"
import { stored } from "#src/platform/postgres/text.ts"
import * as CallSearches from "./callSearches.ts"
import * as UsageRow from "./usageRow.ts"
import * as UsageStatistics from "./usageStatistics.ts"
import * as UsageTrend from "./usageTrend.ts"

const table = Table.make("UsageStore", LedgerRow, { nameOf: (row) => String(Reflect.get(row, "attemptId")) })

/** Rows per statement. */
const batchSize = 1_000
const maxRows = 10_000
/** Rows decoded before other fibers get a turn. */
const decodeSlice = 250
const minute = 60_000
const minutes = 10

const own = Object.entries(UsageRow.columnTypes)
const shared = Object.entries(UsageRow.kindTypes)
const quoted = ([field]: readonly [string, string]) => `"${field}"`
const arrays = own.map(([, type], index) => `$${index + 1}::text::${type}[]`).join(", ")

/**
 * One text parameter per column, the number of each row's kind, and the kinds as JSON: what rows share crosses the wire once.
 * One order everywhere: two nodes that replay the same rows wait for each other instead of deadlocking.
 */
const insertText = `
  WITH added AS (
    INSERT INTO usage (${[...own, ...shared].map(([field]) => Table.columnOf(field)).join(", ")})
    SELECT ${[...own.map((entry) => `rows.${quoted(entry)}`), ...shared.map((entry) => `kinds.${quoted(entry)}`)].join(", ")}
    FROM unnest(${arrays}, $${own.length + 1}::text::integer[]) AS rows(${own.map(quoted).join(", ")}, kind)
    JOIN json_to_recordset($${own.length + 2}::json) AS kinds(${shared.map(([field, type]) => `"${field}" ${type}`).join(", ")}, kind integer)
      ON kinds.kind = rows.kind
    ORDER BY rows."attemptId" COLLATE "C"
    ON CONFLICT (attempt_id) DO NOTHING
    RETURNING 1
  )
  SELECT count(*) AS added FROM added`

/** Sockets get their turn between two slices of a batch. */
const nextTurn = Effect.callback<void>((resume) => {
  setImmediate(() => resume(Effect.void))
})

/** One object of the sums of all units; null when none was used. */
const unitSums = `nullif(jsonb_strip_nulls(jsonb_build_object(${Units.names.map((name) => `'${name}', sum((units->>'${name}')::numeric)`).join(", ")})), '{}')`

const sums = `
  count(*) AS requests,
  coalesce(sum(tokens_in), 0) AS "promptTokens",
  coalesce(sum(tokens_out), 0) AS "completionTokens",
  ${unitSums} AS units,
  coalesce(sum(cost_usd), 0) AS cost`

/** What a group is keyed by; the names that depend on the key come along. */
const dimensions = {
  provider: { by: "provider", select: `provider, NULL AS model, NULL AS "connectionId", NULL AS "apiKeyId", NULL AS "apiKeyName"` },
  model: { by: "provider, model", select: `provider, model, NULL AS "connectionId", NULL AS "apiKeyId", NULL AS "apiKeyName"` },
  connection: { by: "provider, connection_id", select: `provider, NULL AS model, connection_id AS "connectionId", NULL AS "apiKeyId", NULL AS "apiKeyName"` },
  apiKey: {
    by: "api_key_id",
    select: `NULL AS provider, NULL AS model, NULL AS "connectionId", api_key_id AS "apiKeyId",
      (array_agg(api_key_name ORDER BY started_at DESC))[1] AS "apiKeyName"`
  }
} as const

const none: UsageTotals = { requests: 0, promptTokens: 0, completionTokens: 0, units: null, cost: 0 }

const make = Effect.fnUntraced(function*(options: Operation.StoreOptions) {
  const sql = yield* SqlClient.SqlClient
  const run = Operation.make("UsageStore", options)
  const columns = sql.literal(table.columns)

  const where = (filter: UsageFilter): Fragment => {
    const clauses: Array<Fragment> = []
    if (filter.since !== undefined) clauses.push(sql`started_at >= ${Math.ceil(filter.since)}`)
    if (filter.until !== undefined) clauses.push(sql`started_at <= ${Math.floor(filter.until)}`)
    if (filter.provider !== undefined) clauses.push(sql`provider = ${filter.provider}`)
    if (filter.model !== undefined) clauses.push(sql`model = ${filter.model}`)
    if (filter.connectionId !== undefined) clauses.push(sql`connection_id = ${filter.connectionId}`)
    if (filter.apiKeyId !== undefined) clauses.push(sql`api_key_id = ${filter.apiKeyId}`)
    if (filter.status !== undefined) clauses.push(sql`status = ${filter.status}`)
    if (filter.attemptId !== undefined) clauses.push(sql`attempt_id = ${filter.attemptId}`)
    if (filter.requestId !== undefined) clauses.push(sql`request_id = ${filter.requestId}`)
    if (filter.finalOnly === true) clauses.push(sql`final`)
    return sql.and(clauses)
  }

  const insertBatch = (rows: ReadonlyArray<LedgerRow>) =>
    Effect.gen(function*() {
      const batch = new UsageRow.Batch()
      for (let at = 0; at < rows.length; at += UsageRow.SLICE_ROWS) {
        if (at > 0) yield* nextTurn
        batch.add(rows.slice(at, at + UsageRow.SLICE_ROWS))
      }
      if (batch.mendedIds.length > 0) yield* Effect.logError("Ledger rows with impossible numbers were stored with bounded ones.", batch.mendedIds)
      const [result] = yield* sql.unsafe<{ readonly added: number }>(insertText, batch.parameters())
      return result?.added ?? 0
    })

  const insert = (given: ReadonlyArray<LedgerRow>) => {
    if (given.length === 0) return Effect.succeed(0)
    if (given.length <= batchSize) return insertBatch(given)
    const rows = [...given].sort((a, b) => a.attemptId < b.attemptId ? -1 : a.attemptId > b.attemptId ? 1 : 0)
    const batches = Array.from({ length: Math.ceil(rows.length / batchSize) }, (_, index) => rows.slice(index * batchSize, (index + 1) * batchSize))
    return sql.withTransaction(Effect.map(Effect.forEach(batches, insertBatch), (counts) => counts.reduce((sum, count) => sum + count, 0)))
  }

  const decodeAll = Effect.fnUntraced(function*(rows: ReadonlyArray<object>) {
    const decoded: Array<LedgerRow> = []
    for (const [index, row] of rows.entries()) {
      if (index > 0 && index % decodeSlice === 0) yield* Effect.yieldNow
      decoded.push(yield* table.fromRow({ ...row, phases: UsageRow.unpacked(Reflect.get(row, "phases")) }))
    }
    return decoded
  })

  const removeBefore = (time: number) => Operation.removeAll(run("removeBefore", sql`
    DELETE FROM usage WHERE attempt_id IN
      (SELECT attempt_id FROM usage WHERE started_at < ${Math.ceil(time)} LIMIT ${Operation.REMOVED_AT_ONCE})
    RETURNING 1`))

  /** One walk along the ids, so that what stays is looked at once. */
  const removeBut = Effect.fnUntraced(function*(time: number, kept: ReadonlyArray<CountedKey>) {
    const counted = JSON.stringify(kept.map(({ apiKeyId, since }) => ({ id: stored(apiKeyId), since: Math.ceil(since) })))
    let removed = 0
    let after = ""
    for (;;) {
      const [slice] = yield* run("removeBut", sql<{ readonly last: string | null; readonly gone: number }>`
        WITH looked AS (
          SELECT attempt_id, NOT EXISTS (
            SELECT 1 FROM json_to_recordset(${counted}::text::json) AS k(id text, since bigint) WHERE k.id = u.api_key_id AND u.started_at >= k.since
          ) AS goes
          FROM (SELECT attempt_id, api_key_id, started_at FROM usage WHERE attempt_id > ${after} ORDER BY attempt_id LIMIT ${Operation.REMOVED_AT_ONCE}) AS u
        ), gone AS (
          DELETE FROM usage USING looked WHERE usage.attempt_id = looked.attempt_id AND looked.goes AND usage.started_at < ${Math.ceil(time)} RETURNING 1
        )
        SELECT (SELECT max(attempt_id) FROM looked) AS last, (SELECT count(*) FROM gone)::int AS gone`)
      if (slice === undefined || slice.last === null) return removed
      removed += slice.gone
      after = slice.last
    }
  })

  return UsageStore.of({
    insert: (rows) => run("insert", insert(rows)),
    rows: (filter) =>
      run("rows", Effect.flatMap(
        sql`SELECT ${columns} FROM usage WHERE ${where(filter)}
          ORDER BY started_at DESC, attempt_id DESC LIMIT ${Math.min(filter.limit ?? maxRows, maxRows)}`,
        decodeAll
      )),
    totals: (filter) =>
      run("totals", Effect.map(
        sql<UsageTotals>`SELECT ${sql.literal(sums)} FROM usage WHERE ${where(filter)}`,
        ([totals]) => totals ?? none
      )),
    groupBy: (dimension, filter) => {
      const { by, select } = dimensions[dimension]
      return run("groupBy", sql<UsageGroup>`
        SELECT ${sql.literal(select)}, ${sql.literal(sums)}, max(started_at) AS "lastUsed"
        FROM usage WHERE ${where(filter)} GROUP BY ${sql.literal(by)}
        ORDER BY requests DESC, ${sql.literal(by)} LIMIT ${Math.min(filter.limit ?? maxRows, maxRows)}`)
    },
    usedBy: (apiKeyId, since) =>
      run("usedBy", sql<KeyUse>`
        SELECT node_id AS "nodeId", provider, model, coalesce(sum(tokens_in + tokens_out), 0) AS tokens, coalesce(sum(cost_usd), 0) AS "costUsd"
        FROM usage WHERE api_key_id = ${apiKeyId} AND started_at >= ${Math.ceil(since)} GROUP BY node_id, provider, model`),
    connectionUse: (connectionIds, since, slotMs) =>
      run("connectionUse", connectionIds.length === 0 ? Effect.succeed([]) : sql<ConnectionUse>`
        SELECT connection_id AS "connectionId", min(started_at) - min(started_at) % ${slotMs} AS begin, max(started_at) AS last,
          count(*) AS requests, coalesce(sum(tokens_in + tokens_out), 0) AS tokens
        FROM usage WHERE started_at >= ${Math.ceil(since)} AND ${sql.in("connection_id", connectionIds)}
        GROUP BY connection_id, started_at / ${slotMs} ORDER BY begin, connection_id`),
    lastMinutes: (now) =>
      run("lastMinutes", Effect.gen(function*() {
        const start = Math.floor(now) - minutes * minute
        const rows = yield* sql<UsageTotals & { readonly bucket: number }>`
          SELECT ((started_at - ${start} - 1) / ${minute})::integer AS bucket, ${sql.literal(sums)}
          FROM usage WHERE started_at > ${start} AND started_at <= ${Math.floor(now)} GROUP BY bucket`
        const buckets: Array<UsageTotals> = Array.from({ length: minutes }, () => none)
        for (const { bucket, ...totals } of rows) buckets[bucket] = totals
        return buckets
      })),
    count: (nodeId) =>
      run("count", Effect.map(
        sql<{ readonly outcome: string; readonly rows: number }>`
          SELECT outcome, count(*) AS rows FROM usage
          WHERE ${nodeId === undefined ? sql`true` : sql`node_id = ${nodeId}`} GROUP BY outcome`,
        (rows) => new Map(rows.map((row) => [row.outcome, row.rows]))
      )),
    ...CallSearches.make(sql, run, columns, decodeAll),
    ...UsageStatistics.make(sql, run),
    ...UsageTrend.make(sql, run, sums),
    removeBefore,
    removeBut
  })
})

/** `UsageStore` on the client's database, which must be migrated. */
export const layer = (options: Operation.StoreOptions = {}): Layer.Layer<UsageStore, never, SqlClient.SqlClient> =>
  Layer.effect(UsageStore, make(options))
