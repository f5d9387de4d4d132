/** The database that a first start takes from a file: the same as initdb and the migrations make, and without tables that they do not make. */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as SqlClient from "effect/sql/SqlClient"
import * as Migrations from "#src/Migrations.ts"
import * as FreshDatabase from "#src/platform/postgres/pglite/freshDatabase.ts"
import * as PostgresClient from "#src/platform/postgres/PostgresClient.ts"
import { migratedDirectory, temporaryDirectory } from "#test/support/postgres.ts"

/** Everything that the migrations decide, as text. */
const schema = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  return yield* Effect.all([
    sql`SELECT migration_id, name FROM gateway_migrations ORDER BY 1`,
    sql`SELECT table_name, column_name, data_type, is_nullable, column_default, collation_name, generation_expression
      FROM information_schema.columns WHERE table_schema = 'public' ORDER BY 1, 2`,
    sql`SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1`,
    sql`SELECT conrelid::regclass::text AS "table", conname, pg_get_constraintdef(oid) AS definition
      FROM pg_constraint WHERE connamespace = 'public'::regnamespace ORDER BY 1, 2`,
    sql`SELECT proname, pg_get_functiondef(oid) AS definition FROM pg_proc WHERE pronamespace = 'public'::regnamespace ORDER BY 1, 2`,
    sql`SELECT pg_get_triggerdef(oid) AS definition FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1`,
    sql`SELECT relname, relkind, reloptions FROM pg_class WHERE relnamespace = 'public'::regnamespace ORDER BY 1`,
    sql`SELECT sequencename, last_value FROM pg_sequences ORDER BY 1`
  ])
})

/** What a database holds, and where it comes from. */
const facts = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const [origin] = yield* sql<{ readonly id: string }>`SELECT system_identifier::text AS id FROM pg_control_system()`
  const databases = yield* sql<{ readonly name: string }>`SELECT datname AS name FROM pg_database ORDER BY 1`
  const tables = yield* sql<{ readonly name: string }>`SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'`
  const filled: Array<string> = []
  for (const { name } of tables) if ((yield* sql`SELECT 1 FROM ${sql(name)} LIMIT 1`).length > 0) filled.push(name)
  const [buffers] = yield* sql<{ readonly bytes: number }>`SELECT setting::float8 * 8192 AS bytes FROM pg_settings WHERE name = 'shared_buffers'`
  return { origin: origin?.id ?? "", databases: databases.map(({ name }) => name), filled: filled.sort(), bufferBytes: buffers?.bytes ?? 0 }
})

const withDatabase = <A, E>(dataDir: string, use: Effect.Effect<A, E, SqlClient.SqlClient>) =>
  Effect.provide(use, PostgresClient.pgliteLayer({ dataDir }))

describe("the packed database", () => {
  it("is there for the installed version of PGlite, and is small", () => {
    assert.isTrue(fs.existsSync(FreshDatabase.file()), "run `npm run fresh-database`, and delete the older file")
    assert.isBelow(fs.statSync(FreshDatabase.file()).size, 1_500_000)
    const folder = path.dirname(FreshDatabase.file())
    assert.lengthOf(fs.readdirSync(folder).filter((name) => name.endsWith(".br")), 1, "an older file is to be deleted")
  })

  it("tells all that it wrote, because that is what a first start flushes", () => {
    const directory = fs.mkdtempSync(path.join(os.tmpdir(), "gateway-unpacked-"))
    try {
      const written = FreshDatabase.unpack(directory) ?? assert.fail("nothing is packed")
      const found = fs.readdirSync(directory, { recursive: true, encoding: "utf8" }).map((entry) => path.join(directory, entry))
      assert.isAbove(found.length, 500)
      assert.deepStrictEqual(written.toSorted(), [directory, ...found].toSorted())
    } finally {
      fs.rmSync(directory, { recursive: true, force: true })
    }
  })

  it.live("two first starts share its origin, and differ from one by initdb", () =>
    Effect.gen(function*() {
      const [one, other] = [yield* temporaryDirectory, yield* temporaryDirectory]
      const [first, second] = [yield* withDatabase(one, facts), yield* withDatabase(other, facts)]
      assert.deepStrictEqual(first, second)
      assert.deepStrictEqual(first.databases, ["postgres"])
      assert.deepStrictEqual(first.filled, ["gateway_migrations"])
      assert.isAtMost(first.bufferBytes, 16 * 1024 * 1024)
      assert.notStrictEqual((yield* withDatabase(yield* migratedDirectory, facts)).origin, first.origin)
      // It is a database like any other afterwards.
      assert.deepStrictEqual((yield* withDatabase(one, facts)), first)
    }).pipe(Effect.scoped), 120_000)

  it.live("with this release's migrations it has the schema that they make on a database of initdb", () =>
    Effect.gen(function*() {
      const packed = yield* withDatabase(yield* temporaryDirectory, Effect.andThen(Migrations.run, schema))
      const made = yield* withDatabase(yield* migratedDirectory, schema)
      // Another answer: a migration that is in the file was changed. `npm run fresh-database` makes the file anew.
      assert.deepStrictEqual(packed, made)
    }).pipe(Effect.scoped), 120_000)
})
