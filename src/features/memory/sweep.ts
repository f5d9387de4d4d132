/** Removes entries that expired, or that nobody changed for long, on one node for all. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Placement } from "#actors/ports/Placement.ts"
import * as Sweeps from "#actors/Sweeps.ts"
import { KeyMemories } from "./KeyMemories.ts"
import { MemoryStore } from "./ports/MemoryStore.ts"

const EVERY_MS = 3_600_000
const FIRST_AFTER_MS = 30_000
const dayMs = 86_400_000

/** `days`: how long an entry is kept after its last change; 0 = for ever. */
export const layer = (days: number, firstAfterMs = FIRST_AFTER_MS) => Layer.effectDiscard(Effect.gen(function*() {
  const placement = yield* Placement
  const known = yield* KeyMemories
  const store = yield* MemoryStore
  const run = Clock.currentTimeMillis.pipe(
    Effect.flatMap((now) => store.sweep(new Date(now).toISOString(), days === 0 ? null : new Date(now - days * dayMs).toISOString())),
    // Other nodes hear of it by the records; this one alone has no others to tell it.
    Effect.tap((removed) => Effect.sync(() => removed === 0 ? undefined : known.forgetAll()))
  )
  yield* placement.place("sweep/memories", Sweeps.loop({ loop: "sweep/memories", name: "memories", everyMs: EVERY_MS, run }, firstAfterMs))
}))
