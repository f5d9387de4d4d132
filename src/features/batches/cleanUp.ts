/** Removes old batches, on one node for all, while BATCH_AND_FILE_AUTO_CLEANUP_ENABLED is on. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Flags } from "#actors/ports/Flags.ts"
import { Placement } from "#actors/ports/Placement.ts"
import * as Sweeps from "#actors/Sweeps.ts"
import { BatchStore } from "./ports/BatchStore.ts"

const EVERY_MS = 3_600_000
const FIRST_AFTER_MS = 30_000
/** Batches that are removed per statement. */
const AT_ONCE = 100
const dayMs = 86_400_000

/** `retentionDays`: how long a batch that is over is kept. */
export const sweep = (retentionDays: number, firstAfterMs = FIRST_AFTER_MS) => Layer.effectDiscard(Effect.gen(function*() {
  const flags = yield* Flags
  const placement = yield* Placement
  const store = yield* BatchStore
  const run = Effect.gen(function*() {
    if (!flags.isOn("BATCH_AND_FILE_AUTO_CLEANUP_ENABLED")) return 0
    const before = (yield* Clock.currentTimeMillis) - retentionDays * dayMs
    let rows = 0
    for (;;) {
      const { length } = yield* store.removeOver({ scope: "all", before, onlyCompleted: false, limit: AT_ONCE })
      rows += length
      if (length < AT_ONCE) return rows
    }
  })
  yield* placement.place("sweep/batches", Sweeps.loop({ loop: "sweep/batches", name: "batches", everyMs: EVERY_MS, run }, firstAfterMs))
}))
