/** What leases do while what they depend on fails. */
import type { DegradationRow } from "#schemas/degradation.ts"
import { effect, LOOKUP_MS, REDIS_MS, row } from "#src/management/degradation.ts"

export const degradation: ReadonlyArray<DegradationRow> = [
  row("leases", {
    redis: {
      away: effect("denied", "Leases cannot be proved: calls that carry one and acquisitions are refused with 503 LEASE_SERVICE_UNAVAILABLE."),
      slow: effect("denied", "The same, after the deadline of one exchange.", 0, REDIS_MS),
      flushed: effect("denied", "Every lease is lost and its owner is told; new ones get generations above all that were given.")
    },
    postgres: {
      away: effect("denied", "Leases that stand are renewed and used; acquisitions need a new generation and are refused with 503.", 0, LOOKUP_MS),
      frozen: effect("denied", "The same; an acquisition is refused after the wait for one look-up.", 0, LOOKUP_MS),
      slow: effect("admitted", "An acquisition takes longer by the store's delay; 503 after the wait for one look-up.", 0, LOOKUP_MS),
      flushed: effect("denied", "The keys and connections of leases are gone, and so are the leases. Generations go on above all that Redis remembers; if it was emptied as well they begin anew.")
    },
    node: {
      killed: effect("denied", "Its leases stand until their time is over; any node goes on with them for their owners."),
      paused: effect("denied", "What it wanted to send is confirmed again before it leaves: a lease that ended meanwhile is refused with 409."),
      skewed: effect("admitted", "Leases are granted, kept and ended by Redis's clock alone.")
    }
  })
]
