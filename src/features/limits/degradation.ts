/** What limits do while what they depend on fails. */
import type { DegradationRow } from "#schemas/degradation.ts"
import { degradation as limits } from "#actors/limits/degradation.ts"
import { declared, effect, LOOKUP_MS } from "#src/management/degradation.ts"

export const degradation: ReadonlyArray<DegradationRow> = [
  declared(limits, {
    redis: { away: effect("denied", limits.redis, limits.stalenessMs, limits.addedLatencyMs), flushed: effect("admitted", "Amounts are read from the ledger again, sessions are counted anew.") },
    postgres: {
      away: effect("denied", limits.postgres, limits.stalenessMs, LOOKUP_MS),
      slow: effect("admitted", "The first use of a limit waits for the ledger's sum, at most for one look-up; after that 503, and the sum is there when the request comes again.", limits.stalenessMs, LOOKUP_MS),
      flushed: effect("admitted", "Amounts that nodes and Redis know stand; what is read from the ledger again counts from nothing.", limits.stalenessMs)
    },
    node: {
      killed: effect("admitted", limits.killed, null),
      paused: effect("admitted", limits.paused, null),
      skewed: effect("admitted", "Rates and sessions are counted by Redis's clock. The window of an amount begins and ends by each node's own clock: around its edge nodes that differ count in two windows, each within its limit.")
    }
  })
]
