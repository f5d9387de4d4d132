/** What the gateway reads about itself at a scrape of the metrics: the process, the ledger, the upstream pools, the log. */
import type { Spool } from "#src/platform/spool/Spool.ts"
import type { Reconciliation } from "#actors/request/ports/Ledger.ts"
import type { Reading } from "./Metrics.ts"

const gauge = (name: string, help: string, read: () => number, labels: Reading["labels"] = {}): Reading => ({ name, help, type: "gauge", read, labels })
const total = (name: string, help: string, read: () => number, labels: Reading["labels"] = {}): Reading => ({ name, help, type: "counter", read, labels })

/** Process metrics under their usual Prometheus names; `late`: seconds that a percentile of the event loop's timers was late. */
export const processReadings = (startedAtMs: number, late: (percentile: number) => number): ReadonlyArray<Reading> => {
  const lag = (percentile: number, quantile: string): Reading =>
    gauge("gateway_event_loop_lag_seconds", "Delay of the event loop since the start.", () => late(percentile), { quantile })
  return [
    total("process_cpu_user_seconds_total", "User CPU time.", () => process.cpuUsage().user / 1e6),
    total("process_cpu_system_seconds_total", "System CPU time.", () => process.cpuUsage().system / 1e6),
    gauge("process_resident_memory_bytes", "Resident memory.", () => process.memoryUsage.rss()),
    gauge("process_heap_bytes", "Heap in use.", () => process.memoryUsage().heapUsed),
    gauge("process_start_time_seconds", "Start time since the epoch.", () => startedAtMs / 1000),
    lag(50, "0.5"), lag(99, "0.99"), lag(100, "1")
  ]
}

/** The ledger's own books; a gap other than 0 is a defect to alert on. */
export const ledgerReadings = (reconciliation: () => Reconciliation): ReadonlyArray<Reading> => [
  total("gateway_ledger_started_total", "Attempts opened, including those replayed from the journal.", () => reconciliation().started),
  total("gateway_ledger_settled_total", "Attempts settled, including those replayed from the journal.", () => reconciliation().settled),
  total("gateway_ledger_stored_total", "Settled rows that the record store has acknowledged.", () => reconciliation().stored),
  gauge("gateway_ledger_backlog_rows", "Settled rows in the journal that the record store has not acknowledged.", () => reconciliation().journaled),
  gauge("gateway_ledger_live_attempts", "Attempts that are running.", () => reconciliation().live),
  gauge("gateway_ledger_gap", "Attempts started minus settled minus running; anything but 0 is a defect.", () => reconciliation().gap),
  gauge("gateway_ledger_oldest_pending_seconds", "Age of the oldest row that waits for the record store.", () => reconciliation().oldestPendingMs / 1000),
  gauge("gateway_ledger_failing", "1 while the journal or the record store refuses writes.", () => reconciliation().lastError === null ? 0 : 1)
]

export interface PoolStats {
  readonly origin: string
  readonly running: number
  readonly pending: number
}

/** Open and waiting upstream calls over all origins: an origin is an operator's data, not a label. */
export const upstreamReadings = (stats: () => ReadonlyArray<PoolStats>): ReadonlyArray<Reading> => [
  gauge("gateway_upstream_calls_running", "Upstream calls that hold a connection.", () => stats().reduce((sum, pool) => sum + pool.running, 0)),
  gauge("gateway_upstream_calls_pending", "Upstream calls that wait for a connection.", () => stats().reduce((sum, pool) => sum + pool.pending, 0)),
  gauge("gateway_upstream_origins", "Upstream origins with a pool.", () => stats().length)
]

/** Bodies of requests that are arriving, waiting or not answered yet. */
export const bodyReadings = (held: { readonly bytes: number; readonly most: number; readonly refused: number }): ReadonlyArray<Reading> => [
  gauge("gateway_held_body_bytes", "Bytes of request bodies that are held.", () => held.bytes),
  gauge("gateway_held_body_bytes_max", "Bytes beyond which requests are refused (GATEWAY_MAX_HELD_BODY_BYTES).", () => held.most),
  total("gateway_held_body_refusals_total", "Requests refused because too many bytes of bodies were held.", () => held.refused)
]

export const spoolReadings = ({ failed, stored }: Pick<Spool["Service"], "failed" | "stored">): ReadonlyArray<Reading> => [
  gauge("gateway_spool_bytes", "Bytes of uploads in files of the data directory.", () => stored.bytes),
  gauge("gateway_spool_bytes_max", "Bytes beyond which uploads are refused (GATEWAY_MAX_SPOOL_BYTES).", () => stored.most),
  total("gateway_spool_refusals_total", "Uploads refused because too many bytes of uploads were kept.", () => stored.refused),
  total("gateway_spool_failures_total", "Uploads that the file system of the data directory did not take.", failed)
]

/** Lines that the log lost because its reader was too slow. */
export const logReadings = (sink: { readonly dropped: number; readonly bufferedBytes: number }): ReadonlyArray<Reading> => [
  total("gateway_log_dropped_lines_total", "Log lines dropped because the output was blocked.", () => sink.dropped),
  gauge("gateway_log_buffered_bytes", "Log bytes that wait for the output.", () => sink.bufferedBytes)
]
