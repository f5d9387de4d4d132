/** What plugins do while what they depend on fails. */
import type { DegradationRow } from "#schemas/degradation.ts"
import { effect, NEWS_MS, row } from "#src/management/degradation.ts"

export const degradation: ReadonlyArray<DegradationRow> = [
  row("plugins", {
    postgres: {
      away: effect("admitted", "Hooks run by what is known; none is installed, activated or changed.", null),
      flushed: effect("admitted", "The plugins are gone with the store: their hooks are not called any more.", NEWS_MS)
    },
    node: {
      killed: effect("admitted", "The sandboxes of the node end with it; every other node has its own.")
    }
  })
]
