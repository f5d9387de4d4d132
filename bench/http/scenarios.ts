/** What is measured. Each scenario turns one run against one target into numbers; content is verified in all of them. */
import { setTimeout as sleep } from "node:timers/promises"
import { clusterRatio } from "./clusterRatio.ts"
import type { Endpoint, OpenResult, PacedResult } from "./load/Job.ts"
import { embeddings, speech } from "./mediaScenarios.ts"
import { bulkEvents } from "./payload.ts"
import { residentKb, treeResidentKb } from "#bench/http/servers/ProcFs.ts"
import { BURST_EVENTS, cpuUs, deadline, needsStart, pacedJob, type Scenario, warm, WARM_MS } from "./Scenario.ts"
import { sockets } from "./socketScenario.ts"
import type { Target } from "./targets/Target.ts"
import { fanout, idleStreams } from "./fanout/scenarios.ts"
import { instructionCount } from "./tiers/instructions.ts"
import { tierCosts } from "./tiers/tierScenario.ts"
import { uploads } from "./uploadScenario.ts"
import { batches } from "./work/batches.ts"
import { files } from "./work/files.ts"

const BURST_STREAMS = 16
const SLOW_STALL_MS = 1_000
const SLOW_DEADLINE_MS = 240_000
const IDLE_MS = 1_500
const AWAKE_MS = 5_000
const ASLEEP_MS = 60_000
const WAKE_MS = 2_000
const QUIET_INTERVAL_MS = 1_000
const BUSY_INTERVAL_MS = 100
const MEMORY_RAMP_MS = 1_000
const MEMORY_MEASURE_MS = 1_000
const CAPACITY_STEPS = [300, 500, 700, 850, 1_000, 1_200]
const CAPACITY_P99_MS = 10
const CAPACITY_MEASURE_MS = 2_000

const always = (): null => null
const needsPid = (target: Target): string | null => target.name === "direct" ? "no process of its own" : null
const comments = (count: number): ReadonlyArray<string> => count === 0 ? [] : [`${count} SSE comments were added to the streams`]

const lateness = ({ lagMs }: OpenResult): ReadonlyArray<string> =>
  lagMs.p99 > 5 ? [`the load generator itself was up to ${lagMs.p99.toFixed(1)} ms late (p99)`] : []

/** A wrong rate means that mock or load generator could not keep up: the number would describe them. */
const paceNote = (result: PacedResult, streams: number, intervalMs: number): ReadonlyArray<string> => {
  if (result.endedEarly > 0) return [`${result.endedEarly} streams ended before the measured window did`]
  const share = result.events / ((streams * result.windowMs) / intervalMs)
  return share > 0.95 && share < 1.05 ? [] : [`only ${Math.round(share * 100)} % of the paced rate was reached`]
}

const request: Scenario = {
  id: "request",
  title: (sizes) => `small non-streamed requests, ${sizes.concurrency} keep-alive connections, saturated`,
  direct: false,
  fresh: false,
  smokeRounds: 3,
  excludes: needsPid,
  run: async (harness, { endpoint }, sizes) => {
    const before = await harness.upstreamRequests()
    const result = await harness.submit<"closed">({
      kind: "closed",
      endpoint,
      script: { kind: "json" },
      concurrency: sizes.concurrency,
      warmupMs: sizes.warmupMs,
      measureMs: sizes.measureMs,
      deadlineMs: deadline(sizes.measureMs)
    })
    const reached = (await harness.upstreamRequests()) - before
    if (reached < result.requests) throw new Error(`${result.requests} answers, but only ${reached} requests reached the upstream`)
    return {
      values: {
        ...(endpoint.pid === null ? {} : {
          "request.cpuUs": cpuUs(result, result.requests),
          "request.mainUs": result.mainCpuNs / 1_000 / result.requests
        }),
        "request.perSecond": result.requests / (result.windowMs / 1_000)
      },
      notes: []
    }
  }
}

const combo: Scenario = {
  id: "combo",
  title: (sizes) => `the requests of \`request\` through a combo of four targets, in turns with the same by the model's own id, ${sizes.concurrency} connections`,
  direct: false,
  // A gateway without combos resolves models faster: no other scenario may meet this one's.
  fresh: true,
  smokeRounds: 1,
  excludes: needsStart,
  run: async (harness, running, sizes) => {
    const { combine, endpoint } = running
    if (combine === undefined) return { values: {}, notes: ["there are no combos: not measured"] }
    const load = (to: Endpoint, measureMs: number) => harness.submit<"closed">({
      kind: "closed",
      endpoint: to,
      script: { kind: "json" },
      concurrency: sizes.concurrency,
      warmupMs: sizes.warmupMs,
      measureMs,
      deadlineMs: deadline(measureMs)
    })
    await warm(harness, running)
    const four = await combine()
    await load(four, WARM_MS)
    await running.rest?.()
    // There and back again: what drifts meanwhile is charged to both.
    const plain = [await load(endpoint, sizes.measureMs / 2)]
    const combined = [await load(four, sizes.measureMs / 2), await load(four, sizes.measureMs / 2)]
    plain.push(await load(endpoint, sizes.measureMs / 2))
    const meanUs = (results: typeof plain): number =>
      results.reduce((sum, { cpuNs }) => sum + cpuNs, 0) / 1_000 / results.reduce((sum, { requests }) => sum + requests, 0)
    const [plainUs, comboUs] = [meanUs(plain), meanUs(combined)]
    return { values: { "request.comboUs": comboUs, "request.comboRatio": comboUs / plainUs }, notes: [] }
  }
}

const cluster: Scenario = {
  id: "cluster",
  title: (sizes) => `the requests of \`request\` to a gateway with Postgres and Redis, in turns with the same without Redis, ${sizes.concurrency} connections`,
  direct: false,
  fresh: true,
  smokeRounds: 1,
  excludes: needsStart,
  run: async (harness, running, { concurrency, measureMs, warmupMs }) => {
    const job = { kind: "closed", script: { kind: "json" }, concurrency, warmupMs, measureMs: measureMs / 2, deadlineMs: deadline(measureMs) } as const
    const both = await clusterRatio(harness, running, job, (node) => warm(harness, node))
    if (both === null) return { values: {}, notes: ["no Postgres and redis-server, or no such mode: not measured"] }
    return { values: { "cluster.cpuUs": both.clusterUs, "cluster.cpuRatio": both.clusterUs / both.aloneUs }, notes: [`without Redis ${both.aloneUs.toFixed(1)} us`] }
  }
}

const paced: Scenario = {
  id: "paced",
  title: (sizes) => `${sizes.streams} streams, one event every ${sizes.intervalMs} ms each`,
  direct: true,
  fresh: false,
  smokeRounds: 2,
  excludes: always,
  run: async (harness, { endpoint, stalls }, sizes) => {
    const before = await stalls?.()
    const result = await harness.submit<"paced">(pacedJob(endpoint, sizes))
    const after = await stalls?.()
    return {
      values: {
        ...(before === undefined || after === undefined ? {} : { "paced.stalledPercent": 100 * (after.late - before.late) / (after.looks - before.looks) }),
        ...(endpoint.pid === null ? {} : {
          "paced.cpuUs": cpuUs(result, result.events),
          "paced.mainUs": result.mainCpuNs / 1_000 / result.events
        }),
        "paced.p50Ms": result.delayMs.p50,
        "paced.p99Ms": result.delayMs.p99
      },
      notes: [...comments(result.comments), ...paceNote(result, sizes.streams, sizes.intervalMs)]
    }
  }
}

const burst: Scenario = {
  id: "burst",
  title: () => `${BURST_STREAMS} connections, streams of ${BURST_EVENTS} events as fast as they go, one segment each`,
  direct: false,
  fresh: false,
  smokeRounds: 3,
  excludes: (target) => needsPid(target),
  run: async (harness, { endpoint }, sizes) => {
    const result = await harness.submit<"closed">({
      kind: "closed",
      endpoint,
      script: { kind: "burst", events: BURST_EVENTS },
      concurrency: BURST_STREAMS,
      warmupMs: sizes.warmupMs,
      measureMs: sizes.measureMs,
      deadlineMs: deadline(sizes.measureMs)
    })
    return {
      values: {
        ...(endpoint.pid === null ? {} : { "burst.cpuUs": cpuUs(result, result.events) }),
        "burst.eventsPerRead": result.events / result.reads
      },
      notes: comments(result.comments)
    }
  }
}

const translated: Scenario = {
  id: "translated",
  title: (sizes) => `${sizes.streams} paced streams asked for in the messages format, against the same in the upstream's own`,
  direct: false,
  fresh: false,
  smokeRounds: 1,
  excludes: (target) => target.translates ? null : "does not translate",
  run: async (harness, { endpoint }, sizes) => {
    const same = await harness.submit<"paced">(pacedJob(endpoint, sizes))
    const other = await harness.submit<"paced">(pacedJob(endpoint, sizes, "messages")).catch((error: unknown) => {
      if (error instanceof Error && error.message.startsWith("status 404")) return null
      throw error
    })
    if (other === null) return { values: {}, notes: ["there is no such route: not measured"] }
    return {
      values: { "translated.extraUs": cpuUs(other, other.events) - cpuUs(same, same.events) },
      notes: paceNote(other, sizes.streams, sizes.intervalMs)
    }
  }
}

const pairs: Scenario = {
  id: "pairs",
  title: () => "every pair of formats in a process of its own, without sockets: the dearest stream event and the dearest long prompt",
  direct: false,
  fresh: false,
  smokeRounds: 1,
  excludes: (target) => target.translates ? null : "does not translate",
  run: async (harness) => {
    const { agent, event, large, many, middle } = await harness.translation()
    return {
      values: {
        "pairs.extraUs": event.value, "pairs.promptRatio": large.value, "pairs.middleRatio": middle.value, "pairs.manyRatio": many.value, "pairs.agentRatio": agent.value
      },
      notes: [`dearest event: ${event.pair}`, `dearest prompts: ${[large, middle, many, agent].map((each) => each.pair).join(", ")}`]
    }
  }
}

const latency: Scenario = {
  id: "latency",
  title: (sizes) => `open loop, ${sizes.ratePerSecond} requests per second, latency from the scheduled moment`,
  direct: true,
  fresh: false,
  smokeRounds: 2,
  excludes: always,
  run: async (harness, { endpoint }, sizes) => {
    const result = await harness.submit<"open">({
      kind: "open",
      endpoint,
      ratePerSecond: sizes.ratePerSecond,
      warmupMs: sizes.warmupMs,
      measureMs: sizes.measureMs,
      deadlineMs: deadline(sizes.measureMs)
    })
    return { values: { "latency.p50Ms": result.latencyMs.p50, "latency.p99Ms": result.latencyMs.p99 }, notes: lateness(result) }
  }
}

const wake: Scenario = {
  id: "wake",
  title: (sizes) => `the first ${WAKE_MS / 1_000} s of ${sizes.ratePerSecond} requests per second, after ${AWAKE_MS / 1_000} s of them and a minute of rest`,
  direct: true,
  fresh: true,
  smokeRounds: 1,
  excludes: always,
  run: async (harness, running, sizes) => {
    const { endpoint } = running
    const shape = { kind: "open", endpoint, ratePerSecond: sizes.ratePerSecond, warmupMs: 0 } as const
    await warm(harness, running)
    await harness.submit<"open">({ ...shape, measureMs: AWAKE_MS, deadlineMs: deadline(AWAKE_MS) })
    await sleep(ASLEEP_MS)
    const idle = endpoint.pid === null ? {} : { "wake.idleMb": residentKb(endpoint.pid) / 1_024 }
    const result = await harness.submit<"open">({ ...shape, measureMs: WAKE_MS, deadlineMs: deadline(WAKE_MS) })
    return { values: { "wake.p50Ms": result.latencyMs.p50, "wake.p99Ms": result.latencyMs.p99, ...idle }, notes: lateness(result) }
  }
}

const slow: Scenario = {
  id: "slow",
  title: (sizes) => `${sizes.readers} slow readers of ${sizes.megabytes} MB each, every byte compared`,
  direct: false,
  fresh: true,
  smokeRounds: 1,
  excludes: needsPid,
  run: async (harness, { endpoint }, sizes) => {
    const result = await harness.submit<"slow">({
      kind: "slow",
      endpoint,
      script: { kind: "bulk", events: bulkEvents(sizes.megabytes) },
      readers: sizes.readers,
      stallMs: SLOW_STALL_MS,
      deadlineMs: SLOW_DEADLINE_MS
    })
    return {
      values: {
        ...(endpoint.pid === null ? {} : { "slow.peakMb": result.rssPeakKb / 1_024 }),
        "slow.mbPerSecond": result.bytes / 1_048_576 / (result.elapsedMs / 1_000),
        "slow.lostBytes": 0
      },
      notes: comments(result.comments)
    }
  }
}

const memory: Scenario = {
  id: "memory",
  title: (sizes) => `memory growth with ${sizes.memoryStreams} open streams, on a fresh and warmed instance`,
  direct: false,
  fresh: true,
  smokeRounds: 1,
  excludes: needsStart,
  run: async (harness, running, sizes) => {
    const { endpoint } = running
    await warm(harness, running)
    await sleep(IDLE_MS)
    const shape = { streams: sizes.memoryStreams, rampMs: MEMORY_RAMP_MS, warmupMs: MEMORY_MEASURE_MS, measureMs: MEMORY_MEASURE_MS }
    const quiet = await harness.submit<"paced">(pacedJob(endpoint, { ...shape, intervalMs: QUIET_INTERVAL_MS }))
    const busy = await harness.submit<"paced">(pacedJob(endpoint, { ...shape, intervalMs: BUSY_INTERVAL_MS }))
    const perStream = (result: PacedResult): number => (result.rssDuringKb - quiet.rssBeforeKb) / sizes.memoryStreams
    return { values: { "memory.quietKb": perStream(quiet), "memory.busyKb": perStream(busy) }, notes: [] }
  }
}

const startup: Scenario = {
  id: "start",
  title: () => "a fresh instance: time until it accepts connections, memory when idle; the first two starts with the embedded database",
  direct: false,
  fresh: true,
  smokeRounds: 1,
  excludes: needsStart,
  run: async (_, { endpoint, listeningMs, startTwice }) => {
    await sleep(IDLE_MS)
    const pid = endpoint.pid ?? 0
    const [idleKb, idleTreeKb] = [residentKb(pid), treeResidentKb(pid)]
    const [first, again] = await startTwice?.() ?? []
    return {
      values: {
        ...(listeningMs === null ? {} : { "start.listeningMs": listeningMs }),
        "start.idleMb": idleKb / 1_024,
        "start.idleTreeMb": idleTreeKb / 1_024,
        ...(first === undefined ? {} : { "start.firstMs": first.readyMs, "start.firstCpuMs": first.cpuMs, "start.firstPeakMb": first.peakKb / 1_024 }),
        ...(again === undefined ? {} : { "start.againMs": again.readyMs, "start.againCpuMs": again.cpuMs, "start.againIdleMb": again.idleKb / 1_024 })
      },
      notes: []
    }
  }
}

const capacity: Scenario = {
  id: "capacity",
  title: (sizes) => `the most paced streams (one event per ${sizes.intervalMs} ms) with a delay p99 of at most ${CAPACITY_P99_MS} ms`,
  direct: true,
  fresh: false,
  smokeRounds: 1,
  excludes: always,
  run: async (harness, { endpoint }, sizes) => {
    let best = 0
    const notes: Array<string> = []
    for (const streams of CAPACITY_STEPS) {
      // One second try: on a shared machine a single stall would decide the search.
      const shape = { streams, intervalMs: sizes.intervalMs, warmupMs: sizes.warmupMs, measureMs: CAPACITY_MEASURE_MS }
      let result = await harness.submit<"paced">(pacedJob(endpoint, shape))
      if (result.delayMs.p99 > CAPACITY_P99_MS) result = await harness.submit<"paced">(pacedJob(endpoint, shape))
      notes.push(`${streams} streams: p99 ${result.delayMs.p99.toFixed(1)} ms`)
      if (result.delayMs.p99 > CAPACITY_P99_MS) break
      best = streams
    }
    return { values: { "capacity.streams": best }, notes }
  }
}

/** In their order. The pairs come last: they leave the targets idle for most of a minute, and V8 throws compiled code away meanwhile where it is not told to wait (see `wake`). */
export const scenarios: ReadonlyArray<Scenario> = [request, tierCosts, instructionCount, combo, cluster, fanout, paced, burst, translated, latency, wake, memory, idleStreams, slow, uploads, speech, embeddings, files, batches, sockets, startup, capacity, pairs]
