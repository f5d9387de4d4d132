/** The embedded server: start, lock, kill -9, hang, and what it may not do to the event loop. */
import { type ChildProcess, spawn } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import type { Worker } from "node:worker_threads"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as SqlClient from "effect/sql/SqlClient"
import { SqlError } from "effect/sql/SqlError"
import * as Pglite from "#src/platform/postgres/pglite/Pglite.ts"
import { marker } from "#src/platform/postgres/pglite/protocol.ts"
import * as PostgresClient from "#src/platform/postgres/PostgresClient.ts"
import { pgliteClient, pgliteDirectory, temporaryDirectory } from "#test/support/postgres.ts"

const child = new URL("./pgliteChild.ts", import.meta.url).pathname

/** Starts the committing process and waits until it has printed `count` numbers. */
const committing = (dataDir: string, count: number): Promise<{ readonly process: ChildProcess; readonly printed: () => number }> =>
  new Promise((resolve, reject) => {
    const running = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", child, dataDir], { stdio: ["ignore", "pipe", "pipe"] })
    let [text, errors, seen] = ["", "", 0]
    running.stderr?.on("data", (data: Buffer) => (errors += data.toString()))
    running.stdout?.on("data", (data: Buffer) => {
      text += data.toString()
      const lines = text.split("\n")
      text = lines.pop() ?? ""
      seen += lines.length
      if (seen >= count) resolve({ process: running, printed: () => Number(lines.at(-1)) })
    })
    running.once("exit", () => reject(new Error(`the child ended: ${errors}`)))
  })

const killed = (running: ChildProcess): Promise<void> =>
  new Promise((resolve) => {
    running.removeAllListeners("exit")
    running.once("exit", () => resolve())
    running.kill("SIGKILL")
  })

const numbers = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ readonly n: number }>`SELECT n FROM committed ORDER BY n`
  return rows.map((row) => row.n)
})

/** Error lines of what runs inside, as `log` notes them. */
const noting = (lines: Array<string>) => Logger.layer([Logger.make<unknown, void>(({ message }) => void lines.push(String(message)))])

const openOnce = (dataDir: string) => Effect.scoped(Layer.build(PostgresClient.pgliteLayer({ dataDir })))

describe("PGlite", () => {
  it.live("a thread that dies while it owes an answer is reported, and the next statement starts another one", () => {
    const lines: Array<string> = []
    return Effect.gen(function*() {
      const born = new Promise<Worker>((resolve) => process.once("worker", resolve))
      const dataDir = yield* temporaryDirectory
      const sum = Effect.flatMap(SqlClient.SqlClient, (sql) => sql<{ readonly n: number }>`SELECT 1 + 1 AS n`)
      yield* Effect.gen(function*() {
        yield* sum
        const thread = yield* Effect.promise(() => born)
        const sql = yield* SqlClient.SqlClient
        const owed = yield* Effect.forkChild(Effect.exit(sql`SELECT pg_sleep(20)`))
        yield* Effect.yieldNow
        yield* Effect.promise(() => thread.terminate())
        yield* Fiber.await(owed)
        assert.strictEqual((yield* sum)[0]?.n, 2)
      }).pipe(Effect.provide(PostgresClient.pgliteLayer({ dataDir })))
      assert.deepStrictEqual(lines.filter((line) => line.startsWith("embedded database: a defect")).length, 1, lines.join("\n"))
    }).pipe(Effect.provide(noting(lines)))
  })

  it.live("a fresh directory becomes a database; an interrupted first start is moved aside, not deleted", () =>
    Effect.gen(function*() {
      const dataDir = yield* temporaryDirectory
      const half = path.join(dataDir, "pglite")
      fs.mkdirSync(half)
      fs.writeFileSync(path.join(half, "PG_VERSION"), "17\n")
      const sum = Effect.flatMap(SqlClient.SqlClient, (sql) => sql<{ readonly n: number }>`SELECT 1 + 1 AS n`)
      const rows = yield* Effect.provide(sum, PostgresClient.pgliteLayer({ dataDir }))
      assert.strictEqual(rows[0]?.n, 2)
      const aside = fs.readdirSync(dataDir).find((name) => name.startsWith("pglite.incomplete-"))
      assert.isTrue(fs.existsSync(path.join(dataDir, aside ?? "", "PG_VERSION")))
      assert.strictEqual(fs.statSync(half).mode & 0o077, 0)
      assert.isFalse(fs.existsSync(path.join(dataDir, "pglite.lock")), "the lock goes with the scope")
    }).pipe(Effect.scoped))

  it.live("a database that lost its version file is refused as it is, and one that lost its mark is moved aside with a warning", () => {
    const lines: Array<string> = []
    return Effect.gen(function*() {
      const dataDir = yield* pgliteDirectory
      const directory = path.join(dataDir, "pglite")
      yield* openOnce(dataDir)
      const version = path.join(directory, "PG_VERSION")
      const control = fs.readFileSync(path.join(directory, "global", "pg_control"))
      const kept = fs.readFileSync(version)
      fs.rmSync(version)
      const error = yield* Effect.flip(openOnce(dataDir))
      for (const part of [directory, "PG_VERSION", "Restore"]) assert.include(error.message, part)
      assert.isFalse(fs.existsSync(version))
      assert.isTrue(fs.readFileSync(path.join(directory, "global", "pg_control")).equals(control), "nothing is written over it")
      fs.writeFileSync(version, kept)
      fs.rmSync(path.join(directory, "gateway_initialized"))
      yield* openOnce(dataDir)
      const aside = fs.readdirSync(dataDir).find((name) => name.startsWith("pglite.incomplete-")) ?? ""
      assert.isTrue(fs.readFileSync(path.join(dataDir, aside, "global", "pg_control")).equals(control))
      assert.isTrue(lines.some((line) => line.includes(directory) && line.includes(aside)), lines.join("\n"))
    }).pipe(Effect.provide(noting(lines)), Effect.scoped)
  })

  it.live("kill -9 loses no committed row, twice over; a second process is refused while the first lives, and then takes over at once", () =>
    Effect.gen(function*() {
      const dataDir = yield* pgliteDirectory
      for (let round = 1; round <= 2; round++) {
        const running = yield* Effect.promise(() => committing(dataDir, 25))
        const error = yield* Effect.flip(openOnce(dataDir))
        assert.strictEqual(error instanceof Pglite.PgliteError ? error.reason : "", "locked")
        for (const part of [dataDir, `process ${running.process.pid}`, "GATEWAY_DATA_DIR"]) assert.include(error.message, part)
        yield* Effect.promise(() => killed(running.process))
        const found = yield* Effect.provide(numbers, PostgresClient.pgliteLayer({ dataDir }))
        assert.isAtLeast(found.length, running.printed())
        assert.deepStrictEqual(found, Array.from({ length: found.length }, (_, index) => index + 1))
      }
    }).pipe(Effect.scoped))

  it.live("a lock that the file system refuses names the directory and the variable", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(openOnce("/proc/self/task"))
      assert.strictEqual(error instanceof Pglite.PgliteError ? error.reason : "", "directory")
      for (const part of ["/proc/self/task cannot be used", "GATEWAY_DATA_DIR"]) assert.include(error.message, part)
    }))

  it.live("the same process cannot open it twice either", () =>
    Effect.gen(function*() {
      const dataDir = yield* pgliteDirectory
      yield* Layer.build(PostgresClient.pgliteLayer({ dataDir }))
      const error = yield* Effect.flip(openOnce(dataDir))
      assert.include(error.message, `process ${process.pid}`)
    }).pipe(Effect.scoped))

  it.live("a lock of another container counts while its heartbeat beats, and not after", () =>
    Effect.gen(function*() {
      const dataDir = yield* pgliteDirectory
      const lock = path.join(dataDir, "pglite.lock")
      const foreign = JSON.stringify({ pid: 1, started: "1", place: "another container", nonce: "x" })
      fs.writeFileSync(lock, foreign)
      const beat = setInterval(() => fs.utimesSync(lock, new Date(), new Date()), 300)
      const error = yield* Effect.flip(openOnce(dataDir))
      clearInterval(beat)
      assert.strictEqual(error instanceof Pglite.PgliteError ? error.reason : "", "locked")
      const old = new Date(Date.now() - 60_000)
      fs.utimesSync(lock, old, old)
      yield* openOnce(dataDir)
    }).pipe(Effect.scoped))

  it.live("a broken database says what to do and leaves no lock", () =>
    Effect.gen(function*() {
      const dataDir = yield* pgliteDirectory
      fs.rmSync(path.join(dataDir, "pglite", "global", "pg_control"))
      const error = yield* Effect.flip(openOnce(dataDir))
      assert.strictEqual(error instanceof Pglite.PgliteError ? error.reason : "", "start-failed")
      assert.include(error.message, "DATABASE_URL")
      assert.isFalse(fs.existsSync(path.join(dataDir, "pglite.lock")))
    }).pipe(Effect.scoped))

  it.live.skipIf(process.platform !== "linux")("its thread runs behind all others of the process", () =>
    Effect.gen(function*() {
      yield* Effect.flatMap(SqlClient.SqlClient, (sql) => sql`SELECT 1`)
      // Field 19 of a thread's stat is its nice value; the name before it may hold blanks.
      const niceOf = (thread: string) => Number(fs.readFileSync(`/proc/self/task/${thread}/stat`, "latin1").split(") ").at(-1)?.split(" ")[16])
      const values = fs.readdirSync("/proc/self/task").map(niceOf)
      const own = niceOf(String(process.pid))
      assert.deepStrictEqual(values.filter((value) => value > own), [Math.min(19, own + 5)])
    }).pipe(Effect.provide(pgliteClient)))

  it.live("a server that was begun before is the only one, until the scope that began it ends", () =>
    Effect.gen(function*() {
      const born: Array<Worker> = []
      const note = (thread: Worker) => void born.push(thread)
      yield* Effect.acquireRelease(Effect.sync(() => process.on("worker", note)), () => Effect.sync(() => process.off("worker", note)))
      const dataDir = yield* temporaryDirectory
      const lock = path.join(dataDir, "pglite.lock")
      yield* Effect.scoped(Effect.gen(function*() {
        const server = yield* Pglite.begin({ dataDir })
        for (let round = 1; round <= 2; round++) yield* Effect.provideService(openOnce(dataDir), Pglite.Begun, server)
        assert.strictEqual(born.length, 1)
        assert.isTrue(fs.existsSync(lock))
      }))
      assert.isFalse(fs.existsSync(lock))
    }).pipe(Effect.scoped))

  it.live("a first start that is given up is not waited for, and the next one makes the database", () =>
    Effect.gen(function*() {
      const dataDir = yield* temporaryDirectory
      yield* Effect.scoped(Pglite.begin({ dataDir }))
      assert.isFalse(fs.existsSync(path.join(dataDir, "pglite", marker)))
      yield* openOnce(dataDir)
      assert.isTrue(fs.existsSync(path.join(dataDir, "pglite", marker)))
    }).pipe(Effect.scoped))

  it.live("a server that was begun and does not start tells it to what uses it", () =>
    Effect.gen(function*() {
      const dataDir = yield* pgliteDirectory
      fs.rmSync(path.join(dataDir, "pglite", "global", "pg_control"))
      const server = yield* Pglite.begin({ dataDir })
      const error = yield* Effect.flip(Effect.provideService(openOnce(dataDir), Pglite.Begun, server))
      assert.strictEqual(error instanceof Pglite.PgliteError ? error.reason : "", "start-failed")
    }).pipe(Effect.scoped))

  it.live("its work does not stop the event loop", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      let ticks = 0
      const timer = setInterval(() => ticks++, 5)
      const began = performance.now()
      yield* sql`SELECT count(*) FROM generate_series(1, 2000000) AS n WHERE sqrt(n) > 3`
      clearInterval(timer)
      const took = performance.now() - began
      assert.isAbove(took, 50)
      assert.isAbove(ticks, took / 5 / 10)
    }).pipe(Effect.provide(pgliteClient)))

  it.live("concurrent transactions wait for each other; statements inside one do not wait for it", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      yield* sql`CREATE TABLE counter (n integer)`
      yield* sql`INSERT INTO counter VALUES (0)`
      const increment = sql.withTransaction(Effect.gen(function*() {
        const [row] = yield* sql<{ readonly n: number }>`SELECT n FROM counter`
        yield* Effect.sleep(2)
        yield* sql.withTransaction(sql`UPDATE counter SET n = ${(row?.n ?? 0) + 1}`)
      }))
      yield* Effect.all(Array.from({ length: 10 }, () => increment), { concurrency: "unbounded" })
      assert.deepStrictEqual((yield* sql<{ readonly n: number }>`SELECT n FROM counter`).map((row) => row.n), [10])
    }).pipe(Effect.provide(pgliteClient)))

  it.live("a statement that never ends is cut, and the server comes back with what was committed", () =>
    Effect.gen(function*() {
      const dataDir = yield* pgliteDirectory
      yield* Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        yield* sql`CREATE TABLE kept AS SELECT 7 AS n`
        const error = yield* Effect.flip(
          sql`WITH RECURSIVE forever(n) AS (SELECT 1 UNION ALL SELECT (n + 1) % 10 FROM forever) SELECT sum(n) FROM forever`
        )
        assert.instanceOf(error, SqlError)
        assert.strictEqual(error.reason._tag, "ConnectionError")
        assert.deepStrictEqual((yield* sql<{ readonly n: number }>`SELECT n FROM kept`).map((row) => row.n), [7])
      }).pipe(Effect.provide(PostgresClient.pgliteLayer({ dataDir, statementTimeout: 1_500 })))
    }).pipe(Effect.scoped))

  it.live("it checkpoints and vacuums by itself, without touching an open transaction", () =>
    Effect.gen(function*() {
      const dataDir = yield* pgliteDirectory
      yield* Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        const checkpoint = sql<{ readonly lsn: string }>`SELECT redo_lsn::text AS lsn FROM pg_control_checkpoint()`
        const [before] = yield* checkpoint
        yield* sql`CREATE TABLE churn AS SELECT n, repeat('x', 500) AS filler FROM generate_series(1, 8000) AS n`
        yield* sql.withTransaction(Effect.gen(function*() {
          yield* sql`UPDATE churn SET n = n + 1`
          // Long enough for several looks: none of them may run in here.
          yield* Effect.sleep(250)
          yield* sql`DELETE FROM churn WHERE n % 2 = 0`
        }))
        const vacuumed = sql`SELECT 1 FROM pg_stat_user_tables WHERE relname = 'churn' AND vacuum_count > 0`
        for (let attempt = 0; attempt < 100 && (yield* vacuumed).length === 0; attempt++) yield* Effect.sleep(50)
        assert.lengthOf(yield* vacuumed, 1)
        assert.notStrictEqual((yield* checkpoint)[0]?.lsn, before?.lsn)
        assert.deepStrictEqual((yield* sql<{ readonly n: number }>`SELECT count(*) AS n FROM churn`).map((row) => row.n), [4_000])
      }).pipe(Effect.provide(PostgresClient.pgliteLayer({ dataDir, maintenance: { every: 50, walBytes: 1_000_000 } })))
    }).pipe(Effect.scoped))
})
