/**
 * The locks of nodes that share a Postgres server: a change is a transaction that begins with an advisory lock. The server frees the lock
 * when the transaction ends, also that of a node that died.
 *
 * Changes of one process wait here, so that those of one subject take one connection of the pool at most.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Semaphore from "effect/Semaphore"
import * as SqlClient from "effect/sql/SqlClient"
import { isSqlError, type SqlError } from "effect/sql/SqlError"
import { type RecordLock, RecordLocks } from "#actors/ports/RecordLocks.ts"
import { StoreError } from "#actors/ports/StoreError.ts"
import { OPERATION_MS } from "./operation.ts"

export interface Options {
  /** ms until a change holds its lock, the wait for a connection included. */
  readonly beginMs: number
  /** ms that a change waits for those of other nodes: some take a hundred statements, none waits for the network. */
  readonly waitMs: number
}

const failed = (subject: string, cause: SqlError, { waitMs }: Options): StoreError => new StoreError({
  store: "RecordLocks", operation: subject, reason: "unavailable", cause,
  message: cause.reason._tag === "LockTimeoutError"
    ? `Another node has been changing the ${subject} for ${waitMs} ms: repeat the change.`
    : `RecordLocks: Postgres is not available for a change of the ${subject}: ${cause.message}`
})

const noAnswer = (subject: string, { beginMs }: Options): StoreError => new StoreError({
  store: "RecordLocks", operation: subject, reason: "unavailable",
  message: `RecordLocks: no answer from Postgres within ${beginMs} ms for a change of the ${subject}.`
})

const make = Effect.fnUntraced(function*(options: Options) {
  const sql = yield* SqlClient.SqlClient
  const locks = new Map<string, RecordLock>()

  const lockOf = (subject: string): RecordLock => {
    const first = Semaphore.makeUnsafe(1)
    const begin = Effect.andThen(
      sql`SELECT set_config('lock_timeout', ${`${options.waitMs}`}, true)`,
      sql`SELECT pg_advisory_xact_lock(hashtextextended(${`gateway/${subject}`}, 0))`
    )
    return (change) => first.withPermits(1)(Effect.suspend(() => {
      let begun = false
      const mark = Effect.sync(() => {
        begun = true
      })
      const late = Effect.delay(Effect.suspend(() => begun ? Effect.never : Effect.fail(noAnswer(subject, options))), options.beginMs)
      return Effect.raceFirst(sql.withTransaction(Effect.andThen(Effect.andThen(begin, mark), change)), late).pipe(
        Effect.catchIf(isSqlError, (error) => Effect.fail(failed(subject, error, options)))
      )
    }))
  }

  return RecordLocks.of({
    of: (subject) => {
      const lock = locks.get(subject) ?? lockOf(subject)
      locks.set(subject, lock)
      return lock
    }
  })
})

export const layerWith = (options: Options): Layer.Layer<RecordLocks, never, SqlClient.SqlClient> => Layer.effect(RecordLocks, make(options))

export const layer = layerWith({ beginMs: OPERATION_MS, waitMs: 5_000 })
