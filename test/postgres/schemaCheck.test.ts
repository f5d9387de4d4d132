/** GET and POST /api/db/health against real databases: what is missing is found and made again, and no row is touched. */
import { afterAll, assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SqlClient from "effect/sql/SqlClient"
import * as Migrations from "#src/Migrations.ts"
import * as PostgresSchemaCheck from "#src/features/database/schema/PostgresSchemaCheck.ts"
import { SchemaCheck } from "#src/features/database/schema/SchemaCheck.ts"
import { findServer, freshClient, pgliteClient, withServer } from "#test/support/postgres.ts"

const scenario = (client: Layer.Layer<SqlClient.SqlClient>) => Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const schema = yield* SchemaCheck
  const shown = Effect.map(schema.check, ({ drift }) => drift.map(({ kind, name, problem, repairable, table }) => `${kind} ${table}.${name} ${problem} ${repairable}`))

  const { drift, parts } = yield* schema.check
  assert.deepStrictEqual(drift, [])
  assert.isTrue(parts > 300, `${parts} parts`)
  const schemas = yield* sql<{ readonly name: string }>`SELECT nspname AS name FROM pg_namespace WHERE nspname = 'gateway_schema_check'`
  assert.deepStrictEqual(schemas, [])

  yield* sql`INSERT INTO documents (kind, key, value) VALUES ('setting', 'kept', '1')`
  yield* sql.unsafe("DROP INDEX compression_hours_hour")
  yield* sql.unsafe("DROP TABLE compression_batches")
  yield* sql.unsafe("ALTER TABLE quota_snapshots DROP COLUMN raw_data")
  yield* sql.unsafe("ALTER TABLE documents DISABLE TRIGGER USER")
  yield* sql.unsafe("ALTER TABLE mcp_calls ALTER COLUMN tool_name TYPE varchar(500)")
  yield* sql.unsafe("CREATE TABLE of_another_program (id text PRIMARY KEY)")
  const [trigger] = yield* sql<{ readonly name: string }>`
    SELECT tgname AS name FROM pg_trigger WHERE tgrelid = 'documents'::regclass AND NOT tgisinternal ORDER BY 1 LIMIT 1`
  yield* sql.unsafe(`DROP TRIGGER "${trigger?.name ?? ""}" ON documents`)
  const before = yield* shown
  assert.includeMembers(before, [
    "table compression_batches.compression_batches missing true", "index compression_hours.compression_hours_hour missing true",
    `trigger documents.${trigger?.name ?? ""} missing true`, "column mcp_calls.tool_name changed false"
  ])
  assert.isTrue(before.some((one) => one.startsWith("column quota_snapshots.raw_data missing")))
  assert.isFalse(before.some((one) => one.includes("of_another_program")))

  const done = yield* schema.repair
  assert.deepStrictEqual(done.failed, [])
  assert.deepStrictEqual((yield* shown).filter((one) => !one.endsWith("false")), [])
  assert.includeMembers(yield* shown, ["column mcp_calls.tool_name changed false"])
  assert.includeMembers(done.repaired.map(({ name }) => name), ["compression_batches", "compression_hours_hour", trigger?.name ?? ""])
  assert.deepStrictEqual(yield* sql<{ readonly n: number }>`SELECT count(*) AS n FROM documents WHERE key = 'kept'`, [{ n: 1 }])
  yield* sql`INSERT INTO compression_batches (id, at) VALUES ('b', 1)`

  // What the rows forbid is told, and stays.
  yield* sql.unsafe("ALTER TABLE compression_batches DROP CONSTRAINT compression_batches_id_key")
  yield* sql`INSERT INTO compression_batches (id, at) VALUES ('b', 1)`
  const refused = yield* schema.repair
  assert.deepStrictEqual(refused.failed.map(({ name }) => name), ["constraint compression_batches_id_key"])
  assert.isFalse(refused.repaired.some(({ name }) => name === "compression_batches_id_key"))
  assert.includeMembers(yield* shown, ["constraint compression_batches.compression_batches_id_key missing true"])
}).pipe(Effect.provide(PostgresSchemaCheck.layer.pipe(Layer.provideMerge(Migrations.layer), Layer.provideMerge(client))))

const server = await findServer()

describe("the check of the schema", () => {
  it.live("works on PGlite", () => Effect.orDie(scenario(pgliteClient)), 240_000)
})

withServer(server, "the check of the schema", (url) => {
  it.live("works on Postgres", () => Effect.orDie(scenario(freshClient(url))), 240_000)
})

afterAll(server.stop)
