/** Backups of the records, their restore, and archives for other gateways. */
import * as path from "node:path"
import * as Layer from "effect/Layer"
import * as Feature from "#src/management/Feature.ts"
import * as Pglite from "#src/platform/postgres/pglite/Pglite.ts"
import { BackupsGroup } from "./api.ts"
import * as Backups from "./Backups.ts"
import { degradation } from "./degradation.ts"
import * as Http from "./http.ts"
import * as PostgresBackupRecords from "./PostgresBackupRecords.ts"
import * as ScheduledBackups from "./schedule/ScheduledBackups.ts"
import * as Storage from "./Storage.ts"

export const backups = Feature.make({
  name: "backups",
  groups: [BackupsGroup],
  handlers: Http.layer,
  stores: PostgresBackupRecords.layer,
  degradation,
  services: ({ auditDays, dataDir, databaseUrl, usageDays }) => Storage.layer({
    auditDays, usageDays, dataDir: path.resolve(dataDir), dbPath: databaseUrl === null ? Pglite.directoryIn(dataDir) : null
  }).pipe(Layer.merge(Layer.provide(ScheduledBackups.loop, ScheduledBackups.layer)), Layer.provideMerge(Backups.layer({ dataDir })))
})
