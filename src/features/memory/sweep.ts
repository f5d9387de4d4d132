/** Removes entries that expired, or that did not change for long, on one node for all. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Placement } from "#actors/ports/Placement.ts"
import { DocumentStore } from "#actors/ports/Stores.ts"
import * as Sweeps from "#actors/Sweeps.ts"
import { databaseSettingsOf, removedBefore, settingKey } from "#schemas/upkeep/DatabaseSettings.ts"
import { KeyMemories } from "./KeyMemories.ts"
import { MemoryStore } from "./ports/MemoryStore.ts"

const EVERY_MS = 3_600_000
const FIRST_AFTER_MS = 30_000

/** `days`: how long an entry is kept after its last change, unless the setting `database` says otherwise; 0 = for ever. */
export const layer = (days: number, firstAfterMs = FIRST_AFTER_MS) => Layer.effectDiscard(Effect.gen(function*() {
  const placement = yield* Placement
  const documents = yield* DocumentStore
  const known = yield* KeyMemories
  const store = yield* MemoryStore
  /** The setting is read at each run: a change needs no start. */
  const run = Effect.gen(function*() {
    const now = yield* Clock.currentTimeMillis
    const { retention } = databaseSettingsOf(yield* documents.get("setting", settingKey))
    const before = removedBefore(retention, retention.memoryEntries ?? days, now)
    const removed = yield* store.sweep(new Date(now).toISOString(), before === null ? null : new Date(before).toISOString())
    // Other nodes hear of it by the records; this one alone has no others to tell it.
    if (removed > 0) known.forgetAll()
    return removed
  })
  yield* placement.place("sweep/memories", Sweeps.loop({ loop: "sweep/memories", name: "memories", everyMs: EVERY_MS, run }, firstAfterMs))
}))
