/**
 * Removes old batches, and inputs that no batch came for, on one node for all, while BATCH_AND_FILE_AUTO_CLEANUP_ENABLED is on.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Flags } from "#actors/ports/Flags.ts"
import { Placement } from "#actors/ports/Placement.ts"
import * as Sweeps from "#actors/Sweeps.ts"
import { type FileRecord, FileRecords } from "#src/features/files/ports/FileRecords.ts"
import { FileStore } from "#src/features/files/ports/FileStore.ts"
import { BatchStore } from "./ports/BatchStore.ts"

const EVERY_MS = 3_600_000
const FIRST_AFTER_MS = 30_000
/** Batches that are removed per statement, and inputs that are looked at at once. */
const AT_ONCE = 100
const dayMs = 86_400_000
/** How long an input may wait for its batch. */
const ORPHAN_AFTER_MS = 2 * dayMs

interface Looked {
  readonly removed: number
  /** The last file that stays; null: none does. */
  readonly kept: string | null
}

/** Removes those of some files that are inputs no batch names. Those that were given a time of their own keep it. */
const removeOrphans = Effect.fnUntraced(function*(records: ReadonlyArray<FileRecord>, before: number) {
  const bytes = yield* FileStore
  const files = yield* FileRecords
  const waiting = records.filter(({ createdAt, expiresAt }) => createdAt < before && expiresAt === null).map(({ id }) => id)
  const used = yield* (yield* BatchStore).inputsInUse(waiting)
  const kept = records.findLast(({ id }) => !waiting.includes(id) || used.has(id))
  let removed = 0
  for (const id of waiting) {
    if (used.has(id) || !(yield* files.remove(id, "all"))) continue
    removed++
    // Bytes without a record are found by the files' own sweep.
    yield* Effect.ignore(bytes.remove(id))
  }
  return { removed, kept: kept?.id ?? null }
})

/** Answers how many inputs went. */
const orphans = Effect.gen(function*() {
  const files = yield* FileRecords
  const before = (yield* Clock.currentTimeMillis) - ORPHAN_AFTER_MS
  let removed = 0
  let after: string | null = null
  for (;;) {
    const page: { readonly records: ReadonlyArray<FileRecord>; readonly hasMore: boolean } | null = yield* files.list({ scope: "all", purpose: "batch", after, order: "asc", limit: AT_ONCE })
    // The file that the page begins behind went meanwhile: the next sweep goes on.
    if (page === null) return removed
    const looked: Looked = yield* removeOrphans(page.records, before)
    removed += looked.removed
    after = looked.kept ?? after
    if (!page.hasMore || page.records.some(({ createdAt }) => createdAt >= before)) return removed
  }
})

/** `retentionDays`: how long a batch that is over is kept. */
export const sweep = (retentionDays: number, firstAfterMs = FIRST_AFTER_MS) => Layer.effectDiscard(Effect.gen(function*() {
  const flags = yield* Flags
  const placement = yield* Placement
  const store = yield* BatchStore
  const sweepOrphans = Effect.provideContext(orphans, yield* Effect.context<BatchStore | FileRecords | FileStore>())
  const run = Effect.gen(function*() {
    if (!flags.isOn("BATCH_AND_FILE_AUTO_CLEANUP_ENABLED")) return 0
    const before = (yield* Clock.currentTimeMillis) - retentionDays * dayMs
    let rows = 0
    for (;;) {
      const { length } = yield* store.removeOver({ scope: "all", before, onlyCompleted: false, limit: AT_ONCE })
      rows += length
      if (length < AT_ONCE) break
    }
    return rows + (yield* sweepOrphans)
  })
  yield* placement.place("sweep/batches", Sweeps.loop({ loop: "sweep/batches", name: "batches", everyMs: EVERY_MS, run }, firstAfterMs))
}))
