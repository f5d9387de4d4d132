/** Asks the lines of a batch, some at once, begun in the order of the input; each answer is durable before the cursor passes it. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Latch from "effect/Latch"
import * as Stream from "effect/Stream"
import type { StoreError } from "#actors/ports/StoreError.ts"
import type { BatchRecord } from "#schemas/batches/Batch.ts"
import { FileRecords } from "#src/features/files/ports/FileRecords.ts"
import { FileStore, FileStoreError } from "#src/features/files/ports/FileStore.ts"
import * as InputLine from "#src/features/batches/lines/inputLine.ts"
import * as LineCutter from "#src/features/batches/lines/LineCutter.ts"
import * as OutputLine from "#src/features/batches/lines/outputLine.ts"
import { BatchStore } from "#src/features/batches/ports/BatchStore.ts"
import { LineCalls } from "./LineCalls.ts"
import * as LinePump from "./LinePump.ts"
import type { Slots } from "./Slots.ts"

/** Lines that were not run are written so many at a time. */
const REST_AT_ONCE = 500

/** Above every number of a line. */
const LAST_LINE = 2_147_483_647

/** `contested`: another runner has answers of the batch, because this process or that one stood still. */
export type End = "done" | "stopped" | "stopping" | "input-lost" | "contested"

interface Options {
  /** Lines in flight at once. */
  readonly concurrency: number
  /** Shared by all batches. */
  readonly slots: Slots
}

/** Tells an input that is gone from one that cannot be read now. */
const reading = (work: Effect.Effect<void, StoreError | FileStoreError>): Effect.Effect<"done" | "input-lost", StoreError | FileStoreError> => work.pipe(
  Effect.as("done" as const),
  Effect.catch((error) => error._tag === "FileStoreError" && error.reason === "missing" ? Effect.succeed("input-lost" as const) : Effect.fail(error))
)

export const make = Effect.fnUntraced(function*({ concurrency, slots }: Options) {
  const bytes = yield* FileStore
  const calls = yield* LineCalls
  const files = yield* FileRecords
  const store = yield* BatchStore

  /** The lines from the cursor on. */
  const linesOf = ({ cursor, inputFileId }: BatchRecord): Stream.Stream<ReadonlyArray<LineCutter.Line>, FileStoreError | StoreError> =>
    Stream.unwrap(Effect.map(files.find(inputFileId, "all"), (file) => {
      if (file === null) return Stream.fail(new FileStoreError({ store: "files", operation: "read", reason: "missing", message: `The input file ${inputFileId} is gone.` }))
      if (cursor.offset >= file.bytes) return Stream.empty
      return LineCutter.groupsOf(bytes.read(inputFileId, cursor.offset === 0 ? undefined : { first: cursor.offset, last: file.bytes - 1 }), cursor)
    }))

  const run = Effect.fnUntraced(function*(record: BatchRecord, stop: Latch.Latch) {
    const { cursor, id } = record
    const actsAs = { ...yield* calls.actorOf(record.ownerKeyId), asksOnce: true }
    const finished = yield* store.finished(id, cursor.line, LAST_LINE)
    const pump = yield* LinePump.make({ actsAs, calls, isFinished: (line) => finished.has(line), most: 3 * concurrency, record, slots, stop, store })
    const read = yield* reading(Stream.runForEachWhile(linesOf(record), pump.feed))
    yield* pump.ended
    if (read === "input-lost") return "input-lost" as const
    if (!calls.isServing()) return "stopping" as const
    if (pump.isContested()) return "contested" as const
    if (pump.isHalted()) return "stopped" as const
    // Every line was asked, so that the last answer ended the batch; otherwise the input is shorter than it was.
    const after = yield* store.find(id, "all")
    return after !== null && after.state.status === "in_progress" ? "input-lost" as const : "done" as const
  }, Effect.scoped)

  /** Lines that the window left no time for become errors. */
  const failRest = Effect.fnUntraced(function*(record: BatchRecord) {
    const { cursor, endpoint, id } = record
    const finished = yield* store.finished(id, cursor.line, LAST_LINE)
    const rest = linesOf(record).pipe(
      Stream.flattenIterable,
      Stream.filter((line) => !finished.has(line.number)),
      Stream.map((line) => {
        const read = InputLine.known(line, endpoint)
        return OutputLine.unanswered(OutputLine.requestIdOf(id, line.number), line.number, InputLine.isProblem(read) ? "" : read.customId, "batch_expired", "This request could not be executed before the completion window expired.")
      }),
      Stream.grouped(REST_AT_ONCE),
      Stream.runForEach((results) => Effect.flatMap(Clock.currentTimeMillis, (now) => store.finish(id, results, now)))
    )
    return yield* reading(rest)
  })

  return { run, failRest }
})
