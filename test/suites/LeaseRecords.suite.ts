import { assert, layer as withLayer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { LeaseRecords } from "#actors/lease/LeaseRecords.ts"
import type { LeaseChange } from "#schemas/protocols/Lease.ts"

const change = (owner: string, more: Partial<LeaseChange> = {}): LeaseChange => ({
  kind: "ACQUIRED", reason: null, at: 1_000,
  lease: { owner, keyId: "key-1", keyPrint: "", connection: "c-1", generation: 1, acquiredAt: 1_000, renewedAt: 1_000, expiresAt: 121_000 },
  ...more
})

export const suite = (name: string, layer: Layer.Layer<LeaseRecords>): void => {
  withLayer(layer, { excludeTestServices: true })(`LeaseRecords on ${name}`, (it) => {
    it.effect("generations of an owner rise by one, also when many draw at once; other owners count for themselves", () =>
      Effect.gen(function*() {
        const records = yield* LeaseRecords
        const drawn = yield* Effect.all(Array.from({ length: 20 }, () => records.nextGeneration("many", 0)), { concurrency: "unbounded" })
        assert.deepStrictEqual([...drawn].sort((a, b) => a - b), Array.from({ length: 20 }, (_, i) => i + 1))
        assert.strictEqual(yield* records.nextGeneration("one", 0), 1)
      }))

    it.effect("a generation is above what the lease store has seen, even if these records know less", () =>
      Effect.gen(function*() {
        const records = yield* LeaseRecords
        assert.strictEqual(yield* records.nextGeneration("behind", 41), 42)
        assert.strictEqual(yield* records.nextGeneration("behind", 7), 43)
        assert.strictEqual(yield* records.nextGeneration("behind", 99), 100)
      }))

    it.effect("changes come back newest first, by owner or of all; writing one again changes nothing", () =>
      Effect.gen(function*() {
        const records = yield* LeaseRecords
        const acquired = change("audited")
        const released = change("audited", { kind: "RELEASED", reason: "OWNER_EXIT", at: 2_000 })
        yield* records.append([acquired, change("other")])
        yield* records.append([released, acquired])
        yield* records.append([])
        assert.deepStrictEqual(yield* records.changes({ owner: "audited", limit: 10 }), [released, acquired])
        assert.deepStrictEqual(yield* records.changes({ owner: "audited", limit: 1 }), [released])
        assert.isAtLeast((yield* records.changes({ limit: 10 })).length, 3)
      }))

    it.effect("old changes are removed, more of them than one statement takes", () =>
      Effect.gen(function*() {
        const records = yield* LeaseRecords
        yield* records.append(Array.from({ length: 2_100 }, (_, i) => change("old", { at: i - 3_000 })))
        assert.strictEqual(yield* records.removeBefore(-1_000), 2_000)
        assert.strictEqual(yield* records.removeBefore(-1_000), 0)
        assert.deepStrictEqual((yield* records.changes({ owner: "old", limit: 1_000 })).map(({ at }) => at), Array.from({ length: 100 }, (_, i) => -901 - i))
      }))
  })
}
