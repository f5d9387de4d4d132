/** What webhooks do while what they depend on fails. */
import type { DegradationRow } from "#schemas/degradation.ts"
import { effect, row } from "#src/management/degradation.ts"

export const degradation: ReadonlyArray<DegradationRow> = [
  row("webhooks", {
    postgres: {
      away: effect("queued", "Events of requests stay in the ledger's journal, others in a file of the data directory (64 MiB); deliveries go on when the store is back.", null),
      flushed: effect("denied", "The webhooks are gone with the store, and with them what waited for them.")
    },
    node: {
      killed: effect("queued", "Events are told by another node, or when it starts again: at least once, so a copy may come.", null),
      skewed: effect("admitted", "Turns are taken by the store's clock; the time in an event is the node's.")
    },
    disk: effect("denied", "Events that are not in the ledger's journal (limits that were passed, failures without an attempt) are lost, and that is logged.")
  })
]
