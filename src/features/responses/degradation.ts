/** What stored responses do while what they depend on fails. */
import type { DegradationRow } from "#schemas/degradation.ts"
import { effect, row, STORE_MS } from "#src/management/degradation.ts"

export const degradation: ReadonlyArray<DegradationRow> = [
  row("stored-responses", {
    postgres: {
      away: effect("denied", "Requests are served, and their responses are not kept. A stored response or conversation cannot be read or continued, and none is made in the background: 503.", 0, STORE_MS),
      flushed: effect("admitted", "They are unknown: 404, and previous_response_id or conversation goes to the provider.")
    },
    node: { killed: effect("admitted", "A response that was made in the background is made again by another process within 40 seconds.") }
  })
]
