import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, governs } from "#schemas/api/Access.ts"
import { SentBack, sentBack } from "#schemas/api/SentBack.ts"
import { Document, integer, partial } from "#schemas/api/fields.ts"
import { DAYS_MAX, Frequency, KEEP_MAX, RING_MAX, USAGE_DAYS_MIN } from "#schemas/upkeep/DatabaseSettings.ts"

const opt = Schema.optionalKey
const days = integer(0, DAYS_MAX)

const Logs = Schema.Struct({
  /** Bodies of calls are kept: the setting `callLogBodies`. */
  detailed: Schema.Boolean,
  /** What each step of a call did is part of what is kept. */
  pipeline: Schema.Boolean,
  /** Kilobytes of one body that are kept: the setting `callLogBodyMaxKb`. */
  maxDetailSizeKb: integer(1, 1_024),
  /** Lines of the process log that are held in memory. */
  ring: integer(0, RING_MAX)
})

const Backup = Schema.Struct({
  auto: Schema.Boolean,
  frequency: Frequency,
  /** Scheduled backups that a node keeps. */
  keep: integer(1, KEEP_MAX)
})

/** Days that records are kept; 0 = for ever, null = this gateway has no such records of their own. */
const retention = {
  quotaSnapshots: days,
  compressionAnalytics: days,
  mcpAudit: days,
  /** Calls of the ledger. */
  usageHistory: days.check(Schema.makeFilter((value: number) => value === 0 || value >= USAGE_DAYS_MIN || `0, or at least ${USAGE_DAYS_MIN}: limits count the calls of a month`)),
  /** Entries of memories, after their last change. */
  memoryEntries: days,
  /** False: none of these is removed by its age. */
  autoCleanup: Schema.Boolean
}
/** Records that this gateway does not have, or does not keep by days. */
const unkept = { a2aEvents: Schema.NullOr(days), callLogs: Schema.NullOr(days) }
const Retention = Schema.Struct({ ...retention, ...unkept })

const Aggregation = Schema.Struct({ enabled: Schema.Boolean, after: days, frequency: Schema.Literals(["daily", "weekly", "monthly"]) })

export const DatabaseChange = Schema.Struct({
  logs: opt(partial(Logs)),
  backup: opt(partial(Backup)),
  retention: opt(partial(Retention)),
  aggregation: opt(partial(Aggregation)),
  optimization: opt(Document)
})
export interface DatabaseChange extends Schema.Schema.Type<typeof DatabaseChange> {}

export const DatabaseView = Schema.Struct({
  logs: Logs,
  backup: Backup,
  retention: Retention,
  aggregation: Aggregation,
  optimization: Document,
  /** Of the backups on a schedule, ISO 8601; null when there was none, or none comes. */
  schedule: Schema.Struct({ lastAt: Schema.NullOr(Schema.String), nextAt: Schema.NullOr(Schema.String) })
}).annotate({ identifier: "DatabaseSettings" })
export interface DatabaseView extends Schema.Schema.Type<typeof DatabaseView> {}

export const Sizes = Schema.Struct({
  /** Of the whole database on its disk. */
  sizeBytes: Schema.Int,
  tables: Schema.Array(Schema.Struct({
    name: Schema.String,
    /** As the database estimates them. */
    rows: Schema.Int,
    /** Removed rows whose room is not free yet. */
    deadRows: Schema.Int,
    /** With indexes. */
    bytes: Schema.Int
  }).annotate({ identifier: "TableSize" }))
}).annotate({ identifier: "DatabaseSizes" })
export interface Sizes extends Schema.Schema.Type<typeof Sizes> {}

const path = "/api/settings/database"

/** What the database keeps, and its upkeep. */
export const DatabaseGroup = HttpApiGroup.make("database").add(
  HttpApiEndpoint.get("get", path, { success: DatabaseView })
    .annotate(Access, governs).annotate(OpenApi.Summary, "Logs, scheduled backups and retention"),
  HttpApiEndpoint.patch("patch", path, { payload: DatabaseChange, success: DatabaseView })
    .annotate(SentBack, sentBack({ moves: ["schedule"] })).annotate(Access, governs).annotate(OpenApi.Summary, "Change the given fields"),
  HttpApiEndpoint.post("refreshStatistics", `${path}/refresh-stats`, { success: Schema.Struct({ success: Schema.Literal(true), ...Sizes.fields }) })
    .annotate(Access, governs).annotate(OpenApi.Summary, "Let the database count its tables anew, for its plans of queries"),
  HttpApiEndpoint.post("vacuum", `${path}/vacuum`, {
    success: Schema.Struct({ success: Schema.Literal(true), durationMs: Schema.Int, ...Sizes.fields })
  }).annotate(Access, governs).annotate(OpenApi.Summary, "Free the room of removed rows for new ones")
).annotateMerge(OpenApi.annotations({ title: "Database", description: "What the database keeps, and its upkeep." }))
