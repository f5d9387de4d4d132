/** Batches in memory, for tests that need no database. They pass the suite of the real store. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Batch from "#actors/batch/Batch.ts"
import { StoreError } from "#actors/ports/StoreError.ts"
import type { BatchRecord } from "#schemas/batches/Batch.ts"
import * as Batches from "#src/features/batches/Batches.ts"
import { BatchRunner } from "#src/features/batches/run/BatchRunner.ts"
import { type BatchScope, BatchStore, type LineResult } from "#src/features/batches/ports/BatchStore.ts"
import { withResults } from "#src/features/batches/results.ts"

const make = (): BatchStore["Service"] => {
  const rows = new Map<string, BatchRecord>()
  const lines = new Map<string, Map<number, LineResult>>()
  const untold = new Set<string>()
  const inScope = (scope: BatchScope) => (record: BatchRecord): boolean => scope === "all" || record.ownerKeyId === scope.keyId
  const found = (id: string, scope: BatchScope): BatchRecord | null => {
    const record = rows.get(id)
    return record === undefined || !inScope(scope)(record) ? null : record
  }
  const compared = (a: BatchRecord, b: BatchRecord): number => b.state.createdAt - a.state.createdAt || (a.id < b.id ? 1 : -1)
  const linesOf = (id: string) => [...lines.get(id)?.values() ?? []].sort((a, b) => a.line - b.line)
  const forget = (id: string): void => {
    rows.delete(id)
    untold.delete(id)
    lines.delete(id)
  }
  return BatchStore.of({
    insert: (record) => Effect.suspend(() => {
      if (rows.has(record.id)) return Effect.fail(new StoreError({ store: "BatchStore", operation: "insert", reason: "conflict", message: "id is taken" }))
      rows.set(record.id, record)
      lines.set(record.id, new Map())
      return Effect.void
    }),
    find: (id, scope) => Effect.sync(() => found(id, scope)),
    list: (scope, after, limit) => Effect.sync(() => {
      const first = after === null ? null : found(after, scope)
      if (after !== null && first === null) return null
      return [...rows.values()].filter(inScope(scope)).filter((one) => first === null || compared(one, first) > 0).sort(compared).slice(0, limit)
    }),
    open: (limit) => Effect.sync(() => {
      const seen = new Map<string | null, number>()
      const placed = [...rows.values()].filter(({ state }) => !Batch.isOver(state)).sort((a, b) => compared(b, a)).map((record) => {
        const place = (seen.get(record.ownerKeyId) ?? 0) + 1
        seen.set(record.ownerKeyId, place)
        return { place, record }
      })
      return placed.sort((a, b) => a.place - b.place || compared(b.record, a.record)).slice(0, limit).map(({ record }) => record)
    }),
    change: (record) => Effect.sync(() => {
      const known = rows.get(record.id)
      if (known === undefined || known.version !== record.version) return false
      rows.set(record.id, { ...record, cursor: known.cursor, version: record.version + 1 })
      if (Batch.isOver(record.state)) untold.add(record.id)
      return true
    }),
    untold: (limit) => Effect.sync(() => [...rows.values()].filter(({ id }) => untold.has(id)).sort((a, b) => compared(b, a)).slice(0, limit)),
    told: (ids) => Effect.sync(() => {
      for (const id of ids) untold.delete(id)
    }),
    finish: (id, results, now) => Effect.sync(() => {
      const known = rows.get(id)
      const kept = lines.get(id)
      if (known === undefined || kept === undefined || Batch.isOver(known.state)) return null
      const fresh = results.filter(({ line }) => !kept.has(line))
      for (const one of fresh) kept.set(one.line, one)
      if (fresh.length === 0) return known
      const next = withResults(known, fresh, now)
      rows.set(id, next)
      return next
    }),
    advance: (id, cursor) => Effect.sync(() => {
      const known = rows.get(id)
      if (known !== undefined && known.cursor.line < cursor.line) rows.set(id, { ...known, cursor })
    }),
    finished: (id, first, last) => Effect.sync(() => new Set([...lines.get(id)?.keys() ?? []].filter((line) => line >= first && line <= last))),
    lastAnswer: (id, failed) => Effect.sync(() => linesOf(id).filter((one) => one.failed === failed).at(-1)?.line ?? null),
    page: (id, failed, { after, through }, mostBytes) => Effect.sync(() => {
      let bytes = 0
      const all = linesOf(id).filter((one) => one.failed === failed && one.line > after && one.line <= through)
      const page = all.filter(({ text }) => {
        const fits = bytes < mostBytes
        bytes += Buffer.byteLength(text)
        return fits
      })
      return { through: page.length < all.length ? page.at(-1)!.line : through, text: page.map(({ text }) => `${text}\n`).join("") }
    }),
    dropResults: (id) => Effect.sync(() => void lines.get(id)?.clear()),
    remove: (id, scope) => Effect.sync(() => {
      const record = found(id, scope)
      if (record === null) return null
      if (!Batch.isOver(record.state)) return "running"
      forget(id)
      return "removed"
    }),
    removeOver: ({ before, limit, onlyCompleted, scope }) => Effect.sync(() => {
      const gone = [...rows.values()].filter(inScope(scope)).filter(({ state }) => Batch.isOver(state) && state.createdAt < before && (!onlyCompleted || state.status === "completed"))
        .sort((a, b) => compared(b, a)).slice(0, limit)
      for (const { id } of gone) forget(id)
      return gone.map(({ id, inputFileId, state: { errorFileId, outputFileId } }) => ({ id, inputFileId, outputFileId, errorFileId }))
    }),
    inputsInUse: (fileIds) => Effect.sync(() => new Set([...rows.values()].map(({ inputFileId }) => inputFileId).filter((id) => fileIds.includes(id))))
  })
}

export const layer = Layer.sync(BatchStore, make)

/** What the management surface needs of batches, over files in memory: nothing runs. */
export const surface = Batches.layer.pipe(Layer.provide(Layer.merge(layer, Layer.succeed(BatchRunner, { wake: Effect.void }))))
