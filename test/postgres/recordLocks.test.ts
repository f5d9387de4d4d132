/** Two nodes, each with connections of its own to one database, change records under one lock. */
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as SqlClient from "effect/sql/SqlClient"
import { RecordLocks } from "#actors/ports/RecordLocks.ts"
import * as PostgresClient from "#src/platform/postgres/PostgresClient.ts"
import * as PostgresRecordLocks from "#src/platform/postgres/PostgresRecordLocks.ts"
import { findServer, freshDatabase, withServer } from "#test/support/postgres.ts"

const server = await findServer()

const nodeOn = (url: string, options: PostgresRecordLocks.Options, poolSize = 2) =>
  Effect.map(
    Layer.build(PostgresRecordLocks.layerWith(options).pipe(Layer.provideMerge(PostgresClient.layer({ url: Redacted.make(url), poolSize })), Layer.orDie)),
    (context) => ({ sql: Context.get(context, SqlClient.SqlClient), locked: Context.get(context, RecordLocks).of("things"), other: Context.get(context, RecordLocks).of("others") })
  )

const patient: PostgresRecordLocks.Options = { beginMs: 60_000, waitMs: 30_000 }

const twoNodes = (server: string, options: PostgresRecordLocks.Options) =>
  Effect.gen(function*() {
    const url = yield* freshDatabase(server)
    const first = yield* nodeOn(url, options)
    const second = yield* nodeOn(url, options)
    yield* first.sql`CREATE TABLE things (n integer NOT NULL)`
    yield* first.sql`INSERT INTO things VALUES (0)`
    return { first, second }
  })

type Node = Effect.Success<ReturnType<typeof nodeOn>>

/** Reads and writes in two statements, as changes of records do. */
const increment = ({ sql }: Node) => Effect.flatMap(
  sql<{ readonly n: number }>`SELECT n FROM things`,
  ([row]) => sql`UPDATE things SET n = ${(row?.n ?? 0) + 1}`
)
const countOf = ({ sql }: Node) => Effect.map(sql<{ readonly n: number }>`SELECT n FROM things`, ([row]) => row?.n)

withServer(server, "PostgresRecordLocks", (url) => {
  describe("changes of two nodes", () => {
    it.live("that read and write follow one another", () =>
      Effect.gen(function*() {
        const { first, second } = yield* twoNodes(url, patient)
        const changes = Array.from({ length: 20 }, () => [first.locked(increment(first)), second.locked(increment(second))]).flat()
        yield* Effect.all(changes, { concurrency: "unbounded" })
        assert.strictEqual(yield* countOf(first), 40)
      }).pipe(Effect.scoped))

    it.live("of different subjects do not wait; one of the same is refused when the other does not end, and works afterwards", () =>
      Effect.gen(function*() {
        const { first, second } = yield* twoNodes(url, { ...patient, waitMs: 50 })
        const holds = yield* Deferred.make<void>()
        const ends = yield* Deferred.make<void>()
        const holder = yield* Effect.forkChild(first.locked(Effect.andThen(Deferred.succeed(holds, undefined), Deferred.await(ends))))
        yield* Deferred.await(holds)
        yield* second.other(increment(second))
        const error = yield* Effect.flip(second.locked(increment(second)))
        assert.deepInclude(error, { reason: "unavailable", message: "Another node has been changing the things for 50 ms: repeat the change." })
        yield* Deferred.succeed(ends, undefined)
        yield* Fiber.join(holder)
        yield* second.locked(increment(second))
        assert.strictEqual(yield* countOf(first), 2)
      }).pipe(Effect.scoped))
  })

  it.live("a change that fails or is interrupted leaves nothing, and frees the lock", () =>
    Effect.gen(function*() {
      const { first, second } = yield* twoNodes(url, patient)
      assert.strictEqual(yield* Effect.flip(first.locked(Effect.andThen(increment(first), Effect.fail("refused" as const)))), "refused")
      const written = yield* Deferred.make<void>()
      const left = yield* Effect.forkChild(first.locked(increment(first).pipe(Effect.andThen(Deferred.succeed(written, undefined)), Effect.andThen(Effect.never))))
      yield* Deferred.await(written)
      yield* Fiber.interrupt(left)
      yield* second.locked(increment(second))
      assert.strictEqual(yield* countOf(first), 1)
    }).pipe(Effect.scoped))

  it.live("a change that gets no connection is refused in time", () =>
    Effect.gen(function*() {
      const { locked, sql } = yield* nodeOn(yield* freshDatabase(url), { ...patient, beginMs: 50 }, 1)
      const holds = yield* Deferred.make<void>()
      yield* Effect.forkChild(sql.withTransaction(Effect.andThen(Deferred.succeed(holds, undefined), Effect.never)))
      yield* Deferred.await(holds)
      const error = yield* Effect.flip(locked(Effect.void))
      assert.deepInclude(error, { reason: "unavailable", message: "RecordLocks: no answer from Postgres within 50 ms for a change of the things." })
    }).pipe(Effect.scoped))
})
