/** What the bodies of calls do while what they depend on fails. */
import type { DegradationRow } from "#schemas/degradation.ts"
import { effect, row, STORE_MS } from "#src/management/degradation.ts"

export const degradation: ReadonlyArray<DegradationRow> = [
  row("call-bodies", {
    postgres: {
      away: effect("admitted", "Requests are served, and their bodies are not kept; none can be read: 503.", null, STORE_MS),
      flushed: effect("admitted", "They are unknown: 404.")
    },
    node: { killed: effect("admitted", "Bodies that its last moments did not write are lost; the usage rows are not.") }
  })
]
