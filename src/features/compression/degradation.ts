/** What the counting of compression does while what it depends on fails. */
import type { DegradationRow } from "#schemas/degradation.ts"
import { effect, row, STORE_MS } from "#src/management/degradation.ts"

export const degradation: ReadonlyArray<DegradationRow> = [
  row("compression-statistics", {
    postgres: {
      away: effect("admitted", "Prompts are compressed and savings counted in memory, up to 20,000 sums; analytics cannot be read: 503.", null, STORE_MS),
      flushed: effect("admitted", "Counts begin anew.")
    },
    node: { killed: effect("admitted", "What its last second counted is lost.") }
  }),
  row("raw-outputs", {
    postgres: {
      away: effect("admitted", "Prompts are compressed, and whole outputs are not kept; none can be read: 503.", null, STORE_MS),
      flushed: effect("admitted", "They are unknown: 404.")
    },
    node: { killed: effect("admitted", "Whole outputs that its last moments did not write are lost.") }
  })
]
