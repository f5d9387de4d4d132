/** What callers do with batches; the runner does the rest. */
import { randomBytes } from "node:crypto"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Batch from "#actors/batch/Batch.ts"
import * as Standing from "#actors/lease/standing.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import * as Errors from "#schemas/errors.ts"
import type { PublicError } from "#schemas/errors.ts"
import { leaseScope } from "#schemas/protocols/Lease.ts"
import type { BatchRecord } from "#schemas/batches/Batch.ts"
import type { FileCaller } from "#src/features/files/ports/caller.ts"
import { FileRecords } from "#src/features/files/ports/FileRecords.ts"
import * as FileId from "#src/features/files/ports/fileId.ts"
import { FileStore } from "#src/features/files/ports/FileStore.ts"
import type { NewBatch } from "./api.ts"
import { BatchRunner } from "./run/BatchRunner.ts"
import * as InputLine from "./lines/inputLine.ts"
import { type BatchScope, BatchStore } from "./ports/BatchStore.ts"

/** The one completion window, ms. */
const WINDOW_MS = 24 * 3_600_000
/** Batches that are deleted per statement. */
const REMOVE_AT_ONCE = 100

type Failure = PublicError | StoreError

export interface Removed {
  readonly batches: number
  readonly files: number
}

export class Batches extends Context.Service<Batches, {
  readonly create: (input: NewBatch, caller: FileCaller, clientAddress: string) => Effect.Effect<BatchRecord, Failure>
  readonly find: (id: string, scope: BatchScope) => Effect.Effect<BatchRecord, Failure>
  /** One more than `limit`, so that a reader sees whether there are more. */
  readonly list: (scope: BatchScope, after: string | undefined, limit: number) => Effect.Effect<ReadonlyArray<BatchRecord>, Failure>
  readonly cancel: (id: string, scope: BatchScope) => Effect.Effect<BatchRecord, Failure>
  readonly remove: (id: string, scope: BatchScope) => Effect.Effect<void, Failure>
  /** Completed batches with their files; an input that another batch uses stays. */
  readonly removeCompleted: (scope: BatchScope) => Effect.Effect<Removed, Failure>
}>()("gateway/features/batches/Batches") {}

const unknown = (id: string): PublicError => Errors.make("batch_not_found", `There is no batch '${id.slice(0, 100)}' of this key.`)
const bad = (message: string, param: string): PublicError => Errors.make("bad_request", message, { extra: { param } })

/** Bounds of the vendor. */
const METADATA = { members: 16, name: 64, value: 512 } as const
const EXPIRES = { least: 3_600, most: 2_592_000 } as const

/** What is wrong with a request beside its file; null: nothing. */
const wrongIn = (input: NewBatch): PublicError | null => {
  if (!InputLine.endpoints.has(input.endpoint)) return bad(`'endpoint' is one of ${[...InputLine.endpoints.keys()].join(", ")}.`, "endpoint")
  if (input.completion_window !== "24h") return bad("'completion_window' is 24h.", "completion_window")
  const metadata = Object.entries(input.metadata ?? {})
  if (metadata.length > METADATA.members || metadata.some(([name, value]) => name.length > METADATA.name || value.length > METADATA.value)) {
    return bad(`'metadata' has at most ${METADATA.members} members, with names of at most ${METADATA.name} and values of at most ${METADATA.value} characters.`, "metadata")
  }
  const after = input.output_expires_after
  return after === undefined || after === null || (after.anchor === "created_at" && after.seconds >= EXPIRES.least && after.seconds <= EXPIRES.most)
    ? null
    : bad(`'output_expires_after' has the anchor created_at and from ${EXPIRES.least} to ${EXPIRES.most} seconds.`, "output_expires_after")
}

export const make = Effect.gen(function*() {
  const bytes = yield* FileStore
  const files = yield* FileRecords
  const runner = yield* BatchRunner
  const store = yield* BatchStore

  const find = (id: string, scope: BatchScope) => Effect.flatMap(store.find(id, scope), (record) => record === null ? Effect.fail(unknown(id)) : Effect.succeed(record))

  const create = Effect.fn("Batches.create")(function*(input: NewBatch, { key, scope }: FileCaller, clientAddress: string) {
    const wrong = wrongIn(input)
    if (wrong !== null) return yield* Effect.fail(wrong)
    if (key !== null && Standing.isManaged(key)) {
      return yield* Effect.fail(Errors.make("insufficient_permissions", `A managed key (scope ${leaseScope}) makes no batches: their requests would use its connections without a lease.`))
    }
    const file = FileId.isFileId(input.input_file_id) ? yield* files.find(input.input_file_id, scope) : null
    if (file === null) return yield* Effect.fail(bad(`There is no file '${input.input_file_id.slice(0, 100)}' of this key.`, "input_file_id"))
    if (file.purpose !== "batch") return yield* Effect.fail(bad(`The file has the purpose ${file.purpose}: upload it with the purpose batch.`, "input_file_id"))
    const now = yield* Clock.currentTimeMillis
    if (file.status === "expired" || (file.expiresAt !== null && file.expiresAt <= now)) return yield* Effect.fail(bad("The file has expired: upload it again.", "input_file_id"))
    const record: BatchRecord = {
      id: `batch_${randomBytes(12).toString("hex")}`, ownerKeyId: key === null ? null : key.id, endpoint: input.endpoint, inputFileId: file.id,
      completionWindow: input.completion_window, model: null, metadata: input.metadata ?? null,
      outputExpiresSeconds: input.output_expires_after?.seconds ?? null, clientAddress,
      state: Batch.made(now, WINDOW_MS), usage: { input: 0, output: 0, cached: 0, reasoning: 0 }, cursor: { line: 1, offset: 0 }, version: 1
    }
    yield* store.insert(record)
    yield* runner.wake
    return record
  })

  const cancel = Effect.fn("Batches.cancel")(function*(id: string, scope: BatchScope) {
    for (;;) {
      const record = yield* find(id, scope)
      if (record.state.status === "cancelling") return record
      const [state] = Batch.step(record.state, { _tag: "Cancel" }, yield* Clock.currentTimeMillis)
      if (state === record.state) return yield* Effect.fail(Errors.make("bad_request", `The batch is ${state.status}: only one that is validating or in_progress can be cancelled.`))
      const cancelled = { ...record, state }
      // Answers of lines change the record, too.
      if (!(yield* store.change(cancelled))) continue
      yield* runner.wake
      return cancelled
    }
  })

  const remove = Effect.fn("Batches.remove")(function*(id: string, scope: BatchScope) {
    const end = yield* store.remove(id, scope)
    if (end === null) return yield* Effect.fail(unknown(id))
    if (end === "running") return yield* Effect.fail(Errors.make("batch_not_over", "The batch is not over: cancel it first, or wait for its end."))
  })

  const removeFile = Effect.fnUntraced(function*(id: string, scope: BatchScope) {
    const removed = yield* files.remove(id, scope)
    // Bytes without a record are found by the files' own sweep.
    if (removed) yield* bytes.remove(id).pipe(Effect.catch((error) => Effect.logWarning(`the bytes of ${id} stay for now: ${error.message}`)))
    return removed
  })

  const removeCompleted = Effect.fn("Batches.removeCompleted")(function*(scope: BatchScope) {
    const before = (yield* Clock.currentTimeMillis) + 1
    let removed: Removed = { batches: 0, files: 0 }
    for (;;) {
      const gone = yield* store.removeOver({ scope, before, onlyCompleted: true, limit: REMOVE_AT_ONCE })
      const used = yield* store.inputsInUse(gone.map(({ inputFileId }) => inputFileId))
      const ids = new Set(gone.flatMap(({ errorFileId, inputFileId, outputFileId }) => [errorFileId, outputFileId, used.has(inputFileId) ? null : inputFileId]).filter((id) => id !== null))
      const counts = yield* Effect.forEach(ids, (id) => removeFile(id, scope))
      removed = { batches: removed.batches + gone.length, files: removed.files + counts.filter((removed) => removed).length }
      if (gone.length < REMOVE_AT_ONCE) return removed
    }
  })

  return Batches.of({
    create, cancel, find, remove, removeCompleted,
    list: (scope, after, limit) => Effect.flatMap(store.list(scope, after ?? null, limit + 1), (records) =>
      records === null ? Effect.fail(bad("'after' names no batch of this key.", "after")) : Effect.succeed(records))
  })
})

export const layer = Layer.effect(Batches, make)
