/**
 * Runs the batches of the whole gateway on one node at a time: it validates their input, asks their lines, and writes their files. What
 * it knows stands in the store after each line, so that another node goes on where it stopped.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FiberMap from "effect/FiberMap"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import * as Batch from "#actors/batch/Batch.ts"
import { Placement } from "#actors/ports/Placement.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import * as Supervisor from "#actors/Supervisor.ts"
import type { BatchRecord, BatchState } from "#schemas/batches/Batch.ts"
import type { FileStoreError } from "#src/features/files/ports/FileStore.ts"
import { FileRecords } from "#src/features/files/ports/FileRecords.ts"
import * as BatchEnds from "./BatchEnds.ts"
import * as BatchFiles from "./BatchFiles.ts"
import * as BatchInput from "./BatchInput.ts"
import * as BatchLines from "./BatchLines.ts"
import { LineCalls } from "./LineCalls.ts"
import { Slots } from "./Slots.ts"
import { BatchStore } from "#src/features/batches/ports/BatchStore.ts"

export interface Options {
  /** Lines in flight at once, over all batches. */
  readonly concurrency: number
  readonly mostLines: number
  /** How often batches of other nodes and their cancellations are looked for, ms. */
  readonly pollMs: number
}

/** Batches that take turns at once; more wait for one to end, and those of one key for others. */
const MOST_RUNNING = 64
/** Wait of a runner that met another one, ms: longer than a node takes to see that it lost its work. */
const CONTESTED_MS = 3_000
/** Wait after a store failed, ms. */
const AGAIN_MS = 2_000

export class BatchRunner extends Context.Service<BatchRunner, {
  /** There is something new to do: a batch was made or cancelled here. */
  readonly wake: Effect.Effect<void>
}>()("gateway/features/batches/BatchRunner") {}

export const make = Effect.fnUntraced(function*({ concurrency, mostLines, pollMs }: Options) {
  const store = yield* BatchStore
  const files = yield* FileRecords
  const calls = yield* LineCalls
  const placement = yield* Placement
  const news = yield* Latch.make(false)
  const slots = new Slots(concurrency)
  const validate = yield* BatchInput.make(mostLines)
  const write = yield* BatchFiles.make
  const tellEnds = yield* BatchEnds.make
  const lines = yield* BatchLines.make({ concurrency, slots })

  /** Writes what an event makes of the record; false: something else changed it first. */
  const apply = Effect.fnUntraced(function*(record: BatchRecord, event: Batch.BatchEvent, model = record.model) {
    const now = yield* Clock.currentTimeMillis
    const [state] = Batch.step(record.state, event, now)
    return state === record.state || (yield* store.change({ ...record, model, state }))
  })

  const validated = Effect.fnUntraced(function*(record: BatchRecord, stop: Latch.Latch) {
    const found = yield* Effect.raceFirst(validate(record), Effect.as(stop.await, null))
    if (found === null) return
    const changed = yield* apply(record, found.event, found.model)
    if (changed) yield* files.setStatus(record.inputFileId, found.event._tag === "Validated" ? "processed" : "error", found.details)
  })

  const ended = Effect.fnUntraced(function*(record: BatchRecord) {
    const written = yield* write(record)
    if (yield* apply(record, { _tag: "Written", ...written })) yield* store.dropResults(record.id)
  })

  /** One step of a batch; false: nothing is left to do here. */
  const step = Effect.fnUntraced(function*(id: string, stop: Latch.Latch) {
    const record = yield* store.find(id, "all")
    if (record === null || !calls.isServing()) return false
    const now = yield* Clock.currentTimeMillis
    const [state, [intent]] = Batch.step(record.state, { _tag: "Turn" }, now)
    if (state !== record.state) {
      yield* apply(record, { _tag: "Turn" })
      return true
    }
    if (intent === undefined) return false
    switch (intent) {
      case "validate":
        yield* validated(record, stop)
        return true
      case "run-lines": {
        const end = yield* lines.run(record, stop)
        if (end === "input-lost") yield* apply((yield* store.find(id, "all")) ?? record, { _tag: "InputLost", problem: BatchInput.lost })
        if (end === "contested") yield* Effect.delay(Effect.logInfo(`batch ${id} has answers of another runner; it goes on behind them`), CONTESTED_MS)
        return end !== "stopping"
      }
      case "fail-rest":
        // Without its input nothing is known of the lines that are missing.
        if ((yield* lines.failRest(record)) === "input-lost") yield* ended(record)
        return true
      case "write":
        yield* ended(record)
        return true
    }
  })

  const failed = (id: string) => (error: StoreError | FileStoreError) =>
    Effect.delay(Effect.logWarning(`batch ${id} waits: ${error.message}`), AGAIN_MS)

  /** A batch until it is over. */
  const batch = (id: string, stop: Latch.Latch): Effect.Effect<void> => {
    let hasMore = true
    const round = Effect.map(step(id, stop), (more) => {
      hasMore = more
    })
    return Supervisor.supervised("batch", Effect.gen(function*() {
      while (hasMore) yield* round.pipe(Effect.catch(failed(id)))
    }), { fields: { batch: id } })
  }

  /** Has the time come to end what a batch has in flight? */
  const isToStop = (state: BatchState, now: number): boolean => state.status === "cancelling" || now >= state.expiresAt

  const work = Effect.scoped(Effect.gen(function*() {
    const running = yield* FiberMap.make<string>()
    const stops = new Map<string, Latch.Latch>()

    const look = Effect.gen(function*() {
      if (!calls.isServing()) return
      const open = yield* store.open(MOST_RUNNING)
      const now = yield* Clock.currentTimeMillis
      const listed = new Set(open.map(({ id }) => id))
      // Batches of other keys may have come before some that run.
      const others = yield* Effect.forEach([...stops.keys()].filter((id) => !listed.has(id)), (id) => store.find(id, "all"))
      for (const { id, state } of [...open, ...others.filter((record) => record !== null)]) {
        if (listed.has(id) && !FiberMap.hasUnsafe(running, id)) {
          const stop = yield* Latch.make(false)
          stops.set(id, stop)
          yield* FiberMap.run(running, id, Effect.ensuring(batch(id, stop), Effect.andThen(Effect.sync(() => stops.delete(id)), news.open)))
        }
        const stop = stops.get(id)
        if (stop !== undefined && isToStop(state, now)) yield* stop.open
      }
    })

    yield* Supervisor.supervised("batches", Effect.gen(function*() {
      yield* look.pipe(Effect.catch((error) => Effect.logWarning(`batches cannot be read: ${error.message}`)))
      yield* tellEnds.pipe(Effect.catch((error) => Effect.logWarning(`webhooks are told of the end of batches later: ${error.message}`)))
      // While some run, their end is looked for, too.
      yield* Effect.raceFirst(news.await, Effect.sleep(stops.size === 0 ? pollMs : Math.min(pollMs, 1_000)))
      yield* news.close
    }))
  }))

  yield* placement.place("batches", work)
  return BatchRunner.of({ wake: Effect.asVoid(news.open) })
})

export const layer = (options: Options) => Layer.effect(BatchRunner, make(options))
