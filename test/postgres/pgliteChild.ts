/**
 * A process of its own that commits rows into the embedded database of argv[2] and prints each number once it is
 * committed; ready to be killed at any moment.
 */
import * as Effect from "effect/Effect"
import * as SqlClient from "effect/sql/SqlClient"
import * as PostgresClient from "#src/platform/postgres/PostgresClient.ts"

const dataDir = process.argv[2] ?? ""

const program = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE IF NOT EXISTS committed (n bigint PRIMARY KEY)`
  const [last] = yield* sql<{ readonly n: number }>`SELECT coalesce(max(n), 0) AS n FROM committed`
  for (let n = (last?.n ?? 0) + 1; ; n++) {
    yield* sql.withTransaction(sql`INSERT INTO committed ${sql.insert({ n })}`)
    process.stdout.write(`${n}\n`)
  }
})

await Effect.runPromise(program.pipe(Effect.provide(PostgresClient.pgliteLayer({ dataDir }))))
