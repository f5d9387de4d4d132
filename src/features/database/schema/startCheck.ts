/** Flag DB_HEALTHCHECK_STARTUP_DEFERRED_ENABLED: the schema is checked once, a while after the start, and what differs is logged. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Flags } from "#actors/ports/Flags.ts"
import * as Supervisor from "#actors/Supervisor.ts"
import { SchemaCheck } from "./SchemaCheck.ts"

/** After the start, so that it waits for nothing. */
const AFTER = "10 seconds"
/** Differences that are named. */
const NAMED = 20

export const layer = Layer.effectDiscard(Effect.gen(function*() {
  const { check } = yield* SchemaCheck
  const flags = yield* Flags
  const look = Effect.matchEffect(check, {
    onFailure: (error) => Effect.logWarning(`The schema of the database was not checked: ${error.message}`),
    onSuccess: ({ drift, parts }) => drift.length === 0
      ? Effect.logInfo(`The database has all ${parts} parts of this release's schema.`)
      : Effect.logWarning(`The database differs from this release's schema in ${drift.length} parts; POST /api/db/health mends what it can: ${
        drift.slice(0, NAMED).map(({ kind, name, problem, table }) => `${kind} ${table === "" || table === name ? name : `${table}.${name}`} is ${problem}`).join(", ")}`)
  })
  yield* Supervisor.loop("database check", Effect.suspend(() => flags.isOn("DB_HEALTHCHECK_STARTUP_DEFERRED_ENABLED") ? Effect.delay(look, AFTER) : Effect.void))
}))
