/**
 * The `Quotas` of one node: readings in memory, and a writer that keeps a history of them. Writes are gathered off the hot path and
 * bounded in number; a failed one costs nothing but that row.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Layer from "effect/Layer"
import * as Supervisor from "#actors/Supervisor.ts"
import { Configuration } from "#actors/ports/Configuration.ts"
import { Flags } from "#actors/ports/Flags.ts"
import { databaseSettingsOf, removedBefore, settingKey } from "#schemas/upkeep/DatabaseSettings.ts"
import type { HeldReading, QuotaReading } from "#src/routing/ports/Quotas.ts"
import { Quotas } from "#src/routing/ports/Quotas.ts"
import { QuotaReadings } from "#src/features/quotas/ports/QuotaReadings.ts"
import { QuotaStore } from "#src/features/quotas/ports/QuotaStore.ts"
import { ResilienceControl } from "#src/features/resilience/ports/ResilienceControl.ts"
import * as Headers from "./headers.ts"
import * as Preflight from "./preflight.ts"
import { QuotaTable } from "./QuotaTable.ts"
import * as Snapshots from "#src/features/quotas/ports/snapshots.ts"

const dayMs = 86_400_000
/** How long changes are gathered before the next write. */
const gather = "2 seconds"
/** How long a stop waits for the last write. */
const finalWrite = "1 second"
/** Windows that wait for a write at once; more are noted with their next change. */
const maxWaiting = 10_000
/** Windows whose last stored reading is remembered. */
const maxRemembered = 50_000
/** How often old rows are removed. */
const sweepEvery = "6 hours"
/** Rows older than this hold no window that still runs, but for monthly ones. */
const restoreMs = 32 * dayMs

/** How far back rows of other nodes are looked for: a node that was away for longer reads them from their next rows. */
const followMs = 600_000

const none: ReadonlyArray<QuotaReading> = []

const keyOf = ({ connectionId, model, reading }: HeldReading): string => `${connectionId}\n${model ?? ""}\n${reading.name}`

export const make = Effect.gen(function*() {
  const configuration = yield* Configuration
  const control = yield* ResilienceControl
  const flags = yield* Flags
  const store = yield* QuotaStore
  const clock = yield* Clock.Clock
  const fork = yield* FiberSet.makeRuntime<never, void, never>()
  const now = () => clock.currentTimeMillisUnsafe()
  const table = new QuotaTable()
  /** The last stored reading of each window. */
  const stored = new Map<string, QuotaReading>()
  let waiting = new Map<string, HeldReading>()
  let writing = false

  const flush = Effect.gen(function*() {
    const changed = waiting
    waiting = new Map()
    const { connectionById } = configuration.current()
    const rows = [...changed.values()].flatMap((held) => {
      const provider = connectionById.get(held.connectionId)?.provider
      return provider === undefined ? [] : [Snapshots.rowOf(provider, held)]
    })
    yield* store.insert(rows)
  }).pipe(Effect.catch((error) => Effect.logWarning(`Quota snapshots were not stored: ${error.message}`)))

  const writer: Effect.Effect<void> = Effect.gen(function*() {
    while (waiting.size > 0) {
      yield* Effect.sleep(gather)
      yield* flush
    }
    writing = false
  })

  const keep = (held: HeldReading): void => {
    const key = keyOf(held)
    const last = stored.get(key)
    if (!Snapshots.worthStoring(last, held.reading) || (waiting.size >= maxWaiting && !waiting.has(key))) return
    if (stored.size >= maxRemembered && last === undefined) stored.clear()
    stored.set(key, held.reading)
    waiting.set(key, held)
    if (writing) return
    writing = true
    fork(Supervisor.supervised("quota history", writer))
  }

  const restore = (sinceMs: number) => store.latest(now(), now() - sinceMs).pipe(
    Effect.map((rows) => {
      for (const row of rows) {
        if (!configuration.current().connectionById.has(row.connectionId)) continue
        const reading = Snapshots.readingOf(row)
        const key = keyOf({ connectionId: row.connectionId, model: row.model, reading })
        const known = stored.get(key)
        if (known !== undefined && known.seenAt >= reading.seenAt) continue
        table.note(row.connectionId, row.model ?? "", [reading])
        stored.set(key, reading)
      }
    }),
    Effect.catch((error) => Effect.logWarning(`Quota windows were not read from the store: ${error.message}`))
  )
  // A store that cannot be read must not keep the node from starting: it begins without knowing.
  yield* restore(restoreMs)

  const quiet = configuration.onChange(({ connectionById }) => table.keep((id) => connectionById.has(id)))
  // Before the fibers of the set are interrupted: what was learned last is written, too, unless the store holds the stop up.
  yield* Effect.addFinalizer(() => Effect.andThen(
    Effect.timeoutOrElse(Effect.interruptible(flush), { duration: finalWrite, orElse: () => Effect.void }),
    Effect.sync(quiet)
  ))

  const sweep = Effect.suspend(() => {
    const { retention } = databaseSettingsOf(configuration.current().settings.get(settingKey))
    const before = removedBefore(retention, retention.quotaSnapshots, now())
    return before === null || flags.isOn("GATEWAY_DISABLE_BACKGROUND_SERVICES") ? Effect.void : Effect.asVoid(store.removeBefore(before))
  }).pipe(Effect.catch((error) => Effect.logWarning(`Old quota snapshots were not removed: ${error.message}`)))
  fork(Supervisor.supervised("quota eviction", Effect.delay(sweep, sweepEvery)))

  const settings = () => control.settings().quotaPreflight

  const read = QuotaReadings.of({
    note: (connectionId, readings) => {
      if (!configuration.current().connectionById.has(connectionId)) return
      table.note(connectionId, "", readings)
      for (const reading of readings) keep({ connectionId, model: null, reading })
    },
    follow: restore(followMs)
  })

  return Context.make(QuotaReadings, read).pipe(Context.add(Quotas, {
    known: () => table.size > 0,
    windows: ({ connection, model }, at) => connection === null || table.size === 0 ? none : table.windows(connection.id, model, at),
    preflight: ({ connection, model }, at) => {
      if (connection === null || table.size === 0) return null
      const windows = table.windows(connection.id, model, at)
      return windows.length === 0 ? null : Preflight.blockOf(connection, windows, settings(), at)
    },
    note: ({ connection, model }, headers, seenAt) => {
      if (connection === null || !Headers.mayHold(headers)) return
      const readings = Headers.read(headers, seenAt)
      if (readings.length === 0 || !configuration.current().connectionById.has(connection.id)) return
      table.note(connection.id, model, readings)
      for (const reading of readings) keep({ connectionId: connection.id, model: reading.scope === "model" ? model : null, reading })
    },
    held: (connectionId, at) => table.held(connectionId, at),
    limitsOf: (connectionId, window) => {
      const connection = configuration.current().connectionById.get(connectionId)
      const { cutoffPercent, warningPercent } = settings()
      return connection === undefined ? { cutoffPercent, warningPercent } : Preflight.limitsOf(connection, window, settings())
    }
  }))
})

export const layer = Layer.effectContext(make)
