/** Asks the lines of a batch, some at once, begun in the order of the input; each answer is durable before the cursor passes it. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Latch from "effect/Latch"
import * as Semaphore from "effect/Semaphore"
import * as Stream from "effect/Stream"
import * as Batch from "#actors/batch/Batch.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import type { BatchCursor, BatchRecord } from "#schemas/batches/Batch.ts"
import type { ActsAs } from "#src/platform/server/Exchange.ts"
import { FileRecords } from "#src/features/files/ports/FileRecords.ts"
import { FileStore, FileStoreError } from "#src/features/files/ports/FileStore.ts"
import * as InputLine from "#src/features/batches/lines/inputLine.ts"
import { LineCalls } from "./LineCalls.ts"
import * as LineCutter from "#src/features/batches/lines/LineCutter.ts"
import * as OutputLine from "#src/features/batches/lines/outputLine.ts"
import { BatchStore, type LineResult } from "#src/features/batches/ports/BatchStore.ts"

/** Lines between two writes of the cursor: so many are read once more after a crash, and not asked again. */
const CURSOR_EVERY = 64
/** Lines that were not run are written so many at a time. */
const REST_AT_ONCE = 500
/** How often a line that was told to come later is asked again. */
const MOST_WAITS = 5
/** The first wait is so long at least, ms; each further one twice as long. */
const FIRST_WAIT_MS = 1_000
/** Time that calls in flight get when a batch is cancelled or expires, ms. */
const STOP_GRACE_MS = 10_000
/** Pause between two tries to write an answer, ms. */
const WRITE_AGAIN_MS = 2_000

/** Above every number of a line. */
const LAST_LINE = 2_147_483_647

/** `contested`: another runner has answers of the batch, because this process or that one stood still. */
export type End = "done" | "stopped" | "stopping" | "input-lost" | "contested"

interface Options {
  /** Lines in flight at once. */
  readonly concurrency: number
  /** Shared by all batches. */
  readonly permits: Semaphore.Semaphore
}

/** Tells an input that is gone from one that cannot be read now. */
const reading = (work: Effect.Effect<void, StoreError | FileStoreError>): Effect.Effect<"done" | "input-lost", StoreError | FileStoreError> => work.pipe(
  Effect.as("done" as const),
  Effect.catch((error) => error._tag === "FileStoreError" && error.reason === "missing" ? Effect.succeed("input-lost" as const) : Effect.fail(error))
)

export const make = Effect.fnUntraced(function*({ concurrency, permits }: Options) {
  const bytes = yield* FileStore
  const calls = yield* LineCalls
  const files = yield* FileRecords
  const store = yield* BatchStore

  /** The lines from the cursor on. */
  const linesOf = ({ cursor, inputFileId }: BatchRecord): Stream.Stream<LineCutter.Line, FileStoreError | StoreError> =>
    Stream.unwrap(Effect.map(files.find(inputFileId, "all"), (file) => {
      if (file === null) return Stream.fail(new FileStoreError({ store: "files", operation: "read", reason: "missing", message: `The input file ${inputFileId} is gone.` }))
      if (cursor.offset >= file.bytes) return Stream.empty
      return LineCutter.of(bytes.read(inputFileId, cursor.offset === 0 ? undefined : { first: cursor.offset, last: file.bytes - 1 }), cursor)
    }))

  /** Answers of lines that end while others are written are written together; each waits for its own write alone. */
  const writer = (record: BatchRecord) => Effect.gen(function*() {
    const { id } = record
    const turn = yield* Semaphore.make(1)
    let known = record
    let group = { results: [] as Array<LineResult>, isWritten: false }
    let isOver = false
    let isContested = false
    const stored = (results: ReadonlyArray<LineResult>): Effect.Effect<BatchRecord | null> =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => store.finish(id, results, now, known)).pipe(
        Effect.catch((error) => Effect.andThen(
          Effect.logWarning(`answers of batch ${id} wait to be stored: ${error.message}`), Effect.delay(Effect.suspend(() => stored(results)), WRITE_AGAIN_MS)
        ))
      )
    const write = (mine: typeof group) => Effect.suspend(() => {
      if (mine.isWritten) return Effect.void
      group = { results: [], isWritten: false }
      return Effect.map(stored(mine.results), (after) => {
        mine.isWritten = true
        isOver ||= after === null
        if (after === null) return
        isContested ||= Batch.answered(after.state) !== Batch.answered(known.state) + mine.results.length
        known = after
      })
    })
    return {
      /** False: the batch takes no more answers from here. */
      keep: (result: LineResult) => Effect.suspend(() => {
        const mine = group
        mine.results.push(result)
        return Effect.map(turn.withPermits(1)(write(mine)), () => !isOver && !isContested)
      }),
      isContested: () => isContested
    }
  })

  /** A line's result; null: it was not run, because the batch or this process stops. */
  const ask = Effect.fnUntraced(function*(record: BatchRecord, line: LineCutter.Line, actsAs: ActsAs, stop: Latch.Latch, takes: () => boolean) {
    const { clientAddress, endpoint, id } = record
    const read = InputLine.read(line, endpoint)
    // The input was checked and never changes; a rule that changed since is an answer, too.
    if (InputLine.isProblem(read)) return OutputLine.unanswered(id, line.number, "", read.code, read.message)
    const request = {
      endpoint, actsAs, remoteAddress: clientAddress, body: InputLine.bodyFor(endpoint, read),
      requestId: OutputLine.requestIdOf(id, line.number), idempotencyKey: `${id}:${line.number}`
    }
    const graceOver = Effect.as(Effect.andThen(stop.await, Effect.sleep(STOP_GRACE_MS)), { _tag: "Stopping" } as const)
    for (let waits = 0;; waits++) {
      const reply = yield* Effect.raceFirst(permits.withPermits(1)(Effect.suspend(() => stop.isOpen() || !takes() ? Effect.succeed({ _tag: "Stopping" } as const) : calls.ask(request))), graceOver)
      switch (reply._tag) {
        case "Stopping":
          return null
        case "Broken":
          return OutputLine.unanswered(id, line.number, read.customId, "request_failed", reply.message)
        case "Answered":
          return OutputLine.answered(id, line.number, read.customId, reply.answer)
        case "Later":
          if (waits >= MOST_WAITS) return OutputLine.answered(id, line.number, read.customId, reply.answer)
          if (yield* Effect.raceFirst(Effect.as(Effect.sleep(Math.max(reply.waitMs, FIRST_WAIT_MS * 2 ** waits)), false), Effect.as(stop.await, true))) return null
      }
    }
  })

  const run = Effect.fnUntraced(function*(record: BatchRecord, stop: Latch.Latch) {
    const { cursor, id } = record
    const actsAs = yield* calls.actorOf(record.ownerKeyId)
    const finished = yield* store.finished(id, cursor.line, LAST_LINE)
    const { isContested, keep } = yield* writer(record)
    let takes = true
    // A line that takes long holds none of the others back; the cursor waits for it.
    let begun = 0
    let passed = 0
    const ended = new Map<number, BatchCursor>()
    const runOne = Effect.fnUntraced(function*(line: LineCutter.Line) {
      const place = begun++
      if (!finished.has(line.number)) {
        const result = takes ? yield* ask(record, line, actsAs, stop, () => takes) : null
        if (result === null || !(yield* keep(result))) takes = false
        if (result === null) return
      }
      ended.set(place, { line: line.number + 1, offset: line.next })
    })
    const passOn = Effect.suspend(() => {
      if (ended.size < CURSOR_EVERY) return Effect.void
      let cursor: BatchCursor | undefined
      for (let next = ended.get(passed); next !== undefined; next = ended.get(passed)) {
        ended.delete(passed++)
        cursor = next
      }
      return cursor === undefined ? Effect.void : store.advance(id, cursor)
    })
    const lines = Stream.takeWhile(linesOf(record), () => takes && !stop.isOpen()).pipe(
      // While the answers of as many lines are stored, the next ones are asked.
      Stream.mapEffect(runOne, { concurrency: 2 * concurrency, unordered: true }),
      Stream.runForEach(() => passOn)
    )
    if ((yield* reading(lines)) === "input-lost") return "input-lost" as const
    if (!calls.isServing()) return "stopping" as const
    if (isContested()) return "contested" as const
    if (stop.isOpen() || !takes) return "stopped" as const
    // Every line was asked, so that the last answer ended the batch; otherwise the input is shorter than it was.
    const after = yield* store.find(id, "all")
    return after !== null && after.state.status === "in_progress" ? "input-lost" as const : "done" as const
  })

  /** Lines that the window left no time for become errors. */
  const failRest = Effect.fnUntraced(function*(record: BatchRecord) {
    const { cursor, endpoint, id } = record
    const finished = yield* store.finished(id, cursor.line, LAST_LINE)
    const rest = linesOf(record).pipe(
      Stream.filter((line) => !finished.has(line.number)),
      Stream.map((line) => {
        const read = InputLine.read(line, endpoint)
        return OutputLine.unanswered(id, line.number, InputLine.isProblem(read) ? "" : read.customId, "batch_expired", "This request could not be executed before the completion window expired.")
      }),
      Stream.grouped(REST_AT_ONCE),
      Stream.runForEach((results) => Effect.flatMap(Clock.currentTimeMillis, (now) => store.finish(id, results, now)))
    )
    return yield* reading(rest)
  })

  return { run, failRest }
})
