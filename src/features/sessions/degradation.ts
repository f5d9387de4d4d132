/** What hand-offs of sessions do while what they depend on fails. */
import type { DegradationRow } from "#schemas/degradation.ts"
import { effect, row, untouched } from "#src/management/degradation.ts"

export const degradation: ReadonlyArray<DegradationRow> = [
  row("session-hand-offs", {
    redis: { away: effect("admitted", "A session that another node goes on with may get no summary of what came before, and a conversation that another node goes on with may leave the target that holds the cache of its prompt.", null), flushed: untouched }
  })
]
