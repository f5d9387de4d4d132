/** The upkeep of a database that is not there. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { DatabaseOptions } from "#src/features/database/DatabaseOptions.ts"
import { SchemaCheck } from "#src/features/database/schema/SchemaCheck.ts"
import { DatabaseTables } from "#src/features/database/DatabaseTables.ts"

export const surface = Layer.mergeAll(
  Layer.succeed(DatabaseOptions, { usageDays: 365, memoryDays: 180 }),
  Layer.succeed(SchemaCheck, { check: Effect.succeed({ parts: 0, drift: [] }), repair: Effect.succeed({ parts: 0, drift: [], repaired: [], failed: [] }) }),
  Layer.succeed(DatabaseTables, { sizes: Effect.succeed({ sizeBytes: 0, tables: [] }), analyze: Effect.void, vacuum: Effect.void })
)
