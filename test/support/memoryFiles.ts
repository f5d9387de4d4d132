/** Files in memory: records and bytes without durability, for tests that need no disk. They pass the suites of the real stores. */
import { createHash } from "node:crypto"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { StoreError } from "#actors/ports/StoreError.ts"
import { type FileRecord, FileRecords, type FileScope } from "#src/features/files/ports/FileRecords.ts"
import { OwnIds } from "#src/features/files/ports/OwnIds.ts"
import { FileStore, FileStoreError } from "#src/features/files/ports/FileStore.ts"

export const records = (): FileRecords["Service"] => {
  const rows = new Map<string, FileRecord>()
  const inScope = (scope: FileScope) => (record: FileRecord): boolean => scope === "all" || record.ownerKeyId === scope.keyId
  const found = (id: string, scope: FileScope): FileRecord | null => {
    const record = rows.get(id)
    return record === undefined || !inScope(scope)(record) ? null : record
  }
  return FileRecords.of({
    insert: (record) => Effect.suspend(() => {
      if (rows.has(record.id)) return Effect.fail(new StoreError({ store: "FileRecords", operation: "insert", reason: "conflict", message: "id is taken" }))
      rows.set(record.id, record)
      return Effect.void
    }),
    find: (id, scope) => Effect.sync(() => found(id, scope)),
    list: ({ after, limit, order, purpose, scope }) => Effect.sync(() => {
      if (after !== null && found(after, scope) === null) return null
      const sign = order === "asc" ? 1 : -1
      const compared = (a: FileRecord, b: FileRecord): number => sign * (a.createdAt - b.createdAt || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0))
      const first = after === null ? null : found(after, scope)
      const all = [...rows.values()].filter(inScope(scope)).filter((one) => purpose === null || one.purpose === purpose)
        .filter((one) => first === null || compared(one, first) > 0).sort(compared)
      return { records: all.slice(0, limit), hasMore: all.length > limit }
    }),
    setStatus: (id, status, statusDetails) => Effect.sync(() => {
      const record = rows.get(id)
      if (record === undefined || record.status === "expired") return false
      rows.set(id, { ...record, status, statusDetails })
      return true
    }),
    remove: (id, scope) => Effect.sync(() => found(id, scope) !== null && rows.delete(id)),
    known: (ids) => Effect.sync(() => new Set(ids.filter((id) => rows.has(id) && rows.get(id)?.status !== "expired"))),
    expire: (now, limit) => Effect.sync(() => {
      const over = [...rows.values()].filter(({ expiresAt, status }) => status !== "expired" && expiresAt !== null && expiresAt <= now).slice(0, limit)
      for (const record of over) rows.set(record.id, { ...record, status: "expired" })
      return over.map(({ id }) => id)
    }),
    removeExpiredBefore: (time) => Effect.sync(() => {
      const old = [...rows.values()].filter(({ expiresAt, status }) => status === "expired" && expiresAt !== null && expiresAt < time)
      for (const { id } of old) rows.delete(id)
      return old.length
    })
  })
}

/** Bytes that a reader gets at once. */
const PIECE = 256 * 1024

export const store = (): FileStore["Service"] => {
  const files = new Map<string, { readonly content: Buffer; readonly writtenAt: number }>()
  return FileStore.of({
    write: (id, content) => Effect.gen(function*() {
      const chunks: Array<Buffer> = []
      yield* Stream.runForEach(content, (chunk) => Effect.sync(() => void chunks.push(Buffer.from(chunk))))
      const all = Buffer.concat(chunks)
      files.set(id, { content: all, writtenAt: yield* Clock.currentTimeMillis })
      return { bytes: all.length, sha256: createHash("sha256").update(all).digest("hex") }
    }),
    read: (id, range) => Stream.unwrap(Effect.suspend(() => {
      const file = files.get(id)
      if (file === undefined) return Effect.fail(new FileStoreError({ store: "memory", operation: "read", reason: "missing", message: `There are no bytes of ${id}` }))
      const content = range === undefined ? file.content : file.content.subarray(range.first, range.last + 1)
      return Effect.succeed(Stream.rechunk(Stream.fromIterable(Array.from({ length: Math.ceil(content.length / PIECE) }, (_, i) => content.subarray(i * PIECE, (i + 1) * PIECE))), 1))
    })),
    remove: (id) => Effect.sync(() => void files.delete(id)),
    list: Stream.suspend(() => Stream.fromIterable([...files].map(([id, { writtenAt }]) => ({ id, writtenAt })))),
    removeUnfinished: () => Effect.succeed(0)
  })
}

/** How the ids of files begin. */
export const MARK = "0123abcd"

export const layer: Layer.Layer<FileRecords | FileStore | OwnIds> = Layer.mergeAll(
  Layer.sync(FileRecords, records), Layer.sync(FileStore, store), Layer.succeed(OwnIds, { own: Effect.succeed({ mark: MARK, since: 0 }) })
)
