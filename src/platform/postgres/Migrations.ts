/**
 * The schema's versions, run in order by effect's Migrator: all or nothing, once, also when many nodes start together.
 *
 * A new version is a new file and a new line here; one that has been released is never changed.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Migrator from "effect/sql/Migrator"
import * as SqlClient from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import configuration from "#src/platform/postgres/migrations/0001_configuration.ts"
import access from "#src/platform/postgres/migrations/0002_access.ts"
import usage from "#src/features/usage/migrations/0003_usage.ts"
import combos from "#src/features/combos/migrations/0004_combos.ts"
import webhooks from "#src/features/webhooks/migrations/0005_webhooks.ts"
import leases from "#src/features/leases/migrations/0006_leases.ts"
import limits from "#src/features/limits/migrations/0007_limits.ts"
import cache from "#src/features/cache/migrations/0008_cache.ts"
import cluster from "#src/platform/postgres/migrations/0009_cluster.ts"
import quota from "#src/features/quotas/migrations/0010_quota.ts"
import issuers from "#src/features/keys/migrations/0011_issuers.ts"
import tokenOrigin from "#src/features/tokens/migrations/0012_tokenOrigin.ts"
import clientStatus from "#src/features/usage/migrations/0013_clientStatus.ts"
import webhookSince from "#src/features/webhooks/migrations/0014_webhookSince.ts"
import { Patience } from "./Slot.ts"

const table = "gateway_migrations"
/** Key of the advisory lock that one migrating node holds; any number that nobody else uses. */
const lockKey = 7_230_411
/** ms that a node waits for another one's migration, and that one statement of a migration may take. */
const timeout = 600_000

const loader = Migrator.fromRecord({
  "1_configuration": configuration,
  "2_access": access,
  "3_usage": usage,
  "4_combos": combos,
  "5_webhooks": webhooks,
  "6_leases": leases,
  "7_limits": limits,
  "8_cache": cache,
  "9_cluster": cluster,
  "10_quota": quota,
  "11_issuers": issuers,
  "12_tokenOrigin": tokenOrigin,
  "13_clientStatus": clientStatus,
  "14_webhookSince": webhookSince
})

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

/** Brings the schema to this release; answers what it did. Safe to call from every node at once. */
export const run: Effect.Effect<ReadonlyArray<Version>, SqlError | Migrator.MigrationError, SqlClient.SqlClient> = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const migrate = Effect.gen(function*() {
    yield* sql.unsafe(`SET LOCAL statement_timeout = ${timeout}`)
    yield* sql`SELECT pg_advisory_xact_lock(${lockKey})`
    const done = yield* Migrator.make({})({ loader, table })
    return done.map(([id, name]): Version => ({ id, name }))
  })
  return yield* sql.withTransaction(migrate).pipe(Effect.provideService(Patience, timeout))
})

/** What is applied and what is not; a database that was never migrated has everything pending. */
export const status: Effect.Effect<Status, SqlError | Migrator.MigrationError, SqlClient.SqlClient> = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const known = (yield* loader).map(([id, name]): Version => ({ id, name }))
  const [found] = yield* sql<{ readonly exists: boolean }>`SELECT to_regclass(${table}) IS NOT NULL AS exists`
  const applied = found?.exists === true
    ? yield* sql<Version>`SELECT migration_id AS id, name FROM ${sql(table)} ORDER BY migration_id`
    : []
  const ids = new Set(applied.map((version) => version.id))
  return {
    applied,
    pending: known.filter((version) => !ids.has(version.id)),
    unknown: applied.filter((version) => known.every((mine) => mine.id !== version.id))
  }
})

/** The schema is at this release: a store's layer asks for it, so that no query runs before the migrations. */
export class Migrated extends Context.Service<Migrated, { readonly applied: ReadonlyArray<Version> }>()("gateway/postgres/Migrated") {}

/** Migrates while the layer is built. */
export const layer: Layer.Layer<Migrated, SqlError | Migrator.MigrationError, SqlClient.SqlClient> = Layer.effect(
  Migrated,
  Effect.map(run, (applied) => ({ applied }))
)
