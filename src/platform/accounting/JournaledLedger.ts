/**
 * The ledger: every opened attempt becomes exactly one row of the record store, through the journal. `open` and `settle` are
 * synchronous and never wait for the store; one fiber delivers in batches, another replays what dead processes left.
 */
import * as Path from "node:path"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Supervisor from "#actors/Supervisor.ts"
import { Ledger, type Reconciliation } from "#actors/request/ports/Ledger.ts"
import { UsageStore } from "#actors/ports/UsageStore.ts"
import { processIdOf } from "#src/platform/configuration/nodeId.ts"
import type { Values } from "#src/platform/configuration/Settings.ts"
import { Delivery, type DeliveryReport } from "./Delivery.ts"
import type * as Journal from "#src/platform/accounting/journal/Journal.ts"
import * as JournalOwner from "#src/platform/accounting/journal/JournalOwner.ts"
import * as JournalReplay from "#src/platform/accounting/journal/JournalReplay.ts"
import { BATCH_ROWS, LedgerCore } from "./LedgerCore.ts"
import * as Retention from "./Retention.ts"

export { BATCH_ROWS } from "./LedgerCore.ts"
/** Wait of a row for others of its batch, ms. */
export const BATCH_MS = 250
/** Least time between two batches that are not full, ms: a statement of few rows costs as much as hundreds of rows. */
export const SPACING_MS = 1000
/** How often a refused write is tried again and old segments are looked at, ms. */
export const TICK_MS = 1000
/** How often the files of dead siblings are looked for, and our lock is touched, ms. */
export const SWEEP_MS = 30_000
/** A flush that follows the start at once finds the replay running. */
const atOnce = { atOnce: true } as const
/** Time for the store to take what is left when the scope closes, ms. */
export const DRAIN_MS = 2000

export interface Options {
  /** Directory of the segments, `<data>/journal`. */
  readonly directory: string
  readonly nodeId: string
  readonly segmentBytes?: number | undefined
  /** Flush to the device so often, ms; 0 (default) = leave it to the kernel. */
  readonly fsyncIntervalMs?: number | undefined
  readonly drainMs?: number | undefined
  readonly windowRows?: number | undefined
  readonly fs?: Journal.JournalFs | undefined
  readonly schedule?: ((run: () => void) => void) | undefined
}

/** Starts the ledger; its fibers live in the scope, whose end flushes within the drain time and leaves the rest on disk. */
export const make = (options: Options): Effect.Effect<Ledger["Service"], never, UsageStore | Scope.Scope> =>
  Effect.gen(function*() {
    const store = yield* UsageStore
    const clock = yield* Clock.Clock
    const runLog = Effect.runForkWith(yield* Effect.context<never>())
    const report: DeliveryReport = (level, message, fields = {}) => {
      const log = level === "error" ? Effect.logError(message) : level === "warn" ? Effect.logWarning(message) : Effect.logInfo(message)
      runLog(Effect.annotateLogs(log, { module: "ledger", ...fields }))
    }
    const now = () => clock.currentTimeMillisUnsafe()
    const core = new LedgerCore(options, now, report)
    const { backlog, full, journal, work } = core
    const hurry = Latch.makeUnsafe(false)
    const delivery = new Delivery({ store, directory: options.directory, hurry, report })
    const replays: Array<JournalReplay.Replayed> = []
    const waiters = new Set<() => void>()
    let acknowledged = 0
    let stored = 0
    let deliveredAt = -SPACING_MS
    let replaying = 0

    const notify = () => {
      for (const waiter of waiters) waiter()
    }

    const acknowledge = (ordinal: number): void => journal.append({
      encode: (writer) => {
        writer.ack(ordinal)
        return true
      },
      written: () => {},
      failed: () => false
    })

    const batch = Effect.gen(function*() {
      yield* work.await
      if (!backlog.spilling && backlog.size < BATCH_ROWS) {
        const pause = Math.min(SPACING_MS, Math.max(BATCH_MS, deliveredAt + SPACING_MS - now()))
        yield* Effect.raceFirst(Effect.sleep(Duration.millis(pause)), full.await)
      }
      full.closeUnsafe()
      const rows = backlog.peek(BATCH_ROWS)
      if (rows.length > 0) {
        stored += yield* delivery.deliver(rows)
        deliveredAt = now()
        const ordinal = backlog.drop(rows.length)
        acknowledged = ordinal
        // The fiber's dead objects of one batch lead to those of the next, and V8's young collections count the dead of the old generation
        // as alive: rows that they still led to would all be moved there, 0.7 kB each.
        rows.length = 0
        acknowledge(ordinal)
        notify()
        yield* Retention.sweep(core, acknowledged)
      }
      while (backlog.wants(BATCH_ROWS)) yield* backlog.refill(journal.segments, report)
      if (backlog.size === 0 && !backlog.spilling) work.closeUnsafe()
      else core.wake()
    })

    const tick = Effect.sleep(Duration.millis(TICK_MS)).pipe(
      Effect.andThen(Effect.sync(() => {
        // A node that refuses requests gets none that would show that the disk is back.
        if (journal.failure !== null && journal.pending === 0) acknowledge(acknowledged)
        if (journal.pending > 0) journal.flush()
      })),
      Effect.andThen(Effect.suspend(() => Retention.sweep(core, acknowledged)))
    )

    const replayOne = (dead: JournalOwner.DeadOwner) => {
      const owner = journal.owner
      const claim = owner === null ? null : JournalOwner.claim(owner, dead)
      if (owner === null || claim === null) return Effect.void
      const replayed = JournalReplay.start()
      replays.push(replayed)
      return JournalReplay.run(claim, { delivery, report, replayed }).pipe(
        Effect.onExit((exit) =>
          Effect.sync(() => {
            if (exit._tag === "Failure") {
              replays.splice(replays.indexOf(replayed), 1)
              JournalOwner.unclaim(owner, claim)
            }
          })
        ),
        // The files of the others do not wait for it.
        Effect.catch((error) => Effect.sync(() => report("error", "the journal of a process that is gone cannot be replayed; it is tried again", { journal: claim.owner, error: error.message })))
      )
    }

    const sweep = Effect.suspend(() => {
      const owner = journal.owner
      if (owner === null) return Effect.void
      JournalOwner.touch(owner, () => {})
      replaying++
      return Effect.forEach(JournalOwner.deadOwners(owner), replayOne, { discard: true }).pipe(
        Effect.ensuring(Effect.sync(() => {
          replaying--
          notify()
        }))
      )
    })

    const pendingReplay = () => replays.reduce((sum, replay) => sum + (replay.scanned ? replay.attempts - replay.stored - replay.rejected : 0), 0)
    const left = () => core.settled - acknowledged + pendingReplay()

    const flush = (timeoutMs: number): Effect.Effect<number> =>
      Effect.gen(function*() {
        journal.flush()
        const target = core.settled
        const done = yield* Deferred.make<void>()
        const check = () => {
          if (acknowledged >= target && replaying === 0) Deferred.doneUnsafe(done, Effect.void)
          else full.openUnsafe()
        }
        waiters.add(check)
        hurry.openUnsafe()
        check()
        yield* Deferred.await(done).pipe(
          Effect.timeoutOption(Duration.millis(timeoutMs)),
          Effect.ensuring(Effect.sync(() => {
            waiters.delete(check)
            hurry.closeUnsafe()
          }))
        )
        return left()
      })

    const reconciliation = (): Reconciliation => {
      const attempts = replays.reduce((sum, replay) => sum + replay.attempts, 0)
      const storedAll = stored + replays.reduce((sum, replay) => sum + replay.stored, 0)
      const oldest = backlog.oldest
      return {
        started: core.started + attempts,
        settled: core.settled + attempts,
        journaled: core.settled + attempts - storedAll,
        stored: storedAll,
        live: core.live.size,
        gap: core.started - core.settled - core.live.size,
        oldestPendingMs: oldest === null ? 0 : Math.max(0, now() - oldest),
        lastError: journal.failure ?? delivery.lastError,
        refusing: journal.failure
      }
    }

    if (!journal.acquire()) report("error", "the usage journal is not available; requests are refused until it is", { error: journal.failure })
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        const rowsLeft = core.live.size > 0 || left() > 0
        if (journal.pending > 0 && !journal.flush()) {
          report("error", "settled rows could not be journaled before the end", { rows: journal.pending, error: journal.failure })
        }
        if (!rowsLeft) Retention.removeAll(core)
        journal.close(rowsLeft)
      })
    )
    yield* Supervisor.loop("journal delivery", batch, atOnce)
    yield* Supervisor.loop("journal retention", tick, atOnce)
    yield* Supervisor.loop("journal replay", sweep.pipe(Effect.andThen(Effect.sleep(Duration.millis(SWEEP_MS)))), atOnce)
    const fsyncMs = options.fsyncIntervalMs ?? 0
    if (fsyncMs > 0) {
      const sync = Effect.callback<void>((resume) =>
        journal.sync((error) => {
          if (error !== null) report("error", "the journal could not be flushed to the device", { error: error.message })
          resume(Effect.void)
        })
      )
      yield* Supervisor.loop("journal fsync", Effect.sleep(Duration.millis(fsyncMs)).pipe(Effect.andThen(sync)), atOnce)
    }
    // Registered last, so it runs first: the fibers still work while the store takes what is left.
    yield* Effect.addFinalizer(() =>
      Effect.gen(function*() {
        core.closing = true
        const rows = yield* flush(options.drainMs ?? DRAIN_MS)
        if (rows > 0) report("warn", "usage rows stay in the journal for the next start", { rows })
      })
    )
    /** Not from a record's own callback: it would stand before what is left of its batch. */
    const write = () => {
      if (!journal.writing) journal.flush()
    }
    return { open: core.open, settle: core.settle, journal: write, reconciliation, flush }
  })

export const layer = (options: Options): Layer.Layer<Ledger, never, UsageStore> => Layer.effect(Ledger, make(options))

/** The journal lies in the data directory, a folder for each process. */
export const layerOf = (settings: Values): Layer.Layer<Ledger, never, UsageStore> =>
  layer({ directory: Path.join(settings.dataDir, "journal"), nodeId: processIdOf(settings) })
