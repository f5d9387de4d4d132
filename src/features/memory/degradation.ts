/** What memory does while what it depends on fails. */
import type { DegradationRow } from "#schemas/degradation.ts"
import { effect, NEWS_MS, row, stoodStill } from "#src/management/degradation.ts"
import { WAIT_MS } from "./KeyMemories.ts"

const without = effect("admitted", "Models are told what this node knows already; of keys whose entries it must read, requests go on without, and the store is asked again after five seconds.", null, WAIT_MS)

export const degradation: ReadonlyArray<DegradationRow> = [
  row("memory", {
    postgres: { away: without, flushed: effect("admitted", "What is remembered is gone as soon as nodes read it again.", null) },
    node: { paused: stoodStill, killed: effect("admitted", "The other nodes go on; a change reaches them by the records.", NEWS_MS), skewed: effect("admitted", "Expiry is read on the node's own clock.") }
  })
]
