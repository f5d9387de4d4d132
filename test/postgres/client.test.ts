/** The client against a server that errs, is slow, freezes, dies and comes back. */
import * as net from "node:net"
import { afterAll, assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as SqlClient from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { DocumentStore } from "#actors/ports/Stores.ts"
import * as Migrations from "#src/Migrations.ts"
import * as PostgresClient from "#src/platform/postgres/PostgresClient.ts"
import * as PostgresDocumentStore from "#src/platform/postgres/PostgresDocumentStore.ts"
import { findServer, freshClient, freshDatabase, secrets, spawnServer, withServer } from "#test/support/postgres.ts"

const reasonOf = <A, R>(effect: Effect.Effect<A, SqlError, R>) => Effect.map(Effect.flip(effect), (error) => error.reason._tag)

const timed = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.all([Effect.sync(() => performance.now()), effect, Effect.sync(() => performance.now())]), ([from, value, to]) =>
    [value, to - from] as const)

/** Answers connections with silence. */
const silentServer = Effect.acquireRelease(
  Effect.promise(() =>
    new Promise<{ readonly port: number; readonly close: () => void }>((resolve) => {
      const sockets = new Set<net.Socket>()
      const server = net.createServer((socket) => {
        sockets.add(socket)
        socket.on("error", () => undefined)
      })
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        resolve({
          port: typeof address === "object" && address !== null ? address.port : 0,
          close: () => {
            for (const socket of sockets) socket.destroy()
            server.close()
          }
        })
      })
    })),
  (server) => Effect.sync(server.close)
)

const documents = (client: Layer.Layer<SqlClient.SqlClient, SqlError>, timeout: number) =>
  PostgresDocumentStore.layer({ timeout }).pipe(Layer.provideMerge(Layer.merge(client, secrets)))

const server = await findServer()
const spawned = server.url === null ? null : await spawnServer()
afterAll(async () => {
  await spawned?.stop()
  await server.stop()
})

describe("without a server", () => {
  it.live("a refused connection is a ConnectionError at once, and the layer still builds", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      for (let round = 0; round < 5; round++) {
        const [tag, took] = yield* timed(reasonOf(sql`SELECT 1`))
        assert.strictEqual(tag, "ConnectionError")
        // Nobody waits for the connect timeout of 5 s.
        assert.isBelow(took, 4_000)
      }
    }).pipe(Effect.provide(PostgresClient.layer({ url: Redacted.make("postgres://postgres@127.0.0.1:1/none") }))))

  it.live("a URL that cannot be read is told without quoting it", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Effect.scoped(Layer.build(PostgresClient.layer({ url: Redacted.make("postgres://me:s3cret@[bad:1/x") }))))
      assert.include(error.message, "postgres://user:password@host")
      assert.notInclude(JSON.stringify(error), "s3cret")
    }))

  it.live("a server that accepts and says nothing costs an operation its deadline, not more", () =>
    Effect.gen(function*() {
      const silent = yield* silentServer
      const client = PostgresClient.layer({ url: Redacted.make(`postgres://postgres@127.0.0.1:${silent.port}/none`), connectTimeout: 5_000 })
      const [error, took] = yield* timed(Effect.provide(
        Effect.flip(Effect.flatMap(DocumentStore, (store) => store.get("setting", "x"))),
        documents(client, 300)
      ))
      assert.deepInclude({ ...error }, { reason: "unavailable", store: "DocumentStore", operation: "get" })
      assert.isBelow(took, 4_000)
    }).pipe(Effect.scoped))
})

withServer(server, "PostgresClient", (url) => {
  const reused = freshClient(url, { poolSize: 2, statementTimeout: 1_000 })

  it.live("values come back as JavaScript means them", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const [row] = yield* sql`
        SELECT 9007199254740991::bigint AS big, 1.5::numeric AS exact, '{"a":[1,null]}'::json AS json, true AS yes,
          timestamptz '2026-01-01 00:00:00+00' AS zoned, timestamp '2026-01-01 00:00:00' AS plain, NULL AS nothing,
          ${"o'clock \0 \\ ünï"}::text AS text, ${["a", "b\"{}"]}::text[] AS list, ${[1, null]}::int[] AS numbers, ${new Uint8Array([0, 255])}::bytea AS bytes`
      const moment = new Date("2026-01-01T00:00:00Z")
      assert.deepStrictEqual({ ...row }, {
        big: 9_007_199_254_740_991, exact: 1.5, json: { a: [1, null] }, yes: true, zoned: moment, plain: moment, nothing: null,
        text: "o'clock \uFFFD \\ ünï", list: ["a", "b\"{}"], numbers: [1, null], bytes: Buffer.from([0, 255])
      })
      assert.deepStrictEqual(yield* sql`SELECT ${1}::int AS a, ${2}::int AS b`.values, [[1, 2]])
    }).pipe(Effect.provide(reused)))

  it.live("statements compile for Postgres: insert, update, values lists, in, identifiers", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      yield* sql`CREATE TABLE "odd""name" (id integer PRIMARY KEY, "Mixed" text)`
      yield* sql`INSERT INTO ${sql("odd\"name")} ${sql.insert([{ id: 1, Mixed: "a" }, { id: 2, Mixed: "b" }]).returning("id")}`
      yield* sql`UPDATE ${sql("odd\"name")} SET ${sql.update({ id: 1, Mixed: "c" }, ["id"])} WHERE id = ${1}`
      yield* sql`UPDATE ${sql("odd\"name")} SET "Mixed" = fresh."Mixed" FROM ${sql.updateValues([{ id: "2", Mixed: "d" }], "fresh")} WHERE "odd""name".id = fresh.id::integer`
      const rows = yield* sql`SELECT * FROM ${sql("odd\"name")} WHERE ${sql.in("id", [1, 2, 3])} ORDER BY id`
      assert.deepStrictEqual(rows.map((row) => ({ ...row })), [{ id: 1, Mixed: "c" }, { id: 2, Mixed: "d" }])
    }).pipe(Effect.provide(reused)))

  it.live("errors carry their class and never a row's values", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      yield* sql`CREATE TABLE strict (id integer CONSTRAINT strict_id_key PRIMARY KEY, secret text NOT NULL CHECK (secret <> 'x'))`
      yield* sql`INSERT INTO strict VALUES (1, 'canary-value')`
      assert.strictEqual(yield* reasonOf(sql`INSERT INTO strict VALUES (1, 'other')`), "UniqueViolation")
      assert.strictEqual(yield* reasonOf(sql`INSERT INTO strict VALUES (2, NULL)`), "ConstraintError")
      assert.strictEqual(yield* reasonOf(sql`SELEC 1`), "SqlSyntaxError")
      assert.strictEqual(yield* reasonOf(sql`SELECT pg_sleep(5)`), "StatementTimeoutError")
      assert.strictEqual(yield* reasonOf(sql`SELECT 1 / 0`), "UnknownError")
      const error = yield* Effect.flip(sql`UPDATE strict SET secret = 'x', id = 1`)
      assert.notInclude(JSON.stringify(error) + String(error) + String(error.stack), "canary-value")
    }).pipe(Effect.provide(reused)))

  it.live("a transaction is all or nothing; a nested one rolls back alone", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      yield* sql`CREATE TABLE steps (n integer)`
      const inner = Effect.exit(sql.withTransaction(Effect.andThen(sql`INSERT INTO steps VALUES (2)`, Effect.fail("inner"))))
      yield* sql.withTransaction(Effect.all([sql`INSERT INTO steps VALUES (1)`, inner, sql`INSERT INTO steps VALUES (3)`]))
      const outer = yield* Effect.exit(sql.withTransaction(Effect.andThen(sql`INSERT INTO steps VALUES (4)`, Effect.fail("outer"))))
      assert.isTrue(Exit.isFailure(outer))
      assert.deepStrictEqual((yield* sql<{ readonly n: number }>`SELECT n FROM steps ORDER BY n`).map((row) => row.n), [1, 3])
    }).pipe(Effect.provide(reused)))

  it.live("a connection that is lost inside a transaction commits none of it, also not what came after", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      yield* sql`CREATE TABLE lost (n integer)`
      const exit = yield* Effect.exit(sql.withTransaction(Effect.gen(function*() {
        yield* sql`INSERT INTO lost VALUES (1)`
        yield* Effect.ignore(sql`SELECT pg_terminate_backend(pg_backend_pid())`)
        yield* Effect.sleep(50)
        // A client that silently reconnects would commit this one on its own.
        yield* sql`INSERT INTO lost VALUES (2)`
      })))
      assert.isTrue(Exit.isFailure(exit))
      assert.lengthOf(yield* sql`SELECT n FROM lost`, 0)
    }).pipe(Effect.provide(reused)))

  it.live("an interrupted statement is cancelled on the server and its connection is used again", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const [before] = yield* sql`SELECT pg_backend_pid() AS pid`
      const fiber = yield* Effect.forkChild(sql`SELECT pg_sleep(20), 'to be cancelled'`)
      yield* Effect.sleep(150)
      const [, took] = yield* timed(Fiber.interrupt(fiber))
      assert.isBelow(took, 5_000)
      const [after] = yield* sql`SELECT pg_backend_pid() AS pid`
      assert.strictEqual(after?.["pid"], before?.["pid"])
      assert.lengthOf(yield* sql`SELECT 1 FROM pg_stat_activity WHERE query LIKE '%to be cancelled%' AND state = 'active' AND pid <> pg_backend_pid()`, 0)
    }).pipe(Effect.provide(freshClient(url, { poolSize: 1 }))))

  it.live("waiting for a connection counts against the deadline, and an interrupted wait leaks none", () =>
    Effect.gen(function*() {
      const database = yield* freshDatabase(url)
      const client = PostgresClient.layer({ url: Redacted.make(database), poolSize: 1 })
      yield* Effect.gen(function*() {
        yield* Migrations.run
        const [sql, store] = [yield* SqlClient.SqlClient, yield* DocumentStore]
        const holder = yield* Effect.forkChild(sql.withTransaction(Effect.sleep(2_500)))
        yield* Effect.sleep(50)
        const [error, took] = yield* timed(Effect.flip(store.get("setting", "x")))
        assert.strictEqual(error.reason, "unavailable")
        assert.isBelow(took, 2_000)
        yield* Fiber.join(holder)
        for (let index = 0; index < 5; index++) assert.isUndefined(yield* Effect.retry(store.get("setting", "x"), { times: 3 }))
      }).pipe(Effect.provide(documents(client, 300)))
    }).pipe(Effect.scoped))

  it.live("many fibers share few connections", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const pids = yield* Effect.forEach(
        Array.from({ length: 200 }, (_, index) => index),
        (index) => index % 3 === 0 ? sql.withTransaction(sql`SELECT pg_backend_pid() AS pid`) : sql`SELECT pg_backend_pid() AS pid`,
        { concurrency: "unbounded" }
      )
      assert.isAtMost(new Set(pids.map(([row]) => row?.["pid"])).size, 2)
    }).pipe(Effect.provide(reused)))

  it.live("a terminated connection heals by itself", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      for (let round = 0; round < 3; round++) {
        assert.strictEqual(yield* reasonOf(sql`SELECT pg_terminate_backend(pg_backend_pid())`), "ConnectionError")
        assert.lengthOf(yield* sql`SELECT 1`, 1)
      }
    }).pipe(Effect.provide(freshClient(url, { poolSize: 1 }))))
})

describe.skipIf(spawned === null)("a server of our own", () => {
  const url = spawned?.url ?? ""
  const client = (options: Omit<PostgresClient.Options, "url"> = {}) => PostgresClient.layer({ ...options, url: Redacted.make(url) })

  it.live("kill -9 of the server is a ConnectionError within the deadline; committed rows and the client survive it", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      yield* sql`CREATE TABLE survives AS SELECT 1 AS n`
      const waiting = yield* Effect.forkChild(reasonOf(sql`SELECT pg_sleep(30)`))
      yield* Effect.sleep(100)
      yield* Effect.promise(() => spawned?.kill() ?? Promise.resolve())
      assert.strictEqual(yield* reasonOf(sql`SELECT 1`), "ConnectionError")
      yield* Effect.promise(() => spawned?.restart() ?? Promise.resolve())
      const answer = yield* sql`SELECT n FROM survives`.pipe(Effect.retry({ times: 20 }), Effect.timeout(5_000))
      assert.lengthOf(answer, 1)
      assert.strictEqual(yield* Fiber.join(waiting), "ConnectionError")
    }).pipe(Effect.provide(client({ poolSize: 3 }))))

  it.live("a frozen connection costs each operation its deadline, is cut, and replaced", () =>
    Effect.gen(function*() {
      yield* Migrations.run
      const [sql, store] = [yield* SqlClient.SqlClient, yield* DocumentStore]
      const [row] = yield* sql<{ readonly pid: number }>`SELECT pg_backend_pid() AS pid`
      process.kill(row?.pid ?? 0, "SIGSTOP")
      const [error, took] = yield* timed(Effect.flip(store.get("setting", "x")))
      process.kill(row?.pid ?? 0, "SIGCONT")
      assert.strictEqual(error.reason, "unavailable")
      // The statement's own timeout is 10 s.
      assert.isBelow(took, 4_000)
      yield* Effect.sleep(1_200)
      // A busy machine may miss the deadline of half a second once.
      assert.isUndefined(yield* Effect.retry(store.get("setting", "x"), { times: 5 }))
    }).pipe(Effect.provide(documents(client({ poolSize: 1 }), 500))))
})
