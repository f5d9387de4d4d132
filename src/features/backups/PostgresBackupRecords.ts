/** `BackupRecords` over Postgres. Values cross as text, so that each comes back exactly as it was, whatever its type. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SqlClient from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import type { StoreError } from "#actors/ports/StoreError.ts"
import * as Operation from "#src/platform/postgres/operation.ts"
import { Patience } from "#src/platform/postgres/Slot.ts"
import type { ArchiveError } from "./archive/ArchiveError.ts"
import { PAGE_ROWS } from "./archive/pages.ts"
import { BackupRecords, type Migration, type Page, type Pages } from "./BackupRecords.ts"
import { keptKinds, mergedTables, replacedTables, stateKinds, tables } from "./tables.ts"

/** ms for one statement of a restore, and for the wait for writers that hold a table. */
const STATEMENT_MS = 600_000
const LOCK_MS = 10_000

const quoted = (name: string): string => `"${name.replaceAll("\"", "\"\"")}"`
const texts = (values: ReadonlyArray<string>): string => values.map((value) => `'${value.replaceAll("'", "''")}'`).join(", ")
const listed = (names: ReadonlyArray<string>): string => names.map(quoted).join(", ")

interface Column {
  readonly name: string
  readonly type: string
  /** The database numbers it. */
  readonly numbered: boolean
}

const keyOf = (table: string): ReadonlyArray<string> => {
  const rule = tables[table]
  return rule === undefined || rule.use === "left" ? [] : rule.key
}

const make = Effect.fnUntraced(function*(options: Operation.StoreOptions) {
  const sql = yield* SqlClient.SqlClient
  const run = Operation.make("BackupRecords", options)
  /** For what takes longer than one operation may. */
  const long = Operation.make("BackupRecords", { ...options, timeout: STATEMENT_MS })

  const columnsOf = (table: string) => sql.unsafe<Column>(
    `SELECT attname AS name, format_type(atttypid, atttypmod) AS type, attidentity <> '' AS numbered FROM pg_attribute
     WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped ORDER BY attnum`, [table])

  /** One page of a table, from behind a key on. */
  const pageAfter = (table: string, columns: ReadonlyArray<Column>, after: ReadonlyArray<string> | null) => {
    const key = keyOf(table)
    const conditions = [
      ...after === null ? [] : [`(${listed(key)}) > (${key.map((_, index) => `$${index + 1}`).join(", ")})`],
      ...table === "documents" ? [`kind NOT IN (${texts(stateKinds)})`] : []
    ]
    const where = conditions.length === 0 ? "" : ` WHERE ${conditions.join(" AND ")}`
    return sql.unsafe<Readonly<Record<string, string | null>>>(
      `SELECT ${columns.map(({ name }) => `${quoted(name)}::text AS ${quoted(name)}`).join(", ")} FROM ${quoted(table)}${where} ORDER BY ${listed(key)} LIMIT ${PAGE_ROWS}`,
      after ?? []
    )
  }

  const dumpTable = Effect.fnUntraced(function*(table: string, take: (page: Page) => Effect.Effect<void, ArchiveError>) {
    const all = yield* run("dump", columnsOf(table))
    // A number is given again where the row arrives.
    const columns = all.filter(({ numbered }) => !numbered)
    const names = columns.map(({ name }) => name)
    let after: ReadonlyArray<string> | null = null
    for (;;) {
      const rows: ReadonlyArray<Readonly<Record<string, string | null>>> = yield* run("dump", pageAfter(table, columns, after))
      // An empty table has a page, too: it says that there were no rows.
      if (rows.length > 0 || after === null) yield* take({ table, columns: names, rows: rows.map((row) => names.map((name) => row[name] ?? null)) })
      const last = rows.at(-1)
      if (last === undefined || rows.length < PAGE_ROWS) return
      after = keyOf(table).map((name) => last[name] ?? "")
    }
  })

  /** Puts the rows of a page in; columns by their names, those that the page lacks by their defaults. */
  const insert = Effect.fnUntraced(function*(page: Page, columns: ReadonlyArray<Column>) {
    if (page.rows.length === 0) return
    const taken = columns.filter(({ name, numbered }) => !numbered && page.columns.includes(name))
    const names = taken.map(({ name }) => name)
    const places = names.map((name) => page.columns.indexOf(name))
    const rule = tables[page.table]
    const key = keyOf(page.table)
    const others = names.filter((name) => !key.includes(name))
    const clash = rule?.use === "replaced" && rule.isReferenced === true
      ? `ON CONFLICT (${listed(key)}) DO UPDATE SET ${others.map((name) => `${quoted(name)} = excluded.${quoted(name)}`).join(", ")}`
      : rule?.use === "merged" || page.table === "documents" ? `ON CONFLICT (${listed(key)}) DO NOTHING` : ""
    // An archive under a passphrase may say anything; the state of this gateway is never its to say.
    const strangers = page.table === "documents" ? ` WHERE x.kind NOT IN (${texts(stateKinds)})` : ""
    yield* sql.unsafe(
      `INSERT INTO ${quoted(page.table)} (${listed(names)})
       SELECT ${taken.map(({ name, type }) => `x.${quoted(name)}::${type}`).join(", ")}
       FROM json_to_recordset($1::text::json) AS x(${names.map((name) => `${quoted(name)} text`).join(", ")})${strangers} ${clash}`,
      [JSON.stringify(page.rows.map((values) => Object.fromEntries(names.map((name, index) => [name, values[places[index] ?? -1] ?? null]))))]
    )
  })

  /** What stood in a table before, but for what a restore never replaces. */
  const clear = (table: string) => sql.unsafe(`DELETE FROM ${quoted(table)}${table === "documents" ? ` WHERE kind NOT IN (${texts([...stateKinds, ...keptKinds])})` : ""}`)

  /** Rows of a referenced table that the archive does not have: what refers to the others stays. */
  const clearOthers = (table: string, ids: ReadonlyArray<string>) =>
    sql.unsafe(`DELETE FROM ${quoted(table)} WHERE NOT (${quoted(keyOf(table)[0] ?? "id")} IN (SELECT json_array_elements_text($1::text::json)))`, [JSON.stringify(ids)])

  // The change of each row would be told by itself: one change of the version tells the nodes that everything may be different.
  const triggers = (state: "DISABLE" | "ENABLE") =>
    Effect.forEach(replacedTables, (table) => sql.unsafe(`ALTER TABLE ${quoted(table)} ${state} TRIGGER USER`), { discard: true })
  const noteAll = sql`
    INSERT INTO record_version (version) VALUES (1) ON CONFLICT (one) DO UPDATE SET version = record_version.version + 1`

  const isReferenced = (table: string): boolean => {
    const rule = tables[table]
    return rule?.use === "replaced" && rule.isReferenced === true
  }

  const replaceAll = Effect.fnUntraced(function*(pages: Pages) {
    yield* sql`SELECT set_config('statement_timeout', ${String(STATEMENT_MS)}, true), set_config('lock_timeout', ${String(LOCK_MS)}, true)`
    yield* triggers("DISABLE")
    yield* Effect.forEach(replacedTables.filter((table) => !isReferenced(table)), clear, { discard: true })
    const columns = new Map<string, ReadonlyArray<Column>>()
    const ids = new Map(replacedTables.filter(isReferenced).map((table) => [table, new Array<string>()]))
    for (;;) {
      const page = yield* pages
      if (page === null) break
      const known = columns.get(page.table) ?? (yield* columnsOf(page.table))
      columns.set(page.table, known)
      yield* insert(page, known)
      const place = page.columns.indexOf(keyOf(page.table)[0] ?? "id")
      const seen = ids.get(page.table)
      if (seen !== undefined) for (const row of page.rows) seen.push(row[place] ?? "")
    }
    yield* Effect.forEach(ids, ([table, seen]) => clearOthers(table, seen), { discard: true })
    yield* triggers("ENABLE")
    yield* noteAll
  })

  /** The failures of the pages and of the check pass as they are; those of the database become the store's. */
  const asStore = <A>(operation: string, effect: Effect.Effect<A, SqlError | StoreError | ArchiveError>): Effect.Effect<A, StoreError | ArchiveError> =>
    Effect.catchTag(effect, "SqlError", (error) => long(operation, Effect.fail(error)))

  return BackupRecords.of({
    size: run("size", Effect.map(
      sql<{ readonly bytes: number }>`SELECT pg_database_size(current_database()) AS bytes`, ([found]) => found?.bytes ?? 0
    )),
    migrations: run("migrations", sql<Migration>`SELECT migration_id AS id, name FROM gateway_migrations ORDER BY migration_id`),
    dump: (contents, take) => Effect.gen(function*() {
      yield* asStore("dump", sql.withTransaction(Effect.gen(function*() {
        yield* run("dump", sql.unsafe("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"))
        yield* Effect.forEach(replacedTables, (table) => dumpTable(table, take), { discard: true })
      })))
      if (contents === "all") yield* Effect.forEach(mergedTables, (table) => dumpTable(table, take), { discard: true })
    }),
    merge: (pages) => Effect.gen(function*() {
      const columns = new Map<string, ReadonlyArray<Column>>()
      for (;;) {
        const page = yield* pages
        if (page === null) return
        const known = columns.get(page.table) ?? (yield* run("merge", columnsOf(page.table)))
        columns.set(page.table, known)
        yield* run("merge", insert(page, known))
      }
    }),
    replace: (pages, check) => asStore("replace", sql.withTransaction(Effect.andThen(replaceAll(pages), check))).pipe(
      Effect.provideService(Patience, STATEMENT_MS)
    )
  })
})

export const layer = (options: Operation.StoreOptions = {}): Layer.Layer<BackupRecords, never, SqlClient.SqlClient> => Layer.effect(BackupRecords, make(options))

