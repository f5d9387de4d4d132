/** Where records lie, how large they are, and how they are kept. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Configuration } from "#actors/ports/Configuration.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { databaseSettingsOf, settingKey } from "#schemas/upkeep/DatabaseSettings.ts"
import type { ArchiveError } from "./archive/ArchiveError.ts"
import { BackupRecords } from "./BackupRecords.ts"
import { Backups, KEPT_MAX } from "./Backups.ts"

/** As the operator set it. */
export interface Options {
  readonly dataDir: string
  /** Directory of the embedded database; null with a Postgres server. */
  readonly dbPath: string | null
  /** Days; 0 = for ever. */
  readonly auditDays: number
  readonly usageDays: number
}

export interface StorageHealth {
  readonly driver: "pglite" | "postgres"
  readonly dbPath: string | null
  readonly sizeBytes: number
  readonly lastBackupAt: string | null
  readonly backupCount: number
  readonly retentionDays: { readonly app: number; readonly call: number }
  readonly tableMaxRows: null
  readonly backupRetention: number
  readonly dataDir: string
}

export class Storage extends Context.Service<Storage, {
  readonly health: Effect.Effect<StorageHealth, StoreError | ArchiveError>
}>()("gateway/features/Storage") {}

export const layer = ({ auditDays, dataDir, dbPath, usageDays }: Options) => Layer.effect(Storage, Effect.gen(function*() {
  const records = yield* BackupRecords
  const backups = yield* Backups
  const configuration = yield* Configuration
  return Storage.of({
    health: Effect.gen(function*() {
      const sizeBytes = yield* records.size
      const kept = yield* backups.list
      const [last] = kept
      const { retention } = databaseSettingsOf(configuration.current().settings.get(settingKey))
      return {
        driver: dbPath === null ? "postgres" : "pglite", dbPath, sizeBytes,
        lastBackupAt: last === undefined ? null : new Date(last.at).toISOString(), backupCount: kept.length,
        retentionDays: { app: auditDays, call: retention.autoCleanup ? retention.usageHistory ?? usageDays : 0 }, tableMaxRows: null, backupRetention: KEPT_MAX, dataDir
      }
    })
  })
}))
