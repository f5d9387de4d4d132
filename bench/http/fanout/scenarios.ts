/**
 * What more processes and many quiet streams cost.
 *
 * Two processes on two free cores answer as much as one, divided by what a request costs more and by the share of the busier one. Both
 * are CPU of the kernel's books, so a machine without free cores can measure them; `fanout.scale` is their product. What two processes
 * take from each other on one core is no part of it, so they are compared with two gateways on one core.
 */
import { setTimeout as sleep } from "node:timers/promises"
import type { Harness } from "#bench/http/Harness.ts"
import type { ClosedResult } from "#bench/http/load/Job.ts"
import { cpuUs, deadline, needsStart, pacedJob, type Scenario, warm } from "#bench/http/Scenario.ts"
import { openFilesLimit, processNanoseconds, tree } from "#bench/http/servers/ProcFs.ts"
import type { Running, Target } from "#bench/http/targets/Target.ts"

const WORKERS = 2
const IDLE_STREAMS = 10_000
/** Open files of the gateway beside its streams, which have two sockets each. */
const OTHER_FILES = 1_000
const IDLE_INTERVAL_MS = 5_000
const IDLE_RAMP_MS = 15_000
/** A slow machine opens them later than planned, and none may end before all are open. */
const IDLE_WARM_MS = 15_000
const SETTLE_MS = 1_500

const onlyGateway = (target: Target): string | null => target.name === "gateway" ? needsStart(target) : "not compared here"

const meanUs = (results: ReadonlyArray<ClosedResult>): number =>
  results.reduce((sum, { cpuNs }) => sum + cpuNs, 0) / 1_000 / results.reduce((sum, { requests }) => sum + requests, 0)

/** What the busiest process of the tree has of the CPU that all used since `before`. */
const busiestShare = (pid: number, before: ReadonlyMap<number, number>): number => {
  const used = tree(pid).map((each) => processNanoseconds(each) - (before.get(each) ?? 0))
  return Math.max(...used) / used.reduce((sum, each) => sum + each, 0)
}

export const fanout: Scenario = {
  id: "fanout",
  title: (sizes) => `the requests of \`request\` to a gateway of ${WORKERS} processes, in turns with two gateways of one process at once, all with Postgres and Redis, ${sizes.concurrency} connections for each process`,
  direct: false,
  fresh: true,
  smokeRounds: 1,
  excludes: onlyGateway,
  run: async (harness: Harness, running, { concurrency, measureMs, warmupMs }) => {
    const one = await running.asNode?.()
    // Processes that share a core take it from each other: so does a second gateway beside the first.
    const other = await running.asNode?.()
    if (one === undefined || other === undefined) return { values: {}, notes: ["no Postgres and redis-server: not measured"] }
    try {
      const several = await running.asWorkers?.(WORKERS)
      if (several === undefined) return { values: {}, notes: ["no such mode: not measured"] }
      try {
        // Each process compiles its own hot functions.
        for (const each of [one, other, several, several]) await warm(harness, each)
        const job = { kind: "closed", script: { kind: "json" }, warmupMs, measureMs: measureMs / 2, deadlineMs: deadline(measureMs) } as const
        // As many connections for each process: with fewer, a turn of its loop finds less to do, and a request costs more.
        const load = ({ endpoint }: Running) =>
          harness.submit<"closed">(endpoint === several.endpoint ? { ...job, endpoint, concurrency: concurrency * WORKERS } : { ...job, endpoint, concurrency, beside: other.endpoint })
        const pid = several.endpoint.pid ?? 0
        const before = new Map(tree(pid).map((each) => [each, processNanoseconds(each)]))
        // There and back again: what drifts meanwhile is charged to both.
        const alone = [await load(one)]
        const both = [await load(several), await load(several)]
        const share = busiestShare(pid, before)
        alone.push(await load(one))
        const ratio = meanUs(both) / meanUs(alone)
        return {
          values: { "fanout.cpuRatio": ratio, "fanout.scale": 1 / (ratio * share) },
          notes: [`the busier process had ${Math.round(share * 100)} % of the CPU`]
        }
      } finally {
        await several.stop()
      }
    } finally {
      await one.stop()
      await other.stop()
    }
  }
}

/** As many as the shell's limit of open files allows, 10,000 at most. */
const idleCount = (): number => Math.min(IDLE_STREAMS, Math.floor((openFilesLimit() - OTHER_FILES) / 2))

export const idleStreams: Scenario = {
  id: "idle",
  title: () => `${idleCount().toLocaleString("en")} open streams, an event every ${IDLE_INTERVAL_MS / 1_000} s in each`,
  direct: false,
  fresh: true,
  smokeRounds: 1,
  excludes: onlyGateway,
  run: async (harness, running) => {
    await warm(harness, running, false)
    await sleep(SETTLE_MS)
    const streams = idleCount()
    const shape = { streams, intervalMs: IDLE_INTERVAL_MS, rampMs: IDLE_RAMP_MS, warmupMs: IDLE_WARM_MS, measureMs: IDLE_INTERVAL_MS }
    const result = await harness.submit<"paced">(pacedJob(running.endpoint, shape))
    return {
      values: {
        "idle.streamKb": (result.rssDuringKb - result.rssBeforeKb) / streams,
        "idle.streamUs": cpuUs(result, streams * (result.windowMs / 1_000))
      },
      notes: result.endedEarly > 0 ? [`${result.endedEarly} streams ended before the measured window did`] : []
    }
  }
}
