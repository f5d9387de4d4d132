/** What breakers and cooldowns do while what they depend on fails. */
import type { DegradationRow } from "#schemas/degradation.ts"
import { effect, row } from "#src/management/degradation.ts"

export const degradation: ReadonlyArray<DegradationRow> = [
  row("breakers", {
    redis: { away: effect("admitted", "Fails open: each node decides by its own failures, and each may send its own probe.", null) },
    node: {
      killed: effect("admitted", "A probe that was lost with its node may be sent by another one after 60 s.", null),
      paused: effect("admitted", "What it did not hear it finds out by calling.", null),
      skewed: effect("admitted", "Nodes tell each other durations. A rest that is read from a connection's record lasts longer, or not as long, by the difference of the clocks; every one ends.", null)
    }
  }),
  row("cooldowns", {
    redis: {
      away: effect("admitted", "Fails open: nodes hear of cooldowns through the records within seconds, and each learns of locked models by its own calls.", null),
      flushed: effect("admitted", "What is known stays where it is known; a node that starts meanwhile knows no locked models.", null)
    },
    postgres: { away: effect("admitted", "Nodes tell each other through Redis; what was not stored is not known after a restart.", null) }
  })
]
