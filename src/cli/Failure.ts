/** Expected failures as one screen of text: what failed, which one, and what to change. A stack only for a defect. */
import * as Cause from "effect/Cause"
import * as Schema from "effect/Schema"

/** A command that did not do its work. An empty message: everything was said already. */
export class Failure extends Schema.TaggedError<Failure>()("Failure", {
  message: Schema.String,
  exitCode: Schema.Int
}) {}

export const failure = (message: string): Failure => new Failure({ message, exitCode: 1 })

/** Why a call did not arrive: `fetch` keeps it in the cause, and a name of several addresses has one reason for each. */
export const unreached = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  if (error instanceof AggregateError && error.errors.length > 0) return unreached(error.errors[0])
  return error instanceof TypeError && error.cause !== undefined ? unreached(error.cause) : error.message
}

/** Exit codes, as docs/cli.md lists them. */
export const exitCodes = { failed: 1, usage: 2, restart: 75, interrupted: 130 } as const

export interface Explained {
  readonly text: string
  readonly exitCode: number
}

/** Errors whose own message says what to change. */
const spoken: ReadonlySet<string> = new Set([
  "SettingsError", "ServeError", "PgliteError", "MasterKeyError", "SimulatorError", "MigrationError", "ClusterError", "StoreError", "SealBroken",
  "DataDirectoryError", "FileStoreError", "ConfigFileError"
])

const fieldOf = (value: unknown, field: string): unknown =>
  typeof value === "object" && value !== null ? Reflect.get(value, field) : undefined

const textOf = (value: unknown, field: string): string => {
  const found = fieldOf(value, field)
  return typeof found === "string" ? found : ""
}

/** SQLSTATE of a server that answers and has no database of this name. */
const databaseMissing = "3D000"
/** SQLSTATE of a server that takes no writes, such as a standby. */
const readOnly = "25006"

const sqlText = (error: unknown): string => {
  const reason = fieldOf(error, "reason")
  const message = textOf(reason, "message") || textOf(error, "message")
  const code = textOf(fieldOf(reason, "cause"), "code")
  if (code === readOnly) {
    return `The database takes no writes: ${message}\nLet DATABASE_URL name the primary, or make the database writable.`
  }
  if (code === databaseMissing) {
    const name = /"([^"]+)"/.exec(message)?.[1] ?? "<name>"
    return `The database cannot be opened: ${message}\nCreate it (createdb ${name}), or mend DATABASE_URL.`
  }
  switch (textOf(reason, "_tag")) {
    case "ConnectionError":
      return `The database cannot be reached: ${message}\nStart the server, or mend DATABASE_URL; unset, an embedded Postgres in the data directory is used.`
    case "AuthenticationError":
    case "AuthorizationError":
      return `The database refuses this user: ${message}\nMend the user or password in DATABASE_URL, or grant the rights.`
    default:
      return `The database failed: ${message}`
  }
}

/** A refusal of the management services: its message, and the fields it names. */
export const refusalText = (refusal: unknown): string => {
  const body = fieldOf(refusal, "error")
  const details = fieldOf(body, "details")
  const lines = Array.isArray(details) ? details.map((issue: unknown) => `  ${textOf(issue, "field")}: ${textOf(issue, "message")}`) : []
  return [textOf(body, "message"), ...lines].join("\n")
}

const explainOne = (error: unknown): Explained | null => {
  if (error instanceof Failure) return { text: error.message, exitCode: error.exitCode }
  const tag = textOf(error, "_tag")
  // effect/cli has printed the help and the errors already.
  if (tag === "ShowHelp") {
    const errors = fieldOf(error, "errors")
    return { text: "", exitCode: Array.isArray(errors) && errors.length > 0 ? exitCodes.usage : 0 }
  }
  if (tag === "Refusal") return { text: refusalText(error), exitCode: exitCodes.failed }
  if (tag === "SqlError") return { text: sqlText(error), exitCode: exitCodes.failed }
  if (!spoken.has(tag)) return null
  const cause = fieldOf(error, "cause")
  return tag === "MigrationError" && textOf(cause, "_tag") === "SqlError"
    ? { text: `${textOf(error, "message")}\n${sqlText(cause)}`, exitCode: exitCodes.failed }
    : { text: textOf(error, "message"), exitCode: exitCodes.failed }
}

/** What the person in front of the terminal reads, and the exit code. */
export const explain = (cause: Cause.Cause<unknown>): Explained => {
  for (const reason of cause.reasons) {
    const known = Cause.isFailReason(reason) ? explainOne(reason.error) : Cause.isDieReason(reason) ? explainOne(reason.defect) : null
    if (known !== null) return known
  }
  return { text: `This should not happen; please report it with the lines below.\n\n${Cause.pretty(cause)}`, exitCode: exitCodes.failed }
}
