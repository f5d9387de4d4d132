import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, mints, reads } from "#schemas/api/Access.ts"
import { integer, Message, text } from "#schemas/api/fields.ts"
import { Contents } from "./archive/Header.ts"
import { Reason } from "./BackupDirectory.ts"

export const BackupView = Schema.Struct({
  id: Schema.String,
  filename: Schema.String,
  /** Bytes. */
  size: Schema.Int,
  /** ISO 8601. */
  createdAt: Schema.String,
  reason: Reason
}).annotate({ identifier: "Backup" })
export interface BackupView extends Schema.Schema.Type<typeof BackupView> {}

const Rows = Schema.Record(Schema.String, Schema.Int)
/** What an archive held. `records`: what is configured, and keys; `all`: the ledger and the audit log, too. */
const archive = {
  contents: Contents,
  /** When the archive was made, ISO 8601. */
  createdAt: Schema.String,
  /** Its rows by table. */
  rows: Rows
}

const path = "/api/db-backups"
const Bytes = Schema.Uint8Array.pipe(HttpApiSchema.asUint8Array({ contentType: "application/octet-stream" }))

const StorageView = Schema.Struct({
  driver: Schema.Literals(["pglite", "postgres"]),
  /** Directory of the embedded database; null with a Postgres server. */
  dbPath: Schema.NullOr(Schema.String),
  /** Of the database on its disk. */
  sizeBytes: Schema.Int,
  /** Of the newest backup of this node, ISO 8601. */
  lastBackupAt: Schema.NullOr(Schema.String),
  backupCount: Schema.Int,
  /** Of the audit log, and of the ledger; 0 = for ever. */
  retentionDays: Schema.Struct({ app: Schema.Int, call: Schema.Int }),
  /** Null: no table is bounded by its rows. */
  tableMaxRows: Schema.Null,
  /** Backups that a node keeps at most. */
  backupRetention: Schema.Int,
  dataDir: Schema.String
})

/** Backups of the records. Each of them can bring back credentials: all need a session or an admin's credential. */
export const BackupsGroup = HttpApiGroup.make("backups").add(
  HttpApiEndpoint.get("list", path, { success: Schema.Struct({ backups: Schema.Array(BackupView) }) })
    .annotate(Access, mints).annotate(OpenApi.Summary, "Backups in the data directory of this node, newest first"),
  HttpApiEndpoint.put("create", path, {
    success: Schema.Union([Schema.Struct({ created: Schema.Literal(true), ...BackupView.fields }), Message])
  }).annotate(Access, mints).annotate(OpenApi.Summary, "Make a backup of the records; `message` says why none was made"),
  HttpApiEndpoint.post("restore", path, {
    payload: Schema.Struct({ backupId: text(1, 200) }),
    success: Schema.Struct({ restored: Schema.Literal(true), backupId: Schema.String, preRestoreBackupId: Schema.String, ...archive })
  }).annotate(Access, mints).annotate(OpenApi.Summary, "Bring back the records of a backup; what was there is backed up before"),
  HttpApiEndpoint.delete("clean", path, {
    payload: Schema.Struct({
      /** Newest backups that stay; 1 when absent. */
      keepLatest: Schema.optionalKey(integer(1, 200)),
      /** Of the others, those that are younger stay, too; 0 when absent. */
      retentionDays: Schema.optionalKey(integer(0, 3650))
    }),
    success: Schema.Struct({ cleaned: Schema.Literal(true), keepLatest: Schema.Int, retentionDays: Schema.Int, deleted: Schema.Int })
  }).annotate(Access, mints).annotate(OpenApi.Summary, "Remove old backups"),
  HttpApiEndpoint.get("export", `${path}/export`, { success: Bytes })
    .annotate(Access, mints).annotate(OpenApi.Summary, "Download the records as a sealed archive")
    .annotate(OpenApi.Description, "With the header `x-backup-passphrase` (12 to 1024 characters) a gateway with another master secret can import it"),
  HttpApiEndpoint.get("exportAll", `${path}/exportAll`, { success: Bytes })
    .annotate(Access, mints).annotate(OpenApi.Summary, "Download the records, the ledger and the audit log as a sealed archive"),
  HttpApiEndpoint.get("storage", "/api/storage/health", { success: StorageView })
    .annotate(Access, reads).annotate(OpenApi.Summary, "Where the records of this node lie, how large they are, and how they are kept"),
  HttpApiEndpoint.post("import", `${path}/import`, {
    success: Schema.Struct({ imported: Schema.Literal(true), preImportBackupId: Schema.String, ...archive })
  }).annotate(Access, mints).annotate(OpenApi.Summary, "Bring in an archive; what was there is backed up before")
    .annotate(OpenApi.Description, "The body is the archive itself, at most 100 MB. An archive under a passphrase needs the header `x-backup-passphrase`")
).annotateMerge(OpenApi.annotations({ title: "Backups", description: "Backups of the records, their restore, and archives for other gateways." }))
