/** What backups do while what they depend on fails. */
import type { DegradationRow } from "#schemas/degradation.ts"
import { effect, row } from "#src/management/degradation.ts"

export const degradation: ReadonlyArray<DegradationRow> = [
  row("backups", {
    postgres: {
      away: effect("denied", "No backup is made and none is restored (503); those that were made can be listed and removed.", null),
      flushed: effect("admitted", "Backups lie in the data directory: restore the last one.")
    },
    node: {
      killed: effect("denied", "A restore that was cut leaves the records as they were before it.", null),
      skewed: effect("admitted", "The time of a backup is the node's.")
    },
    disk: effect("denied", "No backup is made, so none is restored either (503).")
  })
]
