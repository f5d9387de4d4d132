/** The sweep of memories: what expired goes, and what nobody changed for its days; nodes forget what they knew of it. */
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"
import { DocumentStore } from "#actors/ports/Stores.ts"
import type { MemoryEntry } from "#schemas/memory/MemoryEntry.ts"
import { KeyMemories } from "#src/features/memory/KeyMemories.ts"
import { MemoryStore } from "#src/features/memory/ports/MemoryStore.ts"
import * as Sweep from "#src/features/memory/sweep.ts"
import * as LocalPlacement from "#src/platform/cluster/LocalPlacement.ts"
import * as MemoryMemories from "#test/support/memoryMemories.ts"
import * as MemoryStores from "#test/support/memoryStores.ts"

const iso = (ms: number): string => new Date(ms).toISOString()

describe("the sweep of memories", () => {
  for (const [name, days, setting, left] of [
    ["removes what nobody changed for its days", 2, undefined, ["later"]],
    ["keeps without days what does not expire", 0, undefined, ["later", "old"]],
    ["goes by the setting before the variable", 0, { retention: { memoryEntries: 2 } }, ["later"]],
    ["removes nothing by age while clean-up is off", 2, { retention: { autoCleanup: false } }, ["later", "old"]]
  ] as const) {
    it.effect(name, () => Effect.gen(function*() {
      yield* TestClock.adjust("10 days")
      const now = yield* Clock.currentTimeMillis
      let forgotten = 0
      const known = { forgetAll: () => void forgotten++ } as unknown as KeyMemories["Service"]
      const services = yield* Layer.build(Sweep.layer(days).pipe(Layer.provideMerge(Layer.mergeAll(LocalPlacement.layer, MemoryMemories.layer, MemoryStores.layer, Layer.succeed(KeyMemories, known)))))
      if (setting !== undefined) yield* Context.get(services, DocumentStore).put("setting", "database", setting)
      const store = Context.get(services, MemoryStore)
      const entry = (id: string, fields: Partial<MemoryEntry>): MemoryEntry => ({
        id, apiKeyId: "k", sessionId: "", type: "factual", key: id, content: "c", metadata: {}, createdAt: iso(now), updatedAt: iso(now), expiresAt: null, tokens: 1, ...fields
      })
      yield* store.put(entry("soon", { expiresAt: iso(now + 30_000) }))
      yield* store.put(entry("later", { expiresAt: iso(now + 9_000_000) }))
      yield* store.put(entry("old", { updatedAt: iso(now - 2 * 86_400_000) }))
      yield* TestClock.adjust(29_999)
      assert.strictEqual((yield* store.list({}, 10, 0)).total, 3)
      yield* TestClock.adjust(1)
      assert.deepStrictEqual((yield* store.list({}, 10, 0)).entries.map(({ id }) => id).sort(), [...left])
      assert.strictEqual(forgotten, 1)
      // Nothing went, so nothing is read again.
      yield* TestClock.adjust(3_600_000)
      assert.strictEqual(forgotten, 1)
    }))
  }
})
