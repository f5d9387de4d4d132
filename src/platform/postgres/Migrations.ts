/**
 * Runs the schema's versions in order by effect's Migrator: all or nothing, once, also when many nodes start together.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Migrator from "effect/sql/Migrator"
import * as SqlClient from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { Patience } from "./Slot.ts"

const table = "gateway_migrations"
/** Key of the advisory lock that one migrating node holds; any number that is not used elsewhere. */
const lockKey = 7_230_411
/** ms that a node waits for another one's migration, and that one statement of a migration may take. */
const timeout = 600_000

export interface Version {
  readonly id: number
  readonly name: string
}

export interface Status {
  readonly applied: ReadonlyArray<Version>
  readonly pending: ReadonlyArray<Version>
  /** Applied by a newer release than this one. */
  readonly unknown: ReadonlyArray<Version>
}

/** `<number>_<name>`, each number once. */
export type Versions = Readonly<Record<string, Effect.Effect<unknown, SqlError, SqlClient.SqlClient>>>

/** The schema is at this release: a store's layer asks for it, so that no query runs before the migrations. */
export class Migrated extends Context.Service<Migrated, {
  readonly applied: ReadonlyArray<Version>
  /** Makes everything of this release in the schema that stands first in the search path, which must be empty. */
  readonly build: Effect.Effect<void, SqlError, SqlClient.SqlClient>
}>()("gateway/postgres/Migrated") {}

export interface Migrations {
  /** Brings the schema to this release; answers what it did. Safe to call from every node at once. */
  readonly run: Effect.Effect<ReadonlyArray<Version>, SqlError | Migrator.MigrationError, SqlClient.SqlClient>
  /** What is applied and what is not; a database that was never migrated has everything pending. */
  readonly status: Effect.Effect<Status, SqlError | Migrator.MigrationError, SqlClient.SqlClient>
  /** Migrates while the layer is built. */
  readonly layer: Layer.Layer<Migrated, SqlError | Migrator.MigrationError, SqlClient.SqlClient>
}

export const make = (versions: Versions): Migrations => {
  const loader = Migrator.fromRecord(versions)

  const build = Effect.forEach(
    Object.keys(versions).sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10)), (name) => versions[name] ?? Effect.void, { discard: true }
  )

  const tableExists = Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const [found] = yield* sql<{ readonly exists: boolean }>`SELECT to_regclass(${table}) IS NOT NULL AS exists`
    return found?.exists === true
  })

  const run = Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const migrate = Effect.gen(function*() {
      yield* sql.unsafe(`SET LOCAL statement_timeout = ${timeout}`)
      yield* sql`SELECT pg_advisory_xact_lock(${lockKey})`
      // The Migrator looks again after a refusal, and an aborted transaction would then hide why the server refused.
      if (!(yield* tableExists)) {
        yield* sql`CREATE TABLE ${sql(table)} (migration_id integer primary key, created_at timestamp with time zone not null default now(), name text not null)`
      }
      const done = yield* Migrator.make({})({ loader, table })
      return done.map(([id, name]): Version => ({ id, name }))
    })
    return yield* sql.withTransaction(migrate).pipe(Effect.provideService(Patience, timeout))
  })

  const status = Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const known = (yield* loader).map(([id, name]): Version => ({ id, name }))
    const applied = (yield* tableExists)
      ? yield* sql<Version>`SELECT migration_id AS id, name FROM ${sql(table)} ORDER BY migration_id`
      : []
    const ids = new Set(applied.map((version) => version.id))
    return {
      applied,
      pending: known.filter((version) => !ids.has(version.id)),
      unknown: applied.filter((version) => known.every((mine) => mine.id !== version.id))
    }
  })

  /** A start goes on, because most versions only add; what it then cannot read would look like a fault of its own. */
  const tellNewer = Effect.flatMap(status, ({ unknown }) => unknown.length === 0
    ? Effect.void
    : Effect.logWarning(`The database was migrated by a newer release (${unknown.map(({ name }) => name).join(", ")}): start that release, or restore the backup from before.`))

  return { run, status, layer: Layer.effect(Migrated, Effect.map(Effect.tap(run, () => tellNewer), (applied) => ({ applied, build }))) }
}
