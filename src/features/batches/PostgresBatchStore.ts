/**
 * Batches in Postgres. Answers of lines, their counts and the end of the batch are one transaction over the batch's locked row: after
 * a crash a line either has its answer and is counted, or neither.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as SqlClient from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"
import * as Batch from "#actors/batch/Batch.ts"
import { BatchRecord } from "#schemas/batches/Batch.ts"
import * as Operation from "#src/platform/postgres/operation.ts"
import { stored } from "#src/platform/postgres/text.ts"
import { withResults } from "./results.ts"
import { type BatchScope, BatchStore, type LineResult } from "./ports/BatchStore.ts"

/** What changes without a new version has columns of its own. */
const Document = BatchRecord.mapFields(({ cursor: _cursor, version: _version, ...fields }) => fields)
const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(Document))

interface Row {
  readonly record: string
  readonly version: number
  readonly cursorLine: number
  readonly cursorOffset: number
}

const columns = `record, version, cursor_line AS "cursorLine", cursor_offset AS "cursorOffset"`

const read = ({ cursorLine, cursorOffset, record, version }: Row) =>
  Effect.map(decode(record), (document): BatchRecord => ({ ...document, cursor: { line: cursorLine, offset: cursorOffset }, version }))

const documentOf = ({ cursor: _cursor, version: _version, ...document }: BatchRecord): string => stored(JSON.stringify(document))

/** Rows per statement: each has four parameters. */
const insertSlice = 500

const make = Effect.fnUntraced(function*(options: Operation.StoreOptions) {
  const sql = yield* SqlClient.SqlClient
  const run = Operation.make("BatchStore", options)
  const selected = sql.literal(columns)
  const owned = (scope: BatchScope): Fragment => scope === "all" ? sql`TRUE` : sql`owner_key_id = ${scope.keyId}`
  const first = ([row]: ReadonlyArray<Row>) => row === undefined ? Effect.succeed(null) : read(row)
  const written = (record: BatchRecord) => ({ status: record.state.status, is_over: Batch.isOver(record.state), record: documentOf(record) })

  const insertNew = Effect.fnUntraced(function*(id: string, results: ReadonlyArray<LineResult>) {
    const taken = new Set<number>()
    for (let i = 0; i < results.length; i += insertSlice) {
      const [first, ...rest] = results.slice(i, i + insertSlice).map(({ failed, line, text }) => ({ batch_id: id, line, failed, text: stored(text) }))
      if (first === undefined) break
      const rows = yield* sql<{ readonly line: number }>`INSERT INTO batch_lines ${sql.insert([first, ...rest])} ON CONFLICT (batch_id, line) DO NOTHING RETURNING line`
      for (const { line } of rows) taken.add(line)
    }
    return results.filter(({ line }) => taken.has(line))
  })

  /** Null: the record has changed since, or a line had its answer already. */
  const finishKnown = (known: BatchRecord, results: ReadonlyArray<LineResult>, now: number) => {
    const next = withResults(known, results, now)
    const lines = JSON.stringify(results.map(({ failed, line, text }) => ({ line, failed, text: stored(text) })))
    return sql<{ readonly id: string }>`
      WITH counted AS (
        UPDATE batches SET ${sql.update(written(next))}, version = ${next.version} WHERE id = ${known.id} AND version = ${known.version} AND NOT is_over RETURNING id
      ), kept AS (
        INSERT INTO batch_lines (batch_id, line, failed, text)
        SELECT counted.id, one.line, one.failed, one.text FROM counted, json_to_recordset(${lines}::text::json) AS one(line integer, failed boolean, text text)
      )
      SELECT id FROM counted`.pipe(
      Effect.map((rows) => rows.length > 0 ? next : null),
      Effect.catchIf((error) => error.reason._tag === "UniqueViolation", () => Effect.succeed(null))
    )
  }

  const finishLocked = (id: string, results: ReadonlyArray<LineResult>, now: number) => sql.withTransaction(Effect.gen(function*() {
    const record = yield* Effect.flatMap(sql<Row>`SELECT ${selected} FROM batches WHERE id = ${id} AND NOT is_over FOR UPDATE`, first)
    if (record === null) return null
    const fresh = yield* insertNew(id, results)
    if (fresh.length === 0) return record
    const next = withResults(record, fresh, now)
    yield* sql`UPDATE batches SET ${sql.update(written(next))}, version = ${next.version} WHERE id = ${id}`
    return next
  }))

  return BatchStore.of({
    insert: (record) => run("insert", Effect.asVoid(sql`INSERT INTO batches ${sql.insert({
      id: record.id, owner_key_id: record.ownerKeyId, input_file_id: record.inputFileId, created_at: record.state.createdAt, version: record.version,
      cursor_line: record.cursor.line, cursor_offset: record.cursor.offset, ...written(record)
    })}`)),
    find: (id, scope) => run("find", Effect.flatMap(sql<Row>`SELECT ${selected} FROM batches WHERE id = ${stored(id)} AND ${owned(scope)}`, first)),
    list: (scope, after, limit) => run("list", Effect.gen(function*() {
      if (after === null) return yield* Effect.flatMap(sql<Row>`SELECT ${selected} FROM batches WHERE ${owned(scope)} ORDER BY created_at DESC, id DESC LIMIT ${limit}`, Effect.forEach(read))
      const [from] = yield* sql<{ readonly createdAt: number }>`SELECT created_at AS "createdAt" FROM batches WHERE id = ${stored(after)} AND ${owned(scope)}`
      if (from === undefined) return null
      const rows = yield* sql<Row>`
        SELECT ${selected} FROM batches WHERE ${owned(scope)} AND (created_at, id) < (${from.createdAt}, ${stored(after)})
        ORDER BY created_at DESC, id DESC LIMIT ${limit}`
      return yield* Effect.forEach(rows, read)
    })),
    open: (limit) => run("open", Effect.flatMap(
      sql<Row>`
        SELECT ${selected} FROM (
          SELECT *, row_number() OVER (PARTITION BY owner_key_id ORDER BY created_at, id) AS place FROM batches WHERE NOT is_over
        ) AS waiting ORDER BY place, created_at, id LIMIT ${limit}`,
      Effect.forEach(read)
    )),
    change: (record) => run("change", Effect.map(
      sql`UPDATE batches SET ${sql.update({ ...written(record), untold: Batch.isOver(record.state) })}, version = version + 1 WHERE id = ${record.id} AND version = ${record.version} RETURNING id`,
      (rows) => rows.length > 0
    )),
    untold: (limit) => run("untold", Effect.flatMap(sql<Row>`SELECT ${selected} FROM batches WHERE untold ORDER BY created_at, id LIMIT ${limit}`, Effect.forEach(read))),
    told: (ids) => ids.length === 0 ? Effect.void : run("told", Effect.asVoid(sql`UPDATE batches SET untold = FALSE WHERE ${sql.in("id", [...ids])}`)),
    finish: (id, results, now, known) => run("finish", known === undefined
      ? finishLocked(id, results, now)
      : Effect.flatMap(finishKnown(known, results, now), (next) => next === null ? finishLocked(id, results, now) : Effect.succeed(next))),
    advance: (id, cursor) => run("advance", Effect.asVoid(
      sql`UPDATE batches SET cursor_line = ${cursor.line}, cursor_offset = ${cursor.offset} WHERE id = ${id} AND cursor_line < ${cursor.line}`
    )),
    finished: (id, from, to) => run("finished", Effect.map(
      sql<{ readonly line: number }>`SELECT line FROM batch_lines WHERE batch_id = ${id} AND line BETWEEN ${from} AND ${to}`,
      (rows) => new Set(rows.map(({ line }) => line))
    )),
    lastAnswer: (id, failed) => run("lastAnswer", Effect.map(
      sql<{ readonly line: number | null }>`SELECT max(line) AS line FROM batch_lines WHERE batch_id = ${id} AND failed = ${failed}`,
      ([found]) => found?.line ?? null
    )),
    // A range, because a planner without statistics of the new rows read all that are left for each page of a LIMIT. One row with one text: a
    // row of its own for each answer cost more than all else that writes a file.
    page: (id, failed, { after, through }, mostBytes) => run("page", Effect.map(
      sql<{ readonly last: number | null; readonly isCut: boolean | null; readonly text: string | null }>`
        SELECT max(line) FILTER (WHERE before < ${mostBytes}) AS last, bool_or(before >= ${mostBytes}) AS "isCut",
          string_agg(text || chr(10), '' ORDER BY line) FILTER (WHERE before < ${mostBytes}) AS text
        FROM (
          SELECT line, text, sum(octet_length(text)) OVER (ORDER BY line) - octet_length(text) AS before
          FROM batch_lines WHERE batch_id = ${id} AND failed = ${failed} AND line > ${after} AND line <= ${through}
        ) AS page`,
      ([page]) => ({ through: page?.isCut === true && page.last !== null ? page.last : through, text: page?.text ?? "" })
    )),
    dropResults: (id) => run("dropResults", Effect.asVoid(sql`DELETE FROM batch_lines WHERE batch_id = ${id}`)),
    remove: (id, scope) => run("remove", Effect.gen(function*() {
      const gone = yield* sql`DELETE FROM batches WHERE id = ${stored(id)} AND is_over AND ${owned(scope)} RETURNING id`
      if (gone.length > 0) return "removed" as const
      const left = yield* sql`SELECT id FROM batches WHERE id = ${stored(id)} AND ${owned(scope)}`
      return left.length > 0 ? "running" as const : null
    })),
    removeOver: ({ before, limit, onlyCompleted, scope }) => run("removeOver", Effect.flatMap(
      sql<Row>`
        DELETE FROM batches WHERE id IN (
          SELECT id FROM batches WHERE is_over AND created_at < ${before} AND ${owned(scope)} ${onlyCompleted ? sql`AND status = 'completed'` : sql``}
          ORDER BY created_at LIMIT ${limit}
        ) RETURNING ${selected}`,
      (rows) => Effect.map(Effect.forEach(rows, read), (records) => records.map(({ id, inputFileId, state: { errorFileId, outputFileId } }) => ({ id, inputFileId, outputFileId, errorFileId })))
    )),
    inputsInUse: (fileIds) => fileIds.length === 0 ? Effect.succeed(new Set<string>()) : run("inputsInUse", Effect.map(
      sql<{ readonly fileId: string }>`SELECT DISTINCT input_file_id AS "fileId" FROM batches WHERE ${sql.in("input_file_id", [...fileIds])}`,
      (rows) => new Set(rows.map(({ fileId }) => fileId))
    ))
  })
})

export const layer = (options: Operation.StoreOptions) => Layer.effect(BatchStore, make(options))
