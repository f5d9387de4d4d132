/** Batches and the answers of their lines. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { StoreError } from "#actors/ports/StoreError.ts"
import type { BatchCursor, BatchRecord, BatchState, BatchUsage } from "#schemas/batches/Batch.ts"

/** The answer of one line. */
export interface LineResult {
  readonly line: number
  readonly failed: boolean
  /** One line of the output or error file, without its line feed. */
  readonly text: string
  readonly usage: BatchUsage | null
}

/** Answers of a batch in a row. */
export interface AnswerPage {
  /** All lines up to this number were looked at. */
  readonly through: number
  /** Their texts, a line feed behind each; empty where none of these lines ended so. */
  readonly text: string
}

/** Whose batches are meant: those of one key, or all for an operator. */
export type BatchScope = { readonly keyId: string } | "all"

export class BatchStore extends Context.Service<BatchStore, {
  readonly insert: (record: BatchRecord) => Effect.Effect<void, StoreError>
  /** Null for an unknown one and for one outside the scope. */
  readonly find: (id: string, scope: BatchScope) => Effect.Effect<BatchRecord | null, StoreError>
  /** Newest first, behind the batch `after`; null when that is none of the scope. */
  readonly list: (scope: BatchScope, after: string | null, limit: number) => Effect.Effect<ReadonlyArray<BatchRecord> | null, StoreError>
  /** Those that are not over: the oldest of each key, then the second of each, and so on, so that no key keeps the others waiting. */
  readonly open: (limit: number) => Effect.Effect<ReadonlyArray<BatchRecord>, StoreError>
  /** Writes state and model where the version still is the record's; false: another change came first. One that ends here is untold. */
  readonly change: (record: BatchRecord) => Effect.Effect<boolean, StoreError>
  /** Up to `limit` batches that are over and whose end was told to no webhook yet, oldest first. */
  readonly untold: (limit: number) => Effect.Effect<ReadonlyArray<BatchRecord>, StoreError>
  /** The end of these was told. */
  readonly told: (ids: ReadonlyArray<string>) => Effect.Effect<void, StoreError>
  /**
   * Keeps answers of lines, each line's first one only, and in the same transaction counts them, adds up their usage and ends a batch
   * whose last line this was. Answers the record as it is then; null when the batch is over or gone, and nothing was kept. `known`: the
   * record as it was seen last; while it stands, one statement does it all.
   */
  readonly finish: (id: string, results: ReadonlyArray<LineResult>, now: number, known?: BatchRecord) => Effect.Effect<BatchRecord | null, StoreError>
  /** All lines before the cursor have their answer. */
  readonly advance: (id: string, cursor: BatchCursor) => Effect.Effect<void, StoreError>
  /** Which of the lines from `first` to `last` have their answer. */
  readonly finished: (id: string, first: number, last: number) => Effect.Effect<ReadonlySet<number>, StoreError>
  /** Number of the last line that ended so; null: none did. */
  readonly lastAnswer: (id: string, failed: boolean) => Effect.Effect<number | null, StoreError>
  /** Answers in the order of their lines, of those behind the line `after` up to the line `through`: all, or the first ones up to about `mostBytes`. */
  readonly page: (id: string, failed: boolean, range: { readonly after: number; readonly through: number }, mostBytes: number) => Effect.Effect<AnswerPage, StoreError>
  /** The answers are in files: they need not be kept here. */
  readonly dropResults: (id: string) => Effect.Effect<void, StoreError>
  /** Removes one that is over, with its answers; null: there is none in the scope. */
  readonly remove: (id: string, scope: BatchScope) => Effect.Effect<"removed" | "running" | null, StoreError>
  /** Up to `limit` batches of the scope that are over and were made before `before`, with their answers; `completed`: of these only completed ones. */
  readonly removeOver: (options: {
    readonly scope: BatchScope
    readonly before: number
    readonly onlyCompleted: boolean
    readonly limit: number
  }) => Effect.Effect<ReadonlyArray<Pick<BatchRecord, "id" | "inputFileId"> & Pick<BatchState, "outputFileId" | "errorFileId">>, StoreError>
  /** Which of these files are the input of a batch. */
  readonly inputsInUse: (fileIds: ReadonlyArray<string>) => Effect.Effect<ReadonlySet<string>, StoreError>
}>()("gateway/features/batches/BatchStore") {}
