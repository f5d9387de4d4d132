/** Turns what postgres.js throws into effect's `SqlError`, without the statement's parameters or the row's values. */
import {
  AuthenticationError,
  AuthorizationError,
  ConnectionError,
  ConstraintError,
  DeadlockError,
  LockTimeoutError,
  SerializationError,
  SqlError,
  type SqlErrorReason,
  SqlSyntaxError,
  StatementTimeoutError,
  UniqueViolation,
  UnknownError
} from "effect/sql/SqlError"

/** What is kept of a driver error. `detail` is dropped: it quotes row values. */
export interface DriverFailure {
  readonly name: "DriverFailure"
  readonly message: string
  /** SQLSTATE, or the driver's own code (`CONNECTION_CLOSED`, `ECONNREFUSED`). */
  readonly code: string
  readonly table: string | null
  readonly constraint: string | null
  /** The server ended the connection with this error, or itself. */
  readonly fatal: boolean
}

const text = (error: unknown, field: string): string | null => {
  if (typeof error !== "object" || error === null) return null
  const value: unknown = Reflect.get(error, field)
  return typeof value === "string" && value !== "" ? value : null
}

const failureOf = (error: unknown): DriverFailure => ({
  name: "DriverFailure",
  message: text(error, "message") ?? String(error),
  code: text(error, "code") ?? "",
  table: text(error, "table_name"),
  constraint: text(error, "constraint_name"),
  fatal: ["FATAL", "PANIC"].includes(text(error, "severity") ?? "")
})

/** SQLSTATE as the server sends it; `EPIPE` and its like are not. */
const sqlState = /^(?!E)[0-9A-Z]{5}$/

/** SQLSTATE classes and codes after which the same statement may succeed on another or the same server. */
const connectionStates = ["08", "53", "57P", "25P03", "25P04", "25006", "3D000", "58"]

/** Codes by which the driver refuses a call: defects of the caller. */
const misuse = new Set(["UNDEFINED_VALUE", "MAX_PARAMETERS_EXCEEDED", "MESSAGE_NOT_SUPPORTED", "NOT_TAGGED_CALL", "UNSAFE_TRANSACTION", "COPY_IN_PROGRESS"])

/** True for a failure of the wire rather than of a statement: refused, reset, closed, timed out, TLS, shut down, out of slots. */
const isConnectionCode = (code: string): boolean =>
  sqlState.test(code) ? connectionStates.some((state) => code.startsWith(state)) : code !== "" && !misuse.has(code)

const reasonOf = (failure: DriverFailure): SqlErrorReason => {
  const { code } = failure
  const fields = { cause: failure, message: failure.message }
  if (code === "23505") return new UniqueViolation({ ...fields, constraint: failure.constraint ?? "unknown" })
  if (code.startsWith("23")) return new ConstraintError(fields)
  if (code === "57014") return new StatementTimeoutError(fields)
  if (code === "55P03") return new LockTimeoutError(fields)
  if (code === "40P01") return new DeadlockError(fields)
  if (code === "40001") return new SerializationError(fields)
  if (code === "42501") return new AuthorizationError(fields)
  if (code.startsWith("28") || code === "SASL_SIGNATURE_MISMATCH") return new AuthenticationError(fields)
  if (failure.fatal || isConnectionCode(code)) return new ConnectionError(fields)
  if (code.startsWith("42")) return new SqlSyntaxError(fields)
  return new UnknownError(fields)
}

/** Classifies a thrown driver error. */
export const fromDriver = (error: unknown): SqlError => new SqlError({ reason: reasonOf(failureOf(error)) })

/** A connection failure that the client itself found. */
export const connectionLost = (message: string): SqlError =>
  new SqlError({ reason: new ConnectionError({ cause: null, message }) })
