/** What batches do while what they depend on fails. */
import type { DegradationRow } from "#schemas/degradation.ts"
import { effect, row, STORE_MS } from "#src/management/degradation.ts"

export const degradation: ReadonlyArray<DegradationRow> = [
  row("batches", {
    postgres: {
      away: effect("queued", "Batches are neither made nor read: 503. Those that run wait with the answers they have, and go on when the store is back.", null, STORE_MS),
      flushed: effect("denied", "The batches are gone with the store: 404.")
    },
    node: {
      killed: effect("queued", "Another node goes on within seconds, or this one when it starts again. Requests that were in flight are made once more.", null),
      skewed: effect("admitted", "Windows of completion follow the clock of the node that runs the batch.")
    },
    disk: effect("queued", "Where files lie on the disk: a batch waits until its files can be written.", null)
  })
]
