/** Reads a batch's input once from end to end before any line is run. */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { BatchEvent } from "#actors/batch/Batch.ts"
import type { BatchProblem, BatchRecord } from "#schemas/batches/Batch.ts"
import { FileStore } from "#src/features/files/ports/FileStore.ts"
import * as InputLine from "#src/features/batches/lines/inputLine.ts"
import * as LineCutter from "#src/features/batches/lines/LineCutter.ts"

/** Problems that are told; the first ones say what to mend. */
const MOST_PROBLEMS = 50
/** Lines after which others have their turn. */
const YIELD_EVERY = 200

export const lost: BatchProblem = { code: "input_file_missing", message: "The input file was deleted before all of its lines were run, or lies with a node that shares no store of files.", line: null, param: "input_file_id" }

export interface Validation {
  readonly event: Extract<BatchEvent, { readonly _tag: "Validated" | "Invalid" }>
  readonly model: string | null
  /** For the file's record: why it cannot be run. */
  readonly details: string | null
}

const invalid = (problems: ReadonlyArray<BatchProblem>): Validation => ({ event: { _tag: "Invalid", problems }, model: null, details: problems[0]?.message ?? null })

export const make = (mostLines: number) => Effect.map(FileStore, (bytes) => Effect.fnUntraced(function*({ endpoint, inputFileId }: BatchRecord) {
  const check = new InputLine.InputCheck(mostLines)
  const problems: Array<BatchProblem> = []
  let seen = 0
  const content = yield* Effect.result(Stream.runForEachWhile(LineCutter.groupsOf(bytes.read(inputFileId)), Effect.fnUntraced(function*(lines) {
    for (const line of lines) {
      const read = InputLine.check(line, endpoint)
      const problem = InputLine.isProblem(read) ? read : check.add(line, read)
      if (problem !== null) problems.push(problem)
      if (problems.length >= MOST_PROBLEMS || check.count > mostLines) return false
      if (++seen % YIELD_EVERY === 0) yield* Effect.yieldNow
    }
    return true
  })))
  if (content._tag === "Failure") {
    if (content.failure.reason !== "missing") return yield* Effect.fail(content.failure)
    return invalid([lost])
  }
  if (problems.length > 0) return invalid(problems)
  if (check.count === 0) return invalid([{ code: "empty_file", message: "The input file has no requests.", line: null, param: "input_file_id" }])
  return { event: { _tag: "Validated", total: check.count }, model: check.model, details: null } satisfies Validation
}))
