/** What searches do while what they depend on fails. */
import type { DegradationRow } from "#schemas/degradation.ts"
import { effect, row, STORE_MS } from "#src/management/degradation.ts"

export const degradation: ReadonlyArray<DegradationRow> = [
  row("search-statistics", {
    postgres: {
      away: effect("admitted", "Searches are served and counted in memory, up to 20,000 sums; statistics cannot be read: 503.", null, STORE_MS),
      flushed: effect("admitted", "Counts begin anew.")
    },
    node: { killed: effect("admitted", "What its last second counted is lost; the usage rows have it.") }
  })
]
