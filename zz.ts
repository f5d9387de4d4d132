import * as Effect from "effect/Effect"
import * as SqlClient from "effect/sql/SqlClient"
import * as Redacted from "effect/Redacted"
import * as P from "./src/postgres/PostgresClient.ts"
const t0 = performance.now()
const prog = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  console.log("layer ms", performance.now() - t0)
  console.log(yield* sql`select ${1}::int as a, ${"x\0y"}::text as b, 5::bigint c, 1.5::numeric d, now() e, '{"a":1}'::json j, null::text n`)
  console.log("first query ms", performance.now() - t0)
  yield* sql`create table if not exists t(a int, j json)`
  yield* sql`insert into t ${sql.insert([{a:1,j:JSON.stringify({x:"1"})},{a:2,j:JSON.stringify("s")}])}`
  console.log(yield* sql`select * from t limit 2`)
  console.log(yield* Effect.exit(sql.withTransaction(sql`insert into t(a) values (9)`.pipe(Effect.andThen(Effect.fail("no"))))), yield* sql`select count(*) c from t where a=9`)
  console.log(yield* sql.withTransaction(sql.withTransaction(sql`insert into t(a) values (9)`)))
  console.log((yield* Effect.exit(sql`select * from nope`)).toString().slice(0,300))
  const t = performance.now()
  for (let i=0;i<200;i++) yield* sql`insert into t(a) values (${i})`
  console.log("single insert us", (performance.now()-t)*5)
  console.log(yield* Effect.all(Array.from({length:5},(_, i)=>sql.withTransaction(sql`select ${i}::int as i`)),{concurrency:"unbounded"}))
  console.log(yield* sql`select name, setting from pg_settings where name in ('fsync','statement_timeout','TimeZone','synchronous_commit','max_wal_size','lc_collate')`)
  console.log(yield* sql`select 1 as a where 'x' = ANY(${["x","y"]}::text[])`)
})
const l = process.argv[2] === "pg" ? P.layer({ url: Redacted.make("postgres://postgres@127.0.0.1:5432/test") }) : P.pgliteLayer({ dataDir: process.argv[2]! })
await Effect.runPromise(prog.pipe(Effect.provide(l)) as Effect.Effect<void, unknown>)
console.log("end", performance.now()-t0, process.memoryUsage().rss/1e6)
