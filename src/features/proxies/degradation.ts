/** What the counts of outbound proxies do while what they depend on fails. */
import type { DegradationRow } from "#schemas/degradation.ts"
import { effect, row, STORE_MS } from "#src/management/degradation.ts"

export const degradation: ReadonlyArray<DegradationRow> = [
  row("proxy-health", {
    postgres: {
      away: effect("admitted", "Calls leave as they did and are counted in memory; counts cannot be read: 503.", null, STORE_MS),
      flushed: effect("admitted", "Counts begin anew.")
    },
    node: { killed: effect("admitted", "What its last seconds counted is lost.") }
  })
]
