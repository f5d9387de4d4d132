/**
 * What a server's background processes do and PGlite's single backend does not: checkpoints, so that the write-ahead log
 * and the recovery after a crash stay short, and vacuum, so that tables and transaction ids do not run out.
 *
 * It works between two statements of the session, never inside a transaction, at most one table per turn.
 */
import type { PGlite } from "@electric-sql/pglite"
import * as Ticker from "#actors/Ticker.ts"
import type { MaintenanceOptions } from "./protocol.ts"

/** ms between two looks at the database while it is used. */
const defaultEvery = 30_000
/** Bytes of write-ahead log after which a checkpoint is due. */
const defaultWalBytes = 48 * 1024 * 1024
/** ms after which a checkpoint is due when anything was written. */
const checkpointAge = 300_000
/** Rows that may be dead or unseen by the planner, beside a share of the table. */
const slackRows = 50
/** Transactions after which every table is frozen; the hard end is at two billion. */
const freezeAge = 150_000_000

const walQuery = `
  SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), redo_lsn)::float8 AS bytes,
    extract(epoch FROM now() - checkpoint_time)::float8 * 1000 AS age,
    (SELECT age(datfrozenxid) FROM pg_database WHERE datname = current_database()) AS xids
  FROM pg_control_checkpoint()`

const tableQuery = `
  SELECT quote_ident(schemaname) || '.' || quote_ident(relname) AS name
  FROM pg_stat_user_tables
  WHERE n_dead_tup > ${slackRows} + 0.2 * n_live_tup OR n_mod_since_analyze > ${slackRows} + 0.1 * n_live_tup
  ORDER BY n_dead_tup DESC LIMIT 1`

export interface Maintenance {
  /** Tells that the session used the server; `idle` when it stands between two statements, outside any transaction. */
  readonly used: (bytes: number, idle: boolean) => void
  readonly stop: () => void
}

/**
 * Starts the timer. `exclusive` runs a task while no message of the session is served; failures are warnings. What writes goes through
 * `statement`, because PGlite's own `exec` waits for ever for a server that gave up.
 */
export const make = (
  database: PGlite,
  statement: (sql: string) => Promise<void>,
  exclusive: (task: () => Promise<void>) => void,
  options: MaintenanceOptions
): Maintenance => {
  const every = options.every ?? defaultEvery
  const walBytes = options.walBytes ?? defaultWalBytes
  let [idle, due, fresh, bytes] = [true, false, false, 0]

  const work = async (): Promise<void> => {
    const [state] = (await database.query<{ bytes: number; age: number; xids: number }>(walQuery)).rows
    if (state === undefined) return
    if (state.bytes >= walBytes || (state.bytes > 0 && state.age >= checkpointAge)) await statement("CHECKPOINT")
    if (state.xids >= freezeAge) return await statement("VACUUM (FREEZE, ANALYZE)")
    const [table] = (await database.query<{ name: string }>(tableQuery)).rows
    if (table !== undefined) await statement(`VACUUM (ANALYZE) ${table.name}`)
  }

  const turn = (): void =>
    exclusive(async () => {
      if (!due || !idle) return
      due = false
      fresh = false
      bytes = 0
      try {
        await work()
      } catch (error) {
        process.emitWarning(`Maintenance of the embedded Postgres failed: ${String(error)}`)
      }
    })

  const stop = Ticker.warning("Maintenance of the embedded Postgres").every(every, () => {
    if (fresh) due = true
    if (due) turn()
  })

  return {
    used: (received, isIdle) => {
      idle = isIdle
      fresh = true
      bytes += received
      if (bytes >= walBytes) due = true
      if (due && idle) turn()
    },
    stop
  }
}
