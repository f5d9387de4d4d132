/** Rows of the degradation contract that belong to no feature: the lane, the ledger, the configuration, the management API and the log. */
import type { DegradationRow } from "#schemas/degradation.ts"
import { effect, LOOKUP_MS, NEWS_MS, row, stoodStill, STORE_MS } from "#src/management/degradation.ts"

export const platformRows: ReadonlyArray<DegradationRow> = [
  row("inference", {
    postgres: {
      away: effect("admitted", "Requests are planned from the snapshot in memory and accounted for in the journal.", null),
      flushed: effect("denied", "Providers and connections are gone: requests find no target until they are made again or a backup is restored.", NEWS_MS)
    },
    disk: effect("denied", "A request whose start cannot be journaled is refused with 503 rather than served unaccounted."),
    node: {
      killed: effect("denied", "Its requests end with their sockets, each with a row; the other nodes serve."),
      paused: effect("queued", "Its requests wait in its sockets until it goes on, or end by their deadlines; the other nodes serve.", null, null)
    }
  }),
  row("ledger", {
    postgres: {
      away: effect("queued", "Settled rows stay in the journal and are inserted once the store is back; the backlog is shown.", null),
      flushed: effect("admitted", "Rows that the store had acknowledged are gone with it and cannot be made again; those in the journal are inserted.")
    },
    disk: effect("denied", "No attempt starts without its record on disk."),
    node: {
      killed: effect("queued", "Its rows are in its journal and are inserted when it starts again, or by another node that finds the same data directory; attempts that were open become rows with outcome crashed.", null),
      paused: effect("queued", "Its rows are inserted when it goes on.", null),
      skewed: effect("admitted", "Rows carry the clock of the node that wrote them; durations are measured, not subtracted from it.")
    }
  }),
  row("configuration", {
    redis: { away: effect("admitted", "Redis only rings: nodes hear of changes by polling.", NEWS_MS) },
    postgres: {
      away: effect("admitted", "Every node acts on its last snapshot; changes are refused with 503.", null),
      slow: effect("admitted", "Changes take effect later by the store's delay."),
      flushed: effect("admitted", "What is gone from the store is gone on every node at its next look; a database without tables needs a restart, which makes them.", NEWS_MS)
    },
    node: { paused: stoodStill }
  }),
  row("management", {
    postgres: {
      away: effect("denied", "Reads of records and all changes are refused with 503; health, metrics and the snapshot's views answer."),
      frozen: effect("denied", "The same: a caller that must be looked up is refused after GATEWAY_LOOKUP_TIMEOUT_MS, what had begun ends after the store's deadline; a change waits 5 s for the changes before it.", 0, STORE_MS),
      slow: effect("admitted", "Calls take longer by the store's delay, each within its deadline.", 0, STORE_MS),
      flushed: effect("denied", "Sessions and passwords are gone: sign in as on a first start, then restore a backup.")
    },
    node: { skewed: effect("admitted", "Sessions are dated by the node that began them.") }
  }),
  row("audit", { postgres: { away: effect("admitted", "The call goes on after a moment; that its entry was not stored in time is logged.", 0, LOOKUP_MS) } }),
  row("uploads", {
    disk: effect("denied", "A form with more than 256 KiB of files is refused with 507 before it is sent on; nothing of it is kept. Smaller forms need no disk."),
    node: { killed: effect("denied", "Uploads end with their sockets; their files are gone with the process.") }
  }),
  row("logs", { log: effect("admitted", "Lines are kept up to a bound and dropped beyond it, counted; no request waits for a line.") })
]
