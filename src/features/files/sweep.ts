/**
 * What no file needs any more: bytes of these records without a record that came since they began, writes that no process finishes, and (with
 * BATCH_AND_FILE_AUTO_CLEANUP_ENABLED) the bytes of expired files and, later, their records.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { Flags } from "#actors/ports/Flags.ts"
import { Placement } from "#actors/ports/Placement.ts"
import { DocumentStore } from "#actors/ports/Stores.ts"
import * as Sweeps from "#actors/Sweeps.ts"
import * as LocalPlacement from "#src/platform/cluster/LocalPlacement.ts"
import { FileRecords } from "./ports/FileRecords.ts"
import * as FileId from "./ports/fileId.ts"
import { FileStore, type StoredBytes } from "./ports/FileStore.ts"
import { OwnIds } from "./ports/OwnIds.ts"

export const EVERY_MS = 600_000
const FIRST_AFTER_MS = 30_000
/**
 * How old bytes must be before they count as left behind: longer than any write may take, and than the moment between bytes and record.
 * An upload has 5 minutes and a second for each 32 kB, 4.7 hours for the largest file.
 */
export const LEFT_BEHIND_MS = 6 * 3_600_000
/** How long the record of an expired file is kept, ms. */
export const EXPIRED_KEPT_MS = 30 * 86_400_000
/** Files that one run expires at a time, and ids that the records are asked about at once. */
const SLICE = 500

/**
 * When these records began, ms. Bytes that were there before belong to other records: those of an embedded database before DATABASE_URL
 * was set, or of a database that was lost and is restored later.
 */
const beginning = Effect.gen(function*() {
  const documents = yield* DocumentStore
  const stored = yield* documents.putIfAbsent("files", "recordsBegan", yield* Clock.currentTimeMillis)
  return typeof stored === "number" ? stored : 0
})

/** Bytes of these records whose record is missing or expired, and unfinished writes; answers how many went. */
export const leftovers = Effect.gen(function*() {
  const records = yield* FileRecords
  const store = yield* FileStore
  const began = yield* beginning
  const { mark, since } = yield* (yield* OwnIds).own
  const isOwn = ({ id, writtenAt }: StoredBytes): boolean => FileId.hasMark(mark, id) || writtenAt < since
  const before = (yield* Clock.currentTimeMillis) - LEFT_BEHIND_MS
  let removed = yield* store.removeUnfinished(before)
  yield* store.list.pipe(
    Stream.filter((bytes) => bytes.writtenAt >= began && bytes.writtenAt < before && isOwn(bytes)),
    Stream.map(({ id }) => id),
    Stream.grouped(SLICE),
    Stream.runForEach((ids) => Effect.gen(function*() {
      const known = yield* records.known(ids)
      for (const id of ids) {
        if (known.has(id)) continue
        yield* store.remove(id)
        removed++
      }
    }))
  )
  return removed
})

/** The bytes of files whose time is over, and the records of those that expired long ago. */
export const expired = Effect.gen(function*() {
  const flags = yield* Flags
  if (!flags.isOn("BATCH_AND_FILE_AUTO_CLEANUP_ENABLED")) return 0
  const records = yield* FileRecords
  const store = yield* FileStore
  const now = yield* Clock.currentTimeMillis
  let removed = 0
  for (;;) {
    const ids = yield* records.expire(now, SLICE)
    // What fails here, or lies with another node, is found as a leftover.
    yield* Effect.forEach(ids, (id) => Effect.ignore(store.remove(id)), { discard: true })
    removed += ids.length
    if (ids.length < SLICE) break
  }
  return removed + (yield* records.removeExpiredBefore(now - EXPIRED_KEPT_MS))
})

const context = Effect.context<Flags | FileRecords | FileStore | OwnIds | DocumentStore>()

const records = Layer.effectDiscard(Effect.gen(function*() {
  const placement = yield* Placement
  const run = Effect.provideContext(expired, yield* context)
  yield* placement.place("sweep/files", Sweeps.loop({ loop: "sweep/files", name: "expired files", everyMs: EVERY_MS, run }, FIRST_AFTER_MS))
}))

const bytes = Layer.effectDiscard(Effect.gen(function*() {
  const placement = yield* Placement
  // Before the first file of these records; records that are away are asked again by the sweep.
  yield* Effect.ignore(Effect.andThen(beginning, (yield* OwnIds).own))
  const run = Effect.provideContext(leftovers, yield* context)
  yield* placement.place("sweep/file bytes", Sweeps.loop({ loop: "sweep/file bytes", name: "bytes of files", everyMs: EVERY_MS, run }, FIRST_AFTER_MS))
}))

/** `isShared`: every node reaches the same bytes, so that one of them sweeps for all; else each sweeps its own directory. */
export const layer = (isShared: boolean) => Layer.merge(records, isShared ? bytes : Layer.provide(bytes, LocalPlacement.layer))
