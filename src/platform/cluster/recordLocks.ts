/** How changes of records exclude each other. */
import type * as Layer from "effect/Layer"
import type { SqlClient } from "effect/sql/SqlClient"
import type { RecordLocks } from "#actors/ports/RecordLocks.ts"
import type { Values } from "#src/platform/configuration/Settings.ts"
import * as PostgresRecordLocks from "#src/platform/postgres/PostgresRecordLocks.ts"
import * as LocalRecordLocks from "./LocalRecordLocks.ts"

/** A database of its own process has no other node. */
export const layerOf = (settings: Values): Layer.Layer<RecordLocks, never, SqlClient> =>
  settings.databaseUrl === null ? LocalRecordLocks.layer : PostgresRecordLocks.layer
