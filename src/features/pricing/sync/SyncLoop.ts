/**
 * Public lists are read again on a schedule, on one node for all: prices while the flag PRICING_SYNC_ENABLED is on, facts while the setting
 * `modelsDevSyncEnabled` is. What was read and when is stored, so that a start or another node repeats nothing.
 */
import * as Crypto from "node:crypto"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import { Configuration } from "#actors/ports/Configuration.ts"
import { Flags } from "#actors/ports/Flags.ts"
import { Placement } from "#actors/ports/Placement.ts"
import { AuditStore } from "#actors/ports/Stores.ts"
import * as Supervisor from "#actors/Supervisor.ts"
import type { Source, Subject } from "#schemas/catalogue/SyncedModels.ts"
import { CatalogueSync, type Outcome } from "./CatalogueSync.ts"
import { SyncOptions } from "./SyncOptions.ts"
import * as Turns from "./turns.ts"

/** Between two looks whether a list is due. */
const look = "30 seconds"
/** Of facts, where the setting `modelsDevSyncInterval` is not set. */
export const FACTS_EVERY_MS = 86_400_000

export const factSources: ReadonlyArray<Source> = ["models.dev"]

/** How often each subject is read; absent = not on a schedule. */
export const intervals = Effect.gen(function*() {
  const configuration = yield* Configuration
  const flags = yield* Flags
  const { everyMs, sources } = yield* SyncOptions
  const factsEveryMs = (): number | null => {
    const { settings } = configuration.current()
    if (settings.get("modelsDevSyncEnabled") !== true) return null
    const seconds = settings.get("modelsDevSyncInterval")
    return typeof seconds === "number" && seconds > 0 ? seconds * 1_000 : FACTS_EVERY_MS
  }
  return (): ReadonlyArray<{ readonly subject: Subject; readonly everyMs: number; readonly sources: ReadonlyArray<Source> }> => {
    if (flags.isOn("GATEWAY_DISABLE_BACKGROUND_SERVICES")) return []
    const facts = factsEveryMs()
    return [
      ...(flags.isOn("PRICING_SYNC_ENABLED") ? [{ subject: "prices" as const, everyMs, sources }] : []),
      ...(facts === null ? [] : [{ subject: "facts" as const, everyMs: facts, sources: factSources }])
    ]
  }
})

/** Reads what is due. A failure is logged, and tried again later. */
export const round = Effect.gen(function*() {
  const audit = yield* AuditStore
  const due = yield* intervals
  const { sync, turn } = yield* CatalogueSync

  const note = (subject: Subject, sources: ReadonlyArray<Source>, { modelCount, providerCount, warnings }: Outcome, at: number) => audit.append({
    id: Crypto.randomUUID(), timestamp: new Date(at).toISOString(), action: subject === "prices" ? "pricing.synced" : "models.synced", actor: "schedule",
    target: sources.join(", "), details: { modelCount, providerCount, warnings: warnings.length }, ipAddress: null,
    resourceType: subject === "prices" ? "pricing" : "model", status: "success", requestId: null
  }).pipe(Effect.catch((error) => Effect.logError(`the audit entry of synchronised ${subject} was not stored: ${error.message}`)))

  const read = Effect.fnUntraced(function*(subject: Subject, sources: ReadonlyArray<Source>, everyMs: number) {
    if (!Turns.isDue(yield* turn(subject), everyMs, yield* Clock.currentTimeMillis)) return
    const outcome = yield* sync(subject, sources, "schedule")
    if (!outcome.changed) return
    if (outcome.warnings.length > 0) yield* Effect.logWarning(`${outcome.warnings.length} warnings about synchronised ${subject}; the first: ${outcome.warnings[0]}`)
    yield* note(subject, sources, outcome, yield* Clock.currentTimeMillis)
  })

  return Effect.suspend(() => Effect.forEach(due(), ({ everyMs, sources, subject }) =>
    read(subject, sources, everyMs).pipe(Effect.catch((error) => Effect.logWarning(`${subject} of models were not synchronised: ${error.message}`))), { discard: true }))
})

/** No timer runs for what is not in use. */
export const layer = Layer.effectDiscard(Effect.gen(function*() {
  const configuration = yield* Configuration
  const placement = yield* Placement
  const due = yield* intervals
  const work = yield* round
  const awake = Latch.makeUnsafe(false)
  const changed = (): void => {
    if (due().length > 0) awake.openUnsafe()
    else awake.closeUnsafe()
  }
  changed()
  yield* Effect.acquireRelease(Effect.sync(() => configuration.onChange(changed)), (quiet) => Effect.sync(quiet))
  yield* placement.place("model catalogues", Supervisor.supervised("model catalogues", Effect.andThen(awake.await, Effect.andThen(work, Effect.sleep(look)))))
}))
