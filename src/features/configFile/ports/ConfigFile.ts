/** The configuration file of this process: applied once before it serves, and again at each SIGHUP. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { RecordKind } from "#schemas/FileOwned.ts"

/** The file cannot be read, or says what cannot be; nothing was changed. The message names every fault. */
export class ConfigFileError extends Schema.TaggedError<ConfigFileError>()("ConfigFileError", {
  file: Schema.String,
  message: Schema.String
}) {}

export const Outcome = Schema.Struct({
  kind: RecordKind,
  /** In the file. */
  name: Schema.String,
  action: Schema.Literals(["created", "adopted", "changed", "replaced", "unchanged", "removed", "refused"]),
  /** Why it was refused; the record stands as it was. */
  message: Schema.NullOr(Schema.String)
})
export interface Outcome extends Schema.Schema.Type<typeof Outcome> {}

/** What one reading of the file did. */
export const Report = Schema.Struct({
  file: Schema.String,
  /** ISO 8601. */
  at: Schema.String,
  /** Why nothing was changed; null when the file was applied. */
  error: Schema.NullOr(Schema.String),
  entries: Schema.Array(Outcome)
})
export interface Report extends Schema.Schema.Type<typeof Report> {}

export class ConfigFile extends Context.Service<ConfigFile, {
  /** Null: this process has none. */
  readonly path: string | null
  /** Reads and applies it; does nothing without one. An entry that the gateway refuses is in the report, and does not stop the others. */
  readonly apply: Effect.Effect<Report | null, ConfigFileError>
  /**
   * Applies what another gateway declares, which stands at `address`: an http(s) URL. Entries that this gateway may not take, or lacks
   * variables for, are in the report as refused. Fails where a file of its own declares the records.
   */
  readonly follow: (address: string, config: Readonly<Record<string, Schema.Json>>) => Effect.Effect<Report, ConfigFileError>
  /** What other gateways declared stays, and may be changed here again; answers how many records. */
  readonly unfollow: Effect.Effect<number, ConfigFileError>
  /** The newest report of this process. */
  readonly last: () => Report | null
}>()("gateway/features/configFile/ConfigFile") {}
