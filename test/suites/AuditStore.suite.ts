import { assert, layer as withLayer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { AuditStore } from "#actors/ports/Stores.ts"
import { AuditEntry } from "#schemas/records/AuditEntry.ts"
import { asText, at, auditEntry, kept } from "./records.ts"

const page = { limit: 100, offset: 0 }

export const suite = (name: string, layer: Layer.Layer<AuditStore>): void => {
  withLayer(layer, { excludeTestServices: true })(`AuditStore on ${name}`, (it) => {
    it.effect("query is newest first, the later of two entries of one moment before the earlier, paged, with the total", () =>
      Effect.gen(function*() {
        const store = yield* AuditStore
        for (const [id, second] of [["a", 2], ["b", 1], ["c", 2], ["d", 3]] as const) {
          yield* store.append(auditEntry({ id, timestamp: at(second), actor: "pager" }))
        }
        const all = yield* store.query({ ...page, actor: "pager" })
        assert.deepStrictEqual(all.entries.map((entry) => entry.id), ["d", "c", "a", "b"])
        const second = yield* store.query({ limit: 2, offset: 1, actor: "pager" })
        assert.deepStrictEqual([second.entries.map((entry) => entry.id), second.total], [["c", "a"], 4])
      }))

    it.effect("filters combine; time bounds are inclusive and may carry a zone", () =>
      Effect.gen(function*() {
        const store = yield* AuditStore
        yield* store.append(auditEntry({ id: "f-1", timestamp: "2026-03-01T10:00:00.000Z", action: "filter", target: null, requestId: null }))
        yield* store.append(auditEntry({ id: "f-2", timestamp: "2026-03-01T11:00:00.000Z", action: "filter", resourceType: "node", status: "failure" }))
        yield* store.append(auditEntry({ id: "f-3", timestamp: "2026-03-01T12:00:00.000Z", action: "filter", requestId: "r-9", target: "key-9" }))
        const ids = (query: Parameters<typeof store.query>[0]) =>
          Effect.map(store.query(query), ({ entries }) => entries.map((entry) => entry.id))
        assert.deepStrictEqual(yield* ids({ ...page, action: "filter", from: "2026-03-01T12:00:00+01:00" }), ["f-3", "f-2"])
        assert.deepStrictEqual(yield* ids({ ...page, action: "filter", to: "2026-03-01T11:00:00.000Z" }), ["f-2", "f-1"])
        assert.deepStrictEqual(yield* ids({ ...page, action: "filter", resourceType: "node", status: "failure" }), ["f-2"])
        assert.deepStrictEqual(yield* ids({ ...page, target: "key-9", requestId: "r-9" }), ["f-3"])
        assert.deepStrictEqual(yield* ids({ ...page, action: "'; DROP TABLE audit_log; --" }), [])
      }))

    it.effect("old entries are removed", () =>
      Effect.gen(function*() {
        const store = yield* AuditStore
        for (const day of [1, 2, 3]) yield* store.append(auditEntry({ id: `old-${day}`, timestamp: `2001-01-0${day}T00:00:00.000Z`, actor: "remover" }))
        assert.strictEqual(yield* store.removeBefore(Date.parse("2001-01-03T00:00:00.000Z")), 2)
        assert.deepStrictEqual((yield* store.query({ ...page, actor: "remover" })).entries.map((entry) => entry.id), ["old-3"])
      }))

    it.effect("an entry is written once", () =>
      Effect.gen(function*() {
        const store = yield* AuditStore
        yield* store.append(auditEntry({ id: "once" }))
        assert.strictEqual((yield* Effect.flip(store.append(auditEntry({ id: "once" })))).reason, "conflict")
      }))

    it.effect.prop("any entry comes back as it was put", [AuditEntry], ([given]) =>
      Effect.gen(function*() {
        const store = yield* AuditStore
        const id = crypto.randomUUID()
        yield* store.append({ ...given, id })
        const { entries } = yield* store.query({ limit: 10_000, offset: 0, action: asText(given.action) })
        assert.deepStrictEqual(entries.find((entry) => entry.id === id), kept({ ...given, id }, ["details"]))
      }), { arbitrary: { runs: 15 } })
  })
}
