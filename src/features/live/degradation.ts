/** What live events do while what they depend on fails. */
import type { DegradationRow } from "#schemas/degradation.ts"
import { effect, row } from "#src/management/degradation.ts"

export const degradation: ReadonlyArray<DegradationRow> = [
  row("live-events", {
    redis: { away: effect("admitted", "A dashboard sees the requests of the node that it is connected to, and no others.", null), flushed: effect("admitted", "Nothing is kept there.") },
    postgres: { away: effect("admitted", "Open sockets stay; a new one cannot be admitted and is told to come again (1013).", null) }
  })
]
