/** What keys do while what they depend on fails. */
import type { DegradationRow } from "#schemas/degradation.ts"
import { effect, LOOKUP_MS, row, stoodStill } from "#src/management/degradation.ts"
import { AWAY_MS, FRESH_MS } from "./CachedKeys.ts"

/** How long a key that was read is used. */
const KEY_MS = FRESH_MS + AWAY_MS

export const degradation: ReadonlyArray<DegradationRow> = [
  row("api-keys", {
    postgres: {
      away: effect("denied", "A key that was used in the last eleven minutes is admitted from memory; any other cannot be looked up and is refused with 503.", KEY_MS, LOOKUP_MS),
      frozen: effect("denied", "As refused, after the wait for one look-up (GATEWAY_LOOKUP_TIMEOUT_MS); while the store says nothing at all, at once.", KEY_MS, LOOKUP_MS),
      slow: effect("admitted", "A key that is not in memory waits for the store, at most for one look-up; after that 503, and the key is known when the request comes again.", KEY_MS, LOOKUP_MS),
      flushed: effect("denied", "Keys are unknown (401) as soon as nodes look again, at the latest after their minute in memory.", 60_000)
    },
    node: { paused: stoodStill, skewed: effect("admitted", "A key's expiry is read on the node's own clock.") }
  })
]
