/** Backups of a gateway without a database: archives without rows, in a directory that goes with the scope. */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { BackupRecords } from "#src/features/backups/BackupRecords.ts"
import * as Backups from "#src/features/backups/Backups.ts"
import * as Storage from "#src/features/backups/Storage.ts"

const records = Layer.succeed(BackupRecords, {
  size: Effect.succeed(0),
  migrations: Effect.succeed([]),
  dump: (_contents, take) => take({ table: "documents", columns: ["kind", "key", "value"], rows: [] }),
  merge: () => Effect.void,
  replace: (_pages, check) => check
})

export const surface = Layer.unwrap(Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "gateway-backups-"))),
    (dataDir) => Effect.sync(() => fs.rmSync(dataDir, { recursive: true, force: true }))
  ),
  (dataDir) => Storage.layer({ dataDir, dbPath: null, auditDays: 365, usageDays: 365 }).pipe(Layer.provideMerge(Backups.layer({ dataDir })), Layer.provide(records))
))
