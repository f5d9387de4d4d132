/** The database's tables as its upkeep sees them. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { StoreError } from "#actors/ports/StoreError.ts"
import type { Sizes } from "./api.ts"

export class DatabaseTables extends Context.Service<DatabaseTables, {
  readonly sizes: Effect.Effect<Sizes, StoreError>
  /** Counts the rows and values of the gateway's tables anew. */
  readonly analyze: Effect.Effect<void, StoreError>
  /** Frees the room of removed rows in the gateway's tables, one after another; requests go on. */
  readonly vacuum: Effect.Effect<void, StoreError>
}>()("gateway/ports/DatabaseTables") {}
