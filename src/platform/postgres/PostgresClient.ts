/**
 * postgres.js as effect's `SqlClient`: one dialect and one client for a Postgres server and for the embedded PGlite.
 *
 * The pool lends one connection per statement or transaction. Every wait ends: connecting, a statement (on the server by
 * `statement_timeout`, here by cutting a silent connection) and an idle transaction.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Reactivity from "effect/reactivity/Reactivity"
import * as Redacted from "effect/Redacted"
import * as Semaphore from "effect/Semaphore"
import * as SqlClient from "effect/sql/SqlClient"
import type { Acquirer, Borrower } from "effect/sql/SqlConnection"
import { SqlError } from "effect/sql/SqlError"
import * as Statement from "effect/sql/Statement"
import postgres from "postgres"
import type { Values } from "#src/platform/configuration/Settings.ts"
import * as Pglite from "#src/platform/postgres/pglite/Pglite.ts"
import { Slot, type SlotOptions } from "./Slot.ts"
import { connectionLost } from "./sqlErrors.ts"
import * as Tcp from "./tcp.ts"
import { types } from "./types.ts"

/** How to reach a Postgres server; times in ms. */
export interface Options {
  /** `postgres://user:password@host[,host]:port/database?sslmode=require`; a Unix socket's directory is a percent-encoded host. */
  readonly url: Redacted.Redacted<string>
  /** Connections of this process; default 10. */
  readonly poolSize?: number
  /** Default 5000. */
  readonly connectTimeout?: number
  /** The server ends a statement after this; default 10000. */
  readonly statementTimeout?: number
  /** False behind a pooler in transaction mode; default true. */
  readonly prepare?: boolean
}

/** The embedded server; times in ms. */
export interface PgliteOptions extends Pglite.Options {
  /** Longest silence of one statement before the embedded server is started anew; default 60000. */
  readonly statementTimeout?: number
}

/** ms on top of the server's statement timeout before a silent connection is cut. */
const silenceGrace = 2_000
/** ms that running statements may take when the client closes. */
const closeGrace = 2_000
/** The server ends a transaction that waits for its client this long, ms. */
const idleTransaction = 60_000

const driverOptions = (): postgres.Options<Record<string, never>> => ({
  types: types as unknown as Record<string, never>,
  fetch_types: false,
  idle_timeout: 0,
  max_lifetime: null,
  backoff: () => 0,
  onnotice: () => undefined,
  transform: { undefined: null }
})

/** The Postgres dialect of effect's statements. */
const compiler = Statement.makeCompiler({
  dialect: "pg",
  placeholder: (index) => `$${index}`,
  onIdentifier: Statement.defaultEscape("\""),
  onRecordUpdate: (placeholders, alias, columns, values, returning) => [
    `(values ${placeholders}) AS ${alias}${columns}${returning === undefined ? "" : ` RETURNING ${returning[0]}`}`,
    returning === undefined ? values.flat() : values.flat().concat(returning[1])
  ],
  onCustom: () => ["", []]
})

/** Builds the client over `size` slots. */
const makeClient = Effect.fnUntraced(function*(
  size: number,
  slotOptions: () => SlotOptions,
  attributes: ReadonlyArray<readonly [string, unknown]>
) {
  const slots = Array.from({ length: size }, () => new Slot(slotOptions()))
  const free = [...slots]
  const permits = Semaphore.makeUnsafe(size)
  yield* Effect.addFinalizer(() => Effect.promise(() => Promise.all(slots.map((slot) => slot.close(closeGrace)))))

  // A permit is released only when its slot stands free and idle, so a taken permit always finds one.
  const take = Effect.map(permits.take(1), () => {
    const slot = free.pop()
    if (slot === undefined) throw new Error("PostgresClient: a permit without a free connection")
    return slot
  })
  const giveBack = (slot: Slot) =>
    Effect.sync(() =>
      slot.idle(() => {
        free.push(slot)
        Effect.runSync(permits.release(1))
      })
    )

  const acquirer: Acquirer = Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(restore(permits.take(1)), () => lease((slot) => slot.connection))
  )
  const transactionAcquirer: Acquirer = Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(restore(permits.take(1)), () => lease((slot) => slot.transaction()))
  )
  const borrower: Borrower = (use) =>
    Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(restore(take), (slot) => Effect.onExit(restore(use(slot.connection)), () => giveBack(slot)))
    )
  function lease(connection: (slot: Slot) => Slot["connection"]) {
    const slot = free.pop()
    if (slot === undefined) return Effect.die(new Error("PostgresClient: a permit without a free connection"))
    return Effect.as(Effect.addFinalizer(() => giveBack(slot)), connection(slot))
  }

  return yield* SqlClient.make({
    acquirer,
    transactionAcquirer,
    borrower,
    compiler,
    driver: "postgres.js",
    spanAttributes: [["db.system.name", "postgresql"], ...attributes],
    releaseSavepoint: (name) => `RELEASE SAVEPOINT ${name}`
  })
})

/** Connects lazily: a server that is away makes statements fail, not the start. */
export const make = Effect.fnUntraced(function*(options: Options) {
  const parsed = yield* Effect.try({
    try: () => postgres(Redacted.value(options.url), { max: 1 }).options,
    catch: () => connectionLost("The Postgres URL cannot be read; expected postgres://user:password@host:port/database.")
  })
  const connectTimeout = options.connectTimeout ?? 5_000
  const statementTimeout = options.statementTimeout ?? 10_000
  const named = parsed.connection.application_name
  const path = typeof parsed.path === "string" ? parsed.path : null
  const slotOptions = (): SlotOptions => ({
    driver: {
      ...driverOptions(),
      host: parsed.host[0],
      port: parsed.port[0],
      user: parsed.user,
      password: parsed.pass ?? "",
      database: parsed.database,
      ssl: parsed.ssl,
      connect_timeout: connectTimeout / 1_000,
      connection: {
        ...parsed.connection,
        application_name: named === undefined || named === "postgres.js" ? "gateway" : named,
        TimeZone: "UTC",
        statement_timeout: statementTimeout,
        idle_in_transaction_session_timeout: idleTransaction
      }
    },
    transport: Tcp.make({ hosts: parsed.host, ports: parsed.port, path, connectTimeout }),
    silence: connectTimeout + statementTimeout + silenceGrace,
    prepare: options.prepare ?? parsed.prepare
  })
  return yield* makeClient(options.poolSize ?? 10, slotOptions, [
    ["db.namespace", parsed.database],
    ["server.address", parsed.host[0]],
    ["server.port", parsed.port[0]]
  ])
})

/** `SqlClient` over a Postgres server. */
export const layer = (options: Options): Layer.Layer<SqlClient.SqlClient, SqlError> =>
  Layer.effect(SqlClient.SqlClient, make(options)).pipe(Layer.provide(Reactivity.layer))

/** Waits for the embedded server, which starts in its own thread, and talks to it over a message port: no socket is opened. */
const makePglite = Effect.fnUntraced(function*(options: PgliteOptions) {
  const server = (yield* Pglite.Begun) ?? (yield* Pglite.begin(options))
  yield* server.ready
  const silence = options.statementTimeout ?? 60_000
  const slotOptions = (): SlotOptions => ({
    driver: {
      ...driverOptions(),
      host: "pglite",
      port: 0,
      user: "postgres",
      database: "postgres",
      ssl: false,
      connect_timeout: 30,
      connection: { application_name: "gateway" }
    },
    transport: { open: server.connect, cancels: false },
    silence,
    prepare: true
  })
  return yield* makeClient(1, slotOptions, [["db.namespace", "pglite"]])
})

/** `SqlClient` over the embedded server; one connection, so transactions wait for each other. */
export const pgliteLayer = (
  options: PgliteOptions
): Layer.Layer<SqlClient.SqlClient, Pglite.PgliteError> =>
  Layer.effect(SqlClient.SqlClient, makePglite(options)).pipe(Layer.provide(Reactivity.layer))

/** The database that the operator named; without one the embedded server in the data directory. */
export const layerOf = ({ dataDir, databasePool, databaseUrl }: Values): Layer.Layer<SqlClient.SqlClient> => databaseUrl === null
  ? Layer.orDie(pgliteLayer({ dataDir }))
  : Layer.orDie(layer({ url: databaseUrl, poolSize: databasePool }))
