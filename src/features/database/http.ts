import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Option from "effect/Option"
import * as Semaphore from "effect/Semaphore"
import { Configuration } from "#actors/ports/Configuration.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { DocumentStore } from "#actors/ports/Stores.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import { refuseInert } from "#src/management/acting.ts"
import { answer } from "#src/management/answer.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import * as Surface from "#src/management/Surface.ts"
import * as BackupTurns from "#src/features/backups/ports/backupTurns.ts"
import * as Acting from "./acting.ts"
import { type DatabaseChange, DatabaseGroup } from "./api.ts"
import * as Changes from "./changes.ts"
import { DatabaseOptions } from "./DatabaseOptions.ts"
import { DatabaseTables } from "./DatabaseTables.ts"

const busy = Refusal.conflict("The database's upkeep runs here already: repeat the call when it is done", { code: "database_busy" })
const iso = (at: number | null): string | null => at === null ? null : new Date(at).toISOString()

export const layer = HttpApiBuilder.group(Surface.make(DatabaseGroup), "database", Effect.fn(function*(handlers) {
  const audit = yield* Audit
  const configuration = yield* Configuration
  const documents = yield* DocumentStore
  const tables = yield* DatabaseTables
  const options = yield* DatabaseOptions
  const working = Semaphore.makeUnsafe(1)

  const view = Effect.gen(function*() {
    const { settings } = configuration.current()
    const now = yield* Clock.currentTimeMillis
    const turn = BackupTurns.turnOf(yield* documents.get(BackupTurns.KIND, BackupTurns.KEY))
    const frequency = BackupTurns.frequencyOf(Changes.settingsIn(settings))
    return {
      ...Changes.viewOf(settings, options),
      schedule: { lastAt: iso(turn.lastAt), nextAt: iso(frequency === null ? null : BackupTurns.nextAt(frequency, turn, now)) }
    }
  })

  const change = Effect.fn("Database.change")(function*(input: DatabaseChange) {
    const names = Changes.namesOf(input)
    if (names.length === 0) return yield* Effect.fail(Refusal.badRequest("No valid fields to update"))
    yield* refuseInert(Acting.database, input)
    // Read under the writer's lock: two changes at once both stand.
    yield* configuration.commit(Effect.suspend(() => Effect.forEach(
      Changes.entriesOf(configuration.current().settings, input), ([key, value]) => documents.put("setting", key, value), { discard: true }
    )))
    yield* audit.note({ action: "settings.updated", resourceType: "settings", details: { changed: names.map((name) => `database.${name}`) } })
    return yield* view
  })

  /** One at a time here; answers the sizes afterwards. */
  const upkeep = (action: string, work: Effect.Effect<void, StoreError>) => Effect.gen(function*() {
    const begun = yield* Clock.currentTimeMillis
    const done = yield* Semaphore.withPermitsIfAvailable(working, 1)(work)
    if (Option.isNone(done)) return yield* Effect.fail(busy)
    const durationMs = (yield* Clock.currentTimeMillis) - begun
    const sizes = yield* tables.sizes
    yield* audit.note({ action, resourceType: "database", details: { durationMs, sizeBytes: sizes.sizeBytes } })
    return { success: true as const, durationMs, ...sizes }
  })

  return handlers.handleAll({
    get: () => answer(view),
    patch: ({ payload }) => answer(change(payload)),
    refreshStatistics: () => answer(Effect.map(upkeep("database.analyzed", tables.analyze), ({ durationMs: _ms, ...sizes }) => sizes)),
    vacuum: () => answer(upkeep("database.vacuumed", tables.vacuum))
  })
}))
