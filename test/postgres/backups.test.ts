/** Records as pages of rows: every table has a rule, and what comes back is what was there, all of it or nothing. */
import { afterAll, assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SqlClient from "effect/sql/SqlClient"
import { ClusterStore } from "#actors/ports/Nodes.ts"
import { StoreError } from "#actors/ports/StoreError.ts"
import { ConnectionStore, DocumentStore, KeyStore } from "#actors/ports/Stores.ts"
import { BackupRecords, type Page } from "#src/features/backups/BackupRecords.ts"
import { replacedTables, tables } from "#src/features/backups/tables.ts"
import * as Migrations from "#src/Migrations.ts"
import * as Stores from "#src/Stores.ts"
import { apiKey, connection } from "#test/suites/records.ts"
import { findServer, freshClient, pgliteClient, secrets, withServer } from "#test/support/postgres.ts"

/** The pages of a list, one after another. */
const pagesOf = (pages: ReadonlyArray<Page>) => {
  let next = 0
  return Effect.sync(() => pages[next++] ?? null)
}

const dumped = (contents: "records" | "all" = "records") => Effect.gen(function*() {
  const pages = new Array<Page>()
  yield* (yield* BackupRecords).dump(contents, (page) => Effect.sync(() => void pages.push(page)))
  return pages
})

const everyRow = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* Effect.forEach(Object.keys(tables).filter((name) => name !== "record_version" && name !== "record_changes"), (name) =>
    sql<{ readonly line: string }>`SELECT ${name} || ' ' || t::text AS line FROM ${sql(name)} t ORDER BY 1`)
  return rows.flat().map(({ line }) => line)
})

const plant = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const documents = yield* DocumentStore
  for (let index = 0; index < 1_203; index++) yield* (yield* KeyStore).insert(apiKey({ id: `key-${String(index).padStart(4, "0")}`, keyHash: `hash-${index}` }))
  yield* (yield* ConnectionStore).insert(connection({ id: "c-1", providerSpecificData: { odd: "\u0000\ud800 \"\\\n" } }))
  for (const kind of ["setting", "secret", "breaker", "password", "cluster"]) yield* documents.put(kind, "k", { was: kind })
  for (const id of ["kept", "gone"]) yield* sql`INSERT INTO webhooks ${sql.insert(webhook(id))}`
  yield* sql`INSERT INTO webhook_events (id, type, body, created_at) VALUES ('e', 't', '{}', 'x')`
  yield* sql`INSERT INTO webhook_jobs (webhook_id, event_id) VALUES ('kept', 'e'), ('gone', 'e')`
})
const webhook = (id: string): Record<string, unknown> => ({
  id, url: "sealed", events: "[]", secret: "sealed", enabled: true, kind: "custom", failure_count: 0, created_at: "x", updated_at: "x", enabled_at: "since"
})

const scenario = (client: Layer.Layer<SqlClient.SqlClient>) => Effect.gen(function*() {
  yield* Migrations.run
  yield* Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const records = yield* BackupRecords
    const cluster = yield* ClusterStore
    const documents = yield* DocumentStore

    // Every table has a rule, and the keys that the rules name are the tables' own.
    const found = yield* sql<{ readonly name: string; readonly key: ReadonlyArray<string> }>`
      SELECT c.relname AS name, coalesce((
        SELECT json_agg(a.attname ORDER BY k.place) FROM pg_index i, unnest(i.indkey::int2[]) WITH ORDINALITY AS k(number, place), pg_attribute a
        WHERE i.indrelid = c.oid AND i.indisprimary AND a.attrelid = c.oid AND a.attnum = k.number), '[]') AS key
      FROM pg_class c WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace ORDER BY 1`
    assert.deepStrictEqual(found.map(({ name }) => name), Object.keys(tables).sort())
    for (const { key, name } of found) {
      const rule = tables[name]
      if (rule?.use === "replaced" || rule?.use === "merged") assert.deepStrictEqual([name, key], [name, rule.key])
    }

    yield* plant
    const before = yield* everyRow
    const pages = yield* dumped()
    assert.deepStrictEqual([...new Set(pages.map(({ table }) => table))], replacedTables)
    assert.deepStrictEqual(pages.filter(({ table }) => table === "api_keys").map(({ rows }) => rows.length), [...Array.from({ length: 12 }, () => 100), 3])
    const kinds = pages.filter(({ table }) => table === "documents").flatMap(({ rows }) => rows.map(([kind]) => kind))
    assert.deepStrictEqual(kinds.filter((kind) => kind === "breaker" || kind === "cluster"), [])

    // Everything is changed, and comes back; the queue of a webhook that stays is not touched.
    yield* sql`DELETE FROM api_keys WHERE id < 'key-0700'`
    yield* sql`UPDATE connections SET name = 'changed', provider_specific_data = '{}'`
    yield* (yield* KeyStore).insert(apiKey({ id: "late", keyHash: "hash-1" }))
    yield* documents.put("setting", "k", "changed")
    yield* documents.put("setting", "late", "changed")
    yield* sql`UPDATE webhooks SET failure_count = 7`
    yield* sql`INSERT INTO webhooks ${sql.insert(webhook("late"))}`
    const changed = yield* everyRow
    const version = yield* cluster.version

    // A check that fails, or pages that break off, leave all of it as it is.
    const refusal = new StoreError({ store: "test", operation: "check", reason: "corrupt", message: "unfit" })
    assert.strictEqual(yield* Effect.flip(records.replace(pagesOf(pages), Effect.fail(refusal))), refusal)
    assert.deepStrictEqual(yield* everyRow, changed)
    const [first] = pages
    const unfit = yield* Effect.flip(records.replace(pagesOf([{ table: "connections", columns: ["id", "priority"], rows: [["x", "no number"]] }]), Effect.void))
    assert.deepStrictEqual([unfit._tag, unfit.reason], ["StoreError", "corrupt"])
    const twice = yield* Effect.flip(records.replace(pagesOf([...pages, first!]), Effect.void))
    assert.deepStrictEqual([twice._tag, twice.reason], ["StoreError", "conflict"])
    assert.deepStrictEqual(yield* everyRow, changed)
    assert.strictEqual(yield* cluster.version, version)

    yield* records.replace(pagesOf(pages), Effect.void)
    assert.deepStrictEqual(yield* everyRow, before)
    // One step of the version tells every node that anything may be different; later changes are told one by one again.
    assert.deepStrictEqual(yield* cluster.newsAfter(version, 10), { version: version + 1, changes: null })
    yield* documents.put("setting", "k", "later")
    assert.deepStrictEqual(yield* cluster.newsAfter(version + 1, 10), { version: version + 2, changes: [{ kind: "document", id: "setting/k" }] })

    // State of this gateway stays, and its password is added only where there is none.
    yield* documents.put("password", "k", "newer")
    yield* documents.put("breaker", "k", "newer")
    yield* sql`DELETE FROM webhooks WHERE id = 'gone'`
    yield* records.replace(pagesOf(pages), Effect.void)
    assert.deepStrictEqual([yield* documents.get("password", "k"), yield* documents.get("breaker", "k")], ["newer", "newer"])
    assert.deepStrictEqual(yield* sql`SELECT webhook_id FROM webhook_jobs`, [{ webhook_id: "kept" }])
    yield* documents.remove("password", "k")
    yield* records.replace(pagesOf(pages), Effect.void)
    assert.deepStrictEqual(yield* documents.get("password", "k"), { was: "password" })

    const [documentsPage] = pages.filter(({ table }) => table === "documents")
    const foreign = { ...documentsPage!, rows: [...documentsPage!.rows, ["quota-told", "k", "{}"], ["eval-suite", "k", "{}"]] }
    yield* records.replace(pagesOf(pages.map((page) => page.table === "documents" ? foreign : page)), Effect.void)
    assert.deepStrictEqual([yield* documents.get("quota-told", "k"), yield* documents.get("eval-suite", "k")], [undefined, {}])

    // Of an older release: a column that came later has its default, one that went is left out.
    const older = pages.map((page): Page => page.table !== "webhooks" ? page : {
      table: "webhooks", columns: [...page.columns.filter((column) => column !== "enabled_at"), "went"],
      rows: page.rows.map((row) => [...row.filter((_, index) => page.columns[index] !== "enabled_at"), "value"])
    })
    yield* sql`DELETE FROM webhooks`
    yield* records.replace(pagesOf(older), Effect.void)
    assert.deepStrictEqual(yield* sql`SELECT id, enabled_at FROM webhooks ORDER BY id`, [{ id: "gone", enabled_at: "" }, { id: "kept", enabled_at: "" }])

    // What is missing of the ledger is added, once; what is there stays.
    yield* sql`INSERT INTO audit_log (id, timestamp, action, actor, details, status) VALUES ('a', 't', 'x', 'y', '{}', 'success'), ('b', 't', 'x', 'y', '{}', 'success')`
    const history = (yield* dumped("all")).filter(({ table }) => table === "audit_log")
    yield* sql`DELETE FROM audit_log WHERE id = 'a'`
    yield* sql`UPDATE audit_log SET actor = 'stays' WHERE id = 'b'`
    yield* records.merge(pagesOf(history))
    yield* records.merge(pagesOf(history))
    assert.deepStrictEqual(yield* sql`SELECT id, actor FROM audit_log ORDER BY id`, [{ id: "a", actor: "y" }, { id: "b", actor: "stays" }])
  }).pipe(Effect.provide(Stores.layerUnmigrated().pipe(Layer.provideMerge(secrets))))
}).pipe(Effect.provide(client))

const server = await findServer()
afterAll(server.stop)

describe("pages of records", () => {
  it.live("on PGlite each table has a rule, and a restore is all or nothing", () => scenario(pgliteClient))
  withServer(server, "on Postgres", (url) => {
    it.live("each table has a rule, and a restore is all or nothing", () => scenario(freshClient(url)))

    it.live("are those of one moment, also while others write", () => Effect.gen(function*() {
      yield* Migrations.run
      yield* Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        const pages = new Array<Page>()
        yield* (yield* BackupRecords).dump("records", (page) => {
          pages.push(page)
          // Outside the transaction: on another connection of the pool, as another request would.
          return Effect.promise(() => Effect.runPromise(Effect.asVoid(sql`INSERT INTO issue_limits VALUES (${`late-${pages.length}`}, 1, 1, 1)`)))
        })
        assert.deepStrictEqual(pages.filter(({ table }) => table === "issue_limits").map(({ rows }) => rows), [[]])
        assert.deepStrictEqual(yield* sql`SELECT count(*)::int AS n FROM issue_limits`, [{ n: pages.length }])
      }).pipe(Effect.provide(Stores.layerUnmigrated().pipe(Layer.provideMerge(secrets))))
    }).pipe(Effect.provide(freshClient(url))))
  })
})
