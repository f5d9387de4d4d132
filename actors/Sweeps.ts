/**
 * Housekeeping of the records: each sweep runs on one node of the gateway, at its own pace, and only removes records that are no
 * longer needed.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { LeaseRecords } from "#actors/lease/LeaseRecords.ts"
import * as Supervisor from "#actors/Supervisor.ts"
import { ClusterStore } from "#actors/ports/Nodes.ts"
import { Placement } from "#actors/ports/Placement.ts"
import { AuditStore, DocumentStore, SessionStore } from "#actors/ports/Stores.ts"
import { UsageStore } from "#actors/ports/UsageStore.ts"
import { databaseSettingsOf, removedBefore, settingKey } from "#schemas/upkeep/DatabaseSettings.ts"

export interface Sweep {
  readonly loop: Extract<Supervisor.Loop, `sweep/${string}`>
  /** In the log. */
  readonly name: string
  /** ms between the end of one run and the next. */
  readonly everyMs: number
  /** Answers how many rows or files went. */
  readonly run: Effect.Effect<number, { readonly message: string }>
}

/** Changes kept in the log: a node that was away for more reads everything anew. */
const CHANGES_KEPT = 10_000
/** A node is forgotten after this silence, ms. */
const NODE_FORGOTTEN_MS = 3_600_000
/** Delay of the first run, ms, so that a start has the store for itself. */
const FIRST_AFTER_MS = 30_000

const dayMs = 86_400_000

export interface Options {
  /** Days that ledger rows are kept, unless the setting `database` says otherwise; 0 = for ever. */
  readonly usageDays: number
  /** Days that the audit log and the changes of leases are kept; 0 = for ever. */
  readonly auditDays: number
  readonly firstAfterMs?: number | undefined
}

/** One sweep as placed work: a failed run is logged and tried again at its next turn. */
export const loop = (sweep: Sweep, firstAfterMs: number): Effect.Effect<void> =>
  Effect.suspend(() => {
    let waitMs = firstAfterMs
    const run = sweep.run.pipe(
      Effect.tap((rows) => rows === 0 ? Effect.void : Effect.logInfo(`sweep ${sweep.name} removed ${rows}`)),
      Effect.catch((error) => Effect.logWarning(`sweep ${sweep.name} failed: ${error.message}`)),
      Effect.andThen(Effect.sync(() => {
        waitMs = sweep.everyMs
      }))
    )
    return Supervisor.supervised(sweep.loop, Effect.suspend(() => {
      const afterMs = waitMs
      // A run that fails is not delayed by its pace as well.
      waitMs = 0
      return Effect.delay(run, afterMs)
    }))
  })

export const layer = (options: Options) => Layer.effectDiscard(Effect.gen(function*() {
  const placement = yield* Placement
  const cluster = yield* ClusterStore
  const documents = yield* DocumentStore
  const sessions = yield* SessionStore
  const usage = yield* UsageStore
  const audit = yield* AuditStore
  const leases = yield* LeaseRecords
  const older = <E extends { readonly message: string }>(loop: Sweep["loop"], name: string, days: number, remove: (before: number) => Effect.Effect<number, E>): ReadonlyArray<Sweep> =>
    days === 0 ? [] : [{ loop, name, everyMs: 3_600_000, run: Effect.flatMap(Clock.currentTimeMillis, (now) => remove(now - days * dayMs)) }]
  /** The setting is read at each run: a change needs no start. */
  const usageSweep = Effect.gen(function*() {
    const now = yield* Clock.currentTimeMillis
    const { retention } = databaseSettingsOf(yield* documents.get("setting", settingKey))
    const before = removedBefore(retention, retention.usageHistory ?? options.usageDays, now)
    return before === null ? 0 : yield* usage.removeBefore(before)
  })
  const sweeps: ReadonlyArray<Sweep> = [
    { loop: "sweep/nodes and changes", name: "nodes and changes", everyMs: 60_000, run: cluster.prune(CHANGES_KEPT, NODE_FORGOTTEN_MS) },
    { loop: "sweep/sessions", name: "sessions", everyMs: 3_600_000, run: Effect.flatMap(Clock.currentTimeMillis, sessions.removeExpired) },
    { loop: "sweep/usage", name: "usage", everyMs: 3_600_000, run: usageSweep },
    ...older("sweep/audit log", "audit log", options.auditDays, audit.removeBefore),
    ...older("sweep/lease changes", "lease changes", options.auditDays, leases.removeBefore)
  ]
  for (const sweep of sweeps) yield* placement.place(sweep.loop, loop(sweep, options.firstAfterMs ?? FIRST_AFTER_MS))
}))
