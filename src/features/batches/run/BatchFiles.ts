/** Writes the answers of a batch into its files. A file's id follows from the batch, so that a repetition writes the same file. */
import { createHash } from "node:crypto"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { BatchRecord } from "#schemas/batches/Batch.ts"
import { FileRecords } from "#src/features/files/ports/FileRecords.ts"
import { FileStore } from "#src/features/files/ports/FileStore.ts"
import { BatchStore } from "#src/features/batches/ports/BatchStore.ts"

/** Bytes of answers that are read at once; a longer answer is read alone. */
const PAGE_BYTES = 1024 * 1024

const kinds = { output: false, error: true } as const

export const fileIdOf = (batchId: string, kind: keyof typeof kinds): string => `file-${createHash("sha256").update(`${batchId}:${kind}`).digest("hex").slice(0, 32)}`

export const make = Effect.gen(function*() {
  const bytes = yield* FileStore
  const files = yield* FileRecords
  const store = yield* BatchStore

  /** The next page is read while one is written. */
  const contentOf = (id: string, failed: boolean) => Stream.paginate(0, (after: number) => Effect.map(store.page(id, failed, after, PAGE_BYTES), (page) =>
    page === null ? [[], Option.none<number>()] as const : [[Buffer.from(page.text)], Option.some(page.last)] as const)).pipe(Stream.buffer({ capacity: 1 }))

  /** Its id; null: no line ended so. */
  const writeOne = Effect.fnUntraced(function*(record: BatchRecord, kind: keyof typeof kinds) {
    const fileId = fileIdOf(record.id, kind)
    if ((yield* files.find(fileId, "all")) !== null) return fileId
    if ((yield* store.page(record.id, kinds[kind], 0, 1)) === null) return null
    yield* bytes.remove(fileId)
    const written = yield* bytes.write(fileId, contentOf(record.id, kinds[kind]))
    const { finalizingAt, cancellingAt, createdAt } = record.state
    const at = finalizingAt ?? cancellingAt ?? createdAt
    yield* files.insert({
      id: fileId, ownerKeyId: record.ownerKeyId, filename: `${record.id}_${kind}.jsonl`, purpose: "batch_output", contentType: "application/jsonl",
      bytes: written.bytes, sha256: written.sha256, status: "completed", statusDetails: null, createdAt: at,
      expiresAt: record.outputExpiresSeconds === null ? null : at + record.outputExpiresSeconds * 1000
    })
    return fileId
  })

  return Effect.fnUntraced(function*(record: BatchRecord) {
    return { outputFileId: yield* writeOne(record, "output"), errorFileId: yield* writeOne(record, "error") }
  })
})
