/** What the upkeep of the database does while what it depends on fails. */
import type { DegradationRow } from "#schemas/degradation.ts"
import { effect, row, untouched } from "#src/management/degradation.ts"

export const degradation: ReadonlyArray<DegradationRow> = [
  row("database-upkeep", {
    postgres: { away: effect("denied", "No setting of it is read or changed, and no table is looked after (503).", null), flushed: untouched }
  })
]
