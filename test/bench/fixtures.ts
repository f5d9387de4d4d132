import type { Budgets } from "#bench/http/report/budgets.ts"
import { rowsOf } from "#bench/http/report/comparison.ts"
import type { Measurement } from "#bench/http/report/metrics.ts"
import type { Results } from "#bench/http/report/report.ts"

export const measurement = (target: string, round: number, values: Readonly<Record<string, number>>): Measurement => ({
  scenario: "any", target, round, values, foreignCores: 0, notes: []
})

export const disturbed = (measured: Measurement): Measurement => ({ ...measured, foreignCores: 1.5 })

export const budgets: Budgets = {
  subject: "gateway",
  reference: "nginx",
  fallback: { reference: "bare", timesReference: { "request.cpuUs": 2 } },
  smokeMargin: 1.5,
  smokeTimedMargin: 4,
  budgets: [
    { metric: "request.cpuUs", bound: "atMost", reach: 3, then: 2, guard: 3.6 },
    { metric: "latency.p99Ms", bound: "atMost", reach: 2, then: 1, guard: 5 },
    { metric: "capacity.streams", bound: "atLeast", reach: 1_000, then: 1_200, guard: 700 },
    { metric: "slow.peakMb", bound: "atMost", reach: 250, then: null, guard: null }
  ]
}

export const measurements: ReadonlyArray<Measurement> = [
  measurement("nginx", 1, { "request.cpuUs": 10 }),
  measurement("gateway", 1, { "request.cpuUs": 30 }),
  measurement("nginx", 2, { "request.cpuUs": 20 }),
  measurement("gateway", 2, { "request.cpuUs": 50 }),
  measurement("nginx", 3, { "request.cpuUs": 10 }),
  measurement("gateway", 3, { "request.cpuUs": 28 }),
  measurement("direct", 1, { "latency.p99Ms": 1 }),
  measurement("gateway", 1, { "latency.p99Ms": 1.5 })
]

export const results: Results = {
  startedAt: "2030-01-02T03:04:05.000Z",
  commit: { id: "0a1b2c3d", changed: false },
  seconds: 60,
  profile: "quick",
  rounds: 3,
  tickMs: 2,
  sizes: {
    measureMs: 3_000, warmupMs: 500, concurrency: 64, ratePerSecond: 1_000, streams: 500, intervalMs: 20,
    memoryStreams: 1_000, readers: 200, megabytes: 4, batchLines: 20_000
  },
  machine: { cpu: "a <fast> CPU", cores: 2, memoryGb: 8, pinned: true, node: "22.0.0", nginx: "1.22.1", haproxy: null },
  reference: "nginx",
  subject: "gateway",
  records: "postgres",
  scenarios: [{ id: "request", title: "small requests" }],
  rows: rowsOf(measurements, "nginx"),
  judgements: [],
  failures: [],
  measurements
}
