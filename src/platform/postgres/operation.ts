/** How every store runs its statements: within a deadline, with failures as `StoreError`. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { isSqlError, type SqlError, type UniqueViolation } from "effect/sql/SqlError"
import { SealBroken } from "#actors/ports/Secrets.ts"
import { StoreError } from "#actors/ports/StoreError.ts"

export interface StoreOptions {
  /** ms for one operation, the wait for a connection included; default 10000. */
  readonly timeout?: number
  /** ms that a client waits for what a request of its own needs to begin, such as a lease's generation; default 1000. */
  readonly lookUpMs?: number
}

/** What a store's effects may fail with before they become StoreError. */
export type OperationFailure = SqlError | Schema.SchemaError | SealBroken | StoreError

/** Runs an effect as the named operation of a store. */
export type RunOperation = <A, R>(operation: string, effect: Effect.Effect<A, OperationFailure, R>) => Effect.Effect<A, StoreError, R>

/** Default deadline of one store operation, ms. */
export const OPERATION_MS = 10_000

/** `<table>_<field>_key` names the field that stands in the way. */
const fieldOf = (violation: UniqueViolation): string => {
  const cause = violation.cause
  const table: unknown = typeof cause === "object" && cause !== null ? Reflect.get(cause, "table") : null
  const name = violation.constraint
  return typeof table === "string" && name.startsWith(`${table}_`) ? name.slice(table.length + 1).replace(/_(key|pkey)$/, "") : name
}

/** Builds the runner of one store. */
export const make = (store: string, options: StoreOptions = {}): RunOperation => {
  const timeout = options.timeout ?? OPERATION_MS

  const fromSql = (operation: string, error: SqlError): StoreError => {
    const fields = { store, operation, cause: error }
    const { reason } = error
    switch (reason._tag) {
      case "UniqueViolation": {
        const field = fieldOf(reason)
        return new StoreError({ ...fields, reason: "conflict", field, message: `${store}.${operation}: ${field} is taken.` })
      }
      case "ConnectionError":
      case "AuthenticationError":
      case "StatementTimeoutError":
      case "LockTimeoutError":
      case "DeadlockError":
      case "SerializationError":
        return new StoreError({ ...fields, reason: "unavailable", message: `${store}.${operation}: Postgres is not available: ${error.message}` })
      case "AuthorizationError":
      case "SqlSyntaxError":
      case "ConstraintError":
      case "UnknownError":
        return new StoreError({ ...fields, reason: "corrupt", message: `${store}.${operation}: Postgres refused: ${error.message}` })
    }
  }

  const toStoreError = (operation: string) => (error: OperationFailure): StoreError => {
    if (error instanceof StoreError) return error
    if (isSqlError(error)) return fromSql(operation, error)
    return new StoreError({ store, operation, reason: "corrupt", message: `${store}.${operation}: ${error.message}`, cause: error })
  }

  return (operation, effect) =>
    effect.pipe(
      Effect.mapError(toStoreError(operation)),
      Effect.timeoutOrElse({
        duration: timeout,
        orElse: () =>
          Effect.fail(new StoreError({ store, operation, reason: "unavailable", message: `${store}.${operation}: no answer from Postgres within ${timeout} ms.` }))
      })
    )
}

/** Rows of one statement that removes, so that a sweep holds no lock for long: a long one is many short operations, each with its own deadline. */
export const REMOVED_AT_ONCE = 1_000

/** Repeats a statement that removes at most so many rows until it finds none; answers how many went. */
export const removeAll = Effect.fnUntraced(function*<E, R>(remove: Effect.Effect<ReadonlyArray<unknown>, E, R>) {
  let removed = 0
  while (true) {
    const { length } = yield* remove
    removed += length
    if (length === 0) return removed
  }
})
