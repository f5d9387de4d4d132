/**
 * Backups on a schedule: made on one node, in its data directory, and counted in the records, so that a start or another node repeats
 * none. One that was missed is made as soon as a node runs. Old ones of this node go; those that operators made stay.
 */
import * as Crypto from "node:crypto"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import { Configuration } from "#actors/ports/Configuration.ts"
import { Flags } from "#actors/ports/Flags.ts"
import { Placement } from "#actors/ports/Placement.ts"
import { RecordLocks } from "#actors/ports/RecordLocks.ts"
import { AuditStore, DocumentStore } from "#actors/ports/Stores.ts"
import * as Supervisor from "#actors/Supervisor.ts"
import { databaseSettingsOf, settingKey } from "#schemas/upkeep/DatabaseSettings.ts"
import { Backups } from "#src/features/backups/Backups.ts"
import * as BackupTurns from "#src/features/backups/ports/backupTurns.ts"

/** Between two looks whether one is due. */
const look = "30 seconds"
/** After a failure, ms. */
const RETRY_MS = 300_000

export class ScheduledBackups extends Context.Service<ScheduledBackups, {
  /** Whether one may ever be due. */
  readonly inUse: () => boolean
  /** Makes the one that is due, if any. A failure is logged, and tried again later. */
  readonly round: Effect.Effect<void>
}>()("gateway/features/backups/ScheduledBackups") {}

const make = Effect.gen(function*() {
  const audit = yield* AuditStore
  const backups = yield* Backups
  const configuration = yield* Configuration
  const documents = yield* DocumentStore
  const flags = yield* Flags
  const locked = (yield* RecordLocks).of("backup schedule")
  let quietUntil = Number.NEGATIVE_INFINITY

  const settings = () => databaseSettingsOf(configuration.current().settings.get(settingKey))
  const frequency = () => flags.isOn("GATEWAY_DISABLE_BACKGROUND_SERVICES") ? null : BackupTurns.frequencyOf(settings())

  const turn = Effect.map(documents.get(BackupTurns.KIND, BackupTurns.KEY), BackupTurns.turnOf)
  const write = (next: BackupTurns.Turn) => documents.put(BackupTurns.KIND, BackupTurns.KEY, next)

  /** The turn before this one; null when none is due, or another node has it. */
  const claim = (every: NonNullable<ReturnType<typeof frequency>>, now: number) => locked(Effect.gen(function*() {
    const before = yield* turn
    if (!BackupTurns.isDue(every, before, now)) return null
    yield* write({ ...before, claimedAt: now })
    return before
  }))

  const note = Effect.fnUntraced(function*(id: string, at: number, details: Readonly<Record<string, number>>) {
    yield* audit.append({
      id: Crypto.randomUUID(), timestamp: new Date(at).toISOString(), action: "backup.created", actor: "schedule", target: id, details,
      ipAddress: null, resourceType: "backup", status: "success", requestId: null
    }).pipe(Effect.catch((error) => Effect.logError(`the audit entry of backup ${id} was not stored: ${error.message}`)))
  })

  const round = Effect.gen(function*() {
    const every = frequency()
    const now = yield* Clock.currentTimeMillis
    if (every === null || now < quietUntil) return
    const before = yield* claim(every, now)
    if (before === null) return
    const { at, id, size } = yield* Effect.onError(backups.create("scheduled"), () => Effect.ignore(locked(write(before))))
    yield* locked(write({ lastAt: at, claimedAt: null }))
    const removed = yield* backups.cleanScheduled(settings().backup.keep)
    yield* note(id, at, { bytes: size, removed })
  }).pipe(Effect.catch((error) => Effect.gen(function*() {
    quietUntil = (yield* Clock.currentTimeMillis) + RETRY_MS
    yield* Effect.logWarning(`the scheduled backup was not made: ${error.message}; it is tried again in ${RETRY_MS / 60_000} minutes`)
  })))

  return ScheduledBackups.of({ inUse: () => frequency() !== null, round })
})

export const layer = Layer.effect(ScheduledBackups, make)

/** On one node for all. No timer runs for what is not in use. */
export const loop = Layer.effectDiscard(Effect.gen(function*() {
  const { inUse, round } = yield* ScheduledBackups
  const configuration = yield* Configuration
  const placement = yield* Placement
  const awake = Latch.makeUnsafe(false)
  const changed = (): void => {
    if (inUse()) awake.openUnsafe()
    else awake.closeUnsafe()
  }
  changed()
  yield* Effect.acquireRelease(Effect.sync(() => configuration.onChange(changed)), (quiet) => Effect.sync(quiet))
  yield* placement.place("scheduled backups", Supervisor.supervised("scheduled backups", Effect.andThen(awake.await, Effect.andThen(round, Effect.sleep(look)))))
}))
