/** What skills do while what they depend on fails. */
import type { DegradationRow } from "#schemas/degradation.ts"
import { effect, row } from "#src/management/degradation.ts"

export const degradation: ReadonlyArray<DegradationRow> = [
  row("skills", {
    postgres: {
      away: effect("denied", "No skill is run and none is changed."),
      flushed: effect("denied", "The skills are gone with the store.")
    },
    node: {
      killed: effect("admitted", "The sandboxes of the node end with it; their executions are settled as errors at the next look.", null)
    }
  })
]
