/** What the agent-to-agent server does while what it depends on fails. */
import type { DegradationRow } from "#schemas/degradation.ts"
import { effect, row, STORE_MS } from "#src/management/degradation.ts"

export const degradation: ReadonlyArray<DegradationRow> = [
  row("agent-tasks", {
    postgres: {
      away: effect("denied", "No task is taken: 503. Running tasks go on in memory and are written when the store is back.", 0, STORE_MS),
      flushed: effect("denied", "Tasks are gone with the store: they are unknown.")
    },
    node: { killed: effect("admitted", "Its tasks count as failed after 20 s, and say that they may be sent again.") }
  })
]
