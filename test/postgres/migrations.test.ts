import * as path from "node:path"
import { afterAll, assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Redacted from "effect/Redacted"
import * as SqlClient from "effect/sql/SqlClient"
import { changeKinds } from "#actors/ports/ChangeFeed.ts"
import { explain } from "#src/cli/Failure.ts"
import * as Migrations from "#src/Migrations.ts"
import * as PostgresClient from "#src/platform/postgres/PostgresClient.ts"
import { findServer, freshClient, freshDatabase, migrationFiles, pgliteClient, withServer } from "#test/support/postgres.ts"

const names = (versions: ReadonlyArray<Migrations.Version>) => versions.map((version) => `${version.id}_${version.name}`)

/** Every file is a version: one that is not listed would never run. */
const versions = migrationFiles().map((file) => path.basename(file).replace(/^0*(.*)\.ts$/, "$1"))

const scenario = (client: Layer.Layer<SqlClient.SqlClient>) =>
  Effect.gen(function*() {
    const before = yield* Migrations.status
    assert.deepStrictEqual([names(before.applied), names(before.unknown)], [[], []])
    assert.deepStrictEqual(names(before.pending), versions)

    const done = yield* Migrations.run
    assert.deepStrictEqual(names(done), names(before.pending))
    assert.deepStrictEqual(yield* Migrations.run, [])
    const after = yield* Migrations.status
    assert.deepStrictEqual([names(after.applied), names(after.pending)], [names(before.pending), []])

    const sql = yield* SqlClient.SqlClient
    const kinds = yield* sql<{ readonly kind: string }>`
      SELECT DISTINCT split_part(encode(tgargs, 'escape'), '\\000', 1) AS kind FROM pg_trigger
      WHERE tgfoid = 'note_record_change'::regproc ORDER BY kind`
    assert.deepStrictEqual(kinds.map(({ kind }) => kind), [...changeKinds], "the kinds of changes that triggers note")
    yield* sql`INSERT INTO gateway_migrations (migration_id, name) VALUES (9999, 'from_the_future')`
    assert.deepStrictEqual(names((yield* Migrations.status).unknown), ["9999_from_the_future"])
    const lines: Array<string> = []
    const noting = Logger.layer([Logger.make(({ message }) => void lines.push(String(message)))])
    yield* Effect.provide(Layer.build(Migrations.layer), noting)
    assert.match(lines.join("\n"), /newer release \(from_the_future\)/)
  }).pipe(Effect.scoped, Effect.provide(client))

const server = await findServer()
afterAll(server.stop)

describe("migrations", () => {
  it.live("on PGlite they run once and tell what is applied and pending", () => scenario(pgliteClient))

  withServer(server, "on Postgres", (url) => {
    it.live("they run once and tell what is applied and pending", () => scenario(freshClient(url)))

    it.live("a new database that refuses the first table says why", () =>
      Effect.gen(function*() {
        const database = yield* freshDatabase(url)
        const client = PostgresClient.layer({ url: Redacted.make(database), poolSize: 1 })
        yield* Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe(`ALTER DATABASE ${new URL(database).pathname.slice(1)} SET default_transaction_read_only = on`)).pipe(Effect.provide(client))
        const { text } = explain(Cause.fail(yield* Effect.flip(Effect.provide(Migrations.run, client))))
        for (const part of ["takes no writes", "CREATE TABLE", "read-only", "DATABASE_URL"]) assert.include(text, part)
      }).pipe(Effect.scoped))

    it.live("of nodes that start at once exactly one migrates, the others wait for it", () =>
      Effect.gen(function*() {
        const database = yield* freshDatabase(url)
        const node = Effect.provide(Migrations.run, PostgresClient.layer({ url: Redacted.make(database), poolSize: 1 }))
        const done = yield* Effect.all(Array.from({ length: 6 }, () => node), { concurrency: "unbounded" })
        assert.deepStrictEqual(done.map((versions) => versions.length).sort(), [0, 0, 0, 0, 0, versions.length])
      }).pipe(Effect.scoped))

    it.live("a node whose statement timeout is short still waits for another's long migration", () =>
      Effect.gen(function*() {
        const database = yield* freshDatabase(url)
        const client = PostgresClient.layer({ url: Redacted.make(database), poolSize: 1, statementTimeout: 200, connectTimeout: 500 })
        const holder = Effect.provide(
          Effect.flatMap(SqlClient.SqlClient, (sql) =>
            sql.withTransaction(Effect.andThen(sql`SELECT pg_advisory_xact_lock(7230411)`, Effect.sleep(1_200)))),
          PostgresClient.layer({ url: Redacted.make(database), poolSize: 1 })
        )
        const [, done] = yield* Effect.all(
          [holder, Effect.andThen(Effect.sleep(150), Effect.provide(Migrations.run, client))],
          { concurrency: "unbounded" }
        )
        assert.lengthOf(done, versions.length)
      }).pipe(Effect.scoped))

    it.live("a migration that fails leaves nothing behind", () =>
      Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        yield* sql`CREATE TABLE usage (not_ours integer)`
        const error = yield* Effect.flip(Migrations.run)
        assert.include(String(error.message), "3_usage")
        const status = yield* Migrations.status
        assert.deepStrictEqual([names(status.applied), status.pending.length], [[], versions.length])
        const rows = yield* sql`SELECT 1 FROM pg_tables WHERE tablename = 'connections'`
        assert.lengthOf(rows, 0)
      }).pipe(Effect.provide(freshClient(url))))
  })
})
