/** Writes the answers of a batch into its files. A file's id follows from the batch, so that a repetition writes the same file. */
import { createHash } from "node:crypto"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { BatchRecord } from "#schemas/batches/Batch.ts"
import { FileRecords } from "#src/features/files/ports/FileRecords.ts"
import * as FileId from "#src/features/files/ports/fileId.ts"
import { FileStore } from "#src/features/files/ports/FileStore.ts"
import { OwnIds } from "#src/features/files/ports/OwnIds.ts"
import { BatchStore } from "#src/features/batches/ports/BatchStore.ts"

/** Bytes of answers that are read at once; a longer answer is read alone. */
const PAGE_BYTES = 256 * 1024
/** Lines that are looked at for a page; twice as many behind lines without an answer of the kind, because few may have one. */
const PAGE_LINES = 500

const kinds = { output: false, error: true } as const

export const fileIdOf = (mark: string, batchId: string, kind: keyof typeof kinds): string =>
  FileId.of(mark, createHash("sha256").update(`${batchId}:${kind}`).digest("hex"))

export const make = Effect.gen(function*() {
  const bytes = yield* FileStore
  const files = yield* FileRecords
  const store = yield* BatchStore
  const ownIds = yield* OwnIds

  /** The answers up to the line `last`; the next page is read while one is written. */
  const contentOf = (id: string, failed: boolean, last: number) => Stream.paginate({ after: 0, lines: PAGE_LINES }, ({ after, lines }) =>
    Effect.map(store.page(id, failed, { after, through: Math.min(last, after + lines) }, PAGE_BYTES), ({ text, through }) => [
      text === "" ? [] : [Buffer.from(text)],
      through >= last ? Option.none() : Option.some({ after: through, lines: text === "" ? 2 * lines : PAGE_LINES })
    ] as const)).pipe(Stream.buffer({ capacity: 1 }))

  /** Its id; null: no line ended so. */
  const writeOne = Effect.fnUntraced(function*(record: BatchRecord, kind: keyof typeof kinds) {
    const fileId = fileIdOf((yield* ownIds.own).mark, record.id, kind)
    if ((yield* files.find(fileId, "all")) !== null) return fileId
    const last = yield* store.lastAnswer(record.id, kinds[kind])
    if (last === null) return null
    yield* bytes.remove(fileId)
    const written = yield* bytes.write(fileId, contentOf(record.id, kinds[kind], last))
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
