/** `npm run fresh-database`: runs initdb and the migrations, and packs what they leave into the file of the installed version of PGlite. */
import * as Effect from "effect/Effect"
import * as SqlClient from "effect/sql/SqlClient"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as Migrations from "#src/Migrations.ts"
import * as FreshDatabase from "#src/platform/postgres/pglite/freshDatabase.ts"
import * as PostgresClient from "#src/platform/postgres/PostgresClient.ts"

const make = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* Migrations.run
  yield* sql`VACUUM (FREEZE, ANALYZE)`
  // The last checkpoints then stand in a new segment of the log, and the others hold nothing that a start reads.
  yield* sql`SELECT pg_switch_wal()`
  yield* sql`CHECKPOINT`
  const [log] = yield* sql<{ readonly segment: string }>`SELECT pg_walfile_name(pg_current_wal_lsn()) AS segment`
  return log?.segment ?? ""
})

const dataDir = fs.mkdtempSync(path.join(os.tmpdir(), "gateway-fresh-"))
try {
  const segment = await Effect.runPromise(make.pipe(Effect.provide(PostgresClient.pgliteLayer({ dataDir, packed: false }))))
  const bytes = FreshDatabase.pack(path.join(dataDir, "pglite"), segment)
  fs.writeFileSync(FreshDatabase.file(), bytes)
  process.stdout.write(`${FreshDatabase.file()}: ${Math.round(bytes.length / 1_000)} kB\n`)
} finally {
  fs.rmSync(dataDir, { recursive: true, force: true })
}
