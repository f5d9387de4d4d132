/** What files do while what they depend on fails. */
import type { DegradationRow } from "#schemas/degradation.ts"
import { effect, row, STORE_MS } from "#src/management/degradation.ts"

export const degradation: ReadonlyArray<DegradationRow> = [
  row("files", {
    postgres: {
      away: effect("denied", "Files can be neither listed, read, written nor deleted: 503. An upload that ends meanwhile is answered 503; the sweep removes its bytes.", 0, STORE_MS),
      flushed: effect("admitted", "They are unknown: 404. Their bytes are removed by the sweep.")
    },
    disk: effect("denied", "Uploads get 507 insufficient_storage, and nothing of them is kept. Files that are there are served."),
    node: { killed: effect("admitted", "An upload ends with its node and leaves no file; the sweep removes its bytes. Files in a bucket or a shared directory are served by every other node.") }
  })
]
