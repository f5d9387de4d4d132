import { assert, layer as withLayer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { type FileRecord, FileRecords, type FileScope } from "#src/features/files/ports/FileRecords.ts"
import * as FileId from "#src/features/files/ports/fileId.ts"

const one = (fields: Partial<FileRecord> = {}): FileRecord => ({
  id: FileId.make("0123abcd"), ownerKeyId: "k1", filename: "häß \"quoted\" 日本 😀.jsonl", purpose: "batch", contentType: "application/jsonl", bytes: 600 * 1024 ** 3, sha256: "ab".repeat(32),
  status: "processed", statusDetails: null, createdAt: 1_763_000_000_123, expiresAt: null, ...fields
})
const by = (keyId: string): FileScope => ({ keyId })

export const suite = (name: string, layer: Layer.Layer<FileRecords>): void => {
  withLayer(layer, { excludeTestServices: true })(`FileRecords on ${name}`, (it) => {
    it.effect("a record comes back as it was inserted, to its key and to operators alone", () => Effect.gen(function*() {
      const records = yield* FileRecords
      const [own, nobodys] = [one({ statusDetails: "why", expiresAt: 1_763_000_001_000 }), one({ ownerKeyId: null })]
      yield* records.insert(own)
      yield* records.insert(nobodys)
      assert.strictEqual((yield* Effect.flip(records.insert(own))).reason, "conflict")
      assert.deepStrictEqual(yield* records.find(own.id, by("k1")), own)
      assert.deepStrictEqual(yield* records.find(own.id, "all"), own)
      assert.isNull(yield* records.find(own.id, by("k2")))
      assert.deepStrictEqual(yield* records.find(nobodys.id, "all"), nobodys)
      assert.isNull(yield* records.find(nobodys.id, by("k1")))
      assert.isNull(yield* records.find("file-\0", "all"))
      assert.isFalse(yield* records.remove(own.id, by("k2")))
      assert.isTrue(yield* records.remove(own.id, by("k1")))
      assert.isFalse(yield* records.remove(own.id, "all"))
      assert.isTrue(yield* records.remove(nobodys.id, "all"))
    }))

    it.effect("pages follow each other in both orders, by purpose and by key, also among files of one moment", () => Effect.gen(function*() {
      const records = yield* FileRecords
      const times = [1, 2, 2, 2, 3, 4]
      const ids: Array<string> = []
      for (const [i, createdAt] of times.entries()) {
        const record = one({ ownerKeyId: "pages", createdAt, purpose: i % 2 === 0 ? "batch" : "vision", id: `file-${String(i).repeat(32)}` })
        ids.push(record.id)
        yield* records.insert(record)
      }
      yield* records.insert(one({ ownerKeyId: "other", createdAt: 2 }))
      const all = Effect.fnUntraced(function*(order: "asc" | "desc", purpose: string | null, limit: number) {
        const found: Array<string> = []
        for (let after: string | null = null;;) {
          const page: { readonly records: ReadonlyArray<FileRecord>; readonly hasMore: boolean } | null = yield* records.list({ scope: by("pages"), purpose, after, order, limit })
          if (page === null) return null
          found.push(...page.records.map(({ id }) => id))
          if (!page.hasMore) return found
          after = found.at(-1) ?? null
        }
      })
      for (const limit of [1, 2, 6, 100]) {
        assert.deepStrictEqual(yield* all("asc", null, limit), ids)
        assert.deepStrictEqual(yield* all("desc", null, limit), ids.toReversed())
        assert.deepStrictEqual(yield* all("desc", "vision", limit), [ids[5], ids[3], ids[1]])
      }
      assert.isNull(yield* records.list({ scope: by("other"), purpose: null, after: ids[0] ?? "", order: "asc", limit: 5 }))
      assert.isTrue(((yield* records.list({ scope: "all", purpose: null, after: null, order: "asc", limit: 100 }))?.records.length ?? 0) >= 7)
    }))

    it.effect("a status changes until the file expires; an expired one goes after its time, and has no bytes any more", () => Effect.gen(function*() {
      const records = yield* FileRecords
      const [soon, later, never] = [one({ expiresAt: 5_000 }), one({ expiresAt: 9_000 }), one()]
      for (const record of [soon, later, never]) yield* records.insert(record)
      assert.isTrue(yield* records.setStatus(soon.id, "error", "Line 3 is no JSON"))
      assert.deepInclude(yield* records.find(soon.id, "all"), { status: "error", statusDetails: "Line 3 is no JSON" })
      assert.deepStrictEqual(yield* records.expire(4_999, 10), [])
      assert.deepStrictEqual(yield* records.expire(5_000, 10), [soon.id])
      assert.deepStrictEqual(yield* records.expire(5_000, 10), [])
      assert.isFalse(yield* records.setStatus(soon.id, "processed", null))
      assert.strictEqual((yield* records.find(soon.id, by("k1")))?.status, "expired")
      const unknown = FileId.make("0123abcd")
      assert.deepStrictEqual(yield* records.known([soon.id, later.id, never.id, unknown]), new Set([later.id, never.id]))
      assert.deepStrictEqual(yield* records.known([]), new Set())
      assert.strictEqual(yield* records.removeExpiredBefore(5_000), 0)
      assert.strictEqual(yield* records.removeExpiredBefore(5_001), 1)
      assert.isNull(yield* records.find(soon.id, "all"))
      assert.isFalse(yield* records.setStatus(unknown, "processed", null))
    }))
  })
}
