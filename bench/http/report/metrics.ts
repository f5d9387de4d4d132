/** Every number the bench can report: its unit, its name for people, and how two targets are compared by it. */
import { tiers, tierTitles } from "#bench/http/tiers/tiers.ts"

export interface Metric {
  readonly id: string
  readonly label: string
  readonly unit: string
  readonly digits: number
  /** ratio: divided by the reference target; added: minus the direct path; value: as it is. */
  readonly compare: "ratio" | "added" | "value"
  /** Measured by the clock, not by counting: worthless while another process uses the CPU. */
  readonly timed: boolean
}

const timedValues = new Set(["batches.ratio", "capacity.streams", "start.listeningMs", "start.firstMs", "start.againMs", "paced.stalledPercent"])

const metric = (id: string, label: string, unit: string, digits: number, compare: Metric["compare"]): Metric => ({
  id, label, unit, digits, compare, timed: compare === "added" || timedValues.has(id)
})

export const metrics: ReadonlyArray<Metric> = [
  metric("request.cpuUs", "CPU per request, saturated", "us", 1, "ratio"),
  metric("request.mainUs", "CPU per request of the main thread, saturated", "us", 1, "ratio"),
  metric("request.perSecond", "requests per second, saturated", "1/s", 0, "value"),
  metric("tiers.us", "CPU per request of the main thread, with a profiler", "us", 1, "value"),
  metric("tiers.bytes", "bytes allocated per request", "bytes", 0, "value"),
  metric("tiers.keptBytes", "bytes of them that outlive V8's young collections", "bytes", 0, "value"),
  metric("instructions.request", "instructions per request of the gateway's own code", "", 0, "value"),
  ...tiers.flatMap((tier) => [
    metric(`tiers.${tier}.us`, tierTitles[tier], "us", 1, "value"),
    metric(`tiers.${tier}.bytes`, tierTitles[tier], "bytes", 0, "value")
  ]),
  metric("request.comboUs", "CPU per request through a combo of four targets, saturated", "us", 1, "value"),
  metric("request.comboRatio", "the same as a multiple of the request by the model's own id", "", 2, "value"),
  metric("cluster.cpuUs", "CPU per request of a node of a cluster, saturated", "us", 1, "value"),
  metric("cluster.cpuRatio", "the same as a multiple of the request to a gateway without Redis", "", 2, "value"),
  metric("fanout.cpuRatio", "CPU per request of two processes, as a multiple of one process", "", 2, "value"),
  metric("fanout.scale", "requests of two processes on two free cores, as a multiple of one, by CPU and balance", "", 2, "value"),
  metric("paced.cpuUs", "CPU per paced event", "us", 2, "ratio"),
  metric("paced.mainUs", "CPU per paced event of the main thread", "us", 2, "ratio"),
  metric("paced.p50Ms", "event delay p50", "ms", 2, "added"),
  metric("paced.p99Ms", "event delay p99", "ms", 2, "added"),
  metric("paced.stalledPercent", "timers of the event loop that came more than 5 ms late, under paced streams", "%", 2, "value"),
  metric("burst.cpuUs", "CPU per burst event", "us", 2, "ratio"),
  metric("burst.eventsPerRead", "burst events per read: how far they were merged", "", 2, "value"),
  metric("translated.extraUs", "extra CPU per translated event", "us", 2, "value"),
  metric("pairs.extraUs", "extra CPU per stream event, dearest pair of formats", "us", 2, "value"),
  metric("pairs.promptRatio", "a text or image of 1 MB translated, dearest pair, as a multiple of its JSON.parse", "", 2, "value"),
  metric("pairs.middleRatio", "the same of 100 kB", "", 2, "value"),
  metric("pairs.manyRatio", "100 kB of short messages translated, dearest pair, as a multiple of their JSON.parse", "", 2, "value"),
  metric("pairs.agentRatio", "100 kB of an agent's conversation translated, dearest pair, as a multiple of their JSON.parse", "", 2, "value"),
  metric("latency.p50Ms", "latency p50 at a fixed rate", "ms", 3, "added"),
  metric("latency.p99Ms", "latency p99 at a fixed rate", "ms", 3, "added"),
  metric("wake.p50Ms", "latency p50 at a fixed rate after a minute of rest", "ms", 3, "added"),
  metric("wake.p99Ms", "latency p99 at a fixed rate after a minute of rest", "ms", 3, "added"),
  metric("wake.idleMb", "memory after a minute of rest", "MB", 0, "value"),
  metric("capacity.streams", "paced streams on one core with p99 <= 10 ms", "streams", 0, "value"),
  metric("memory.quietKb", "memory per open quiet stream", "kB", 1, "value"),
  metric("memory.busyKb", "memory per open busy stream", "kB", 1, "value"),
  metric("idle.streamKb", "memory per stream, 10,000 open and nearly quiet", "kB", 1, "value"),
  metric("idle.streamUs", "CPU per such stream and second", "us", 2, "value"),
  metric("slow.peakMb", "peak memory with slow readers", "MB", 0, "value"),
  metric("slow.mbPerSecond", "throughput of slow readers", "MB/s", 0, "value"),
  metric("slow.lostBytes", "bytes lost with slow readers", "bytes", 0, "value"),
  metric("upload.cpuUs", "CPU per MB of an upload", "us", 0, "ratio"),
  metric("upload.mainUs", "CPU per MB of an upload, main thread", "us", 0, "ratio"),
  metric("upload.memoryMb", "memory growth with 16 uploads of 20 MB", "MB", 0, "value"),
  metric("upload.mbPerSecond", "throughput of uploads", "MB/s", 0, "value"),
  metric("speech.cpuUs", "CPU per MB of downloaded speech", "us", 0, "ratio"),
  metric("speech.mainUs", "CPU per MB of downloaded speech, main thread", "us", 0, "ratio"),
  metric("speech.mbPerSecond", "throughput of downloaded speech", "MB/s", 0, "value"),
  metric("embeddings.cpuUs", "CPU per small request for embeddings, saturated", "us", 1, "value"),
  metric("embeddings.ratio", "the same as a multiple of the small chat request", "", 2, "value"),
  metric("files.cpuUs", "CPU per MB of a stored file", "us", 0, "ratio"),
  metric("files.mainUs", "CPU per MB of a stored file, main thread", "us", 0, "ratio"),
  metric("files.memoryMb", "memory growth with 8 files of 20 MB at once", "MB", 0, "value"),
  metric("files.mbPerSecond", "throughput of stored files", "MB/s", 0, "value"),
  metric("batches.perSecond", "lines of a batch per second", "1/s", 0, "value"),
  metric("batches.ratio", "the same as a multiple of the requests sent directly", "", 2, "value"),
  metric("batches.memoryMb", "memory growth during a batch", "MB", 0, "value"),
  metric("sockets.eventUs", "CPU per event over a WebSocket", "us", 2, "value"),
  metric("sockets.ratio", "the same as a multiple of the event of a stream", "", 2, "value"),
  metric("sockets.idleKb", "memory per idle WebSocket", "kB", 1, "value"),
  metric("sockets.idleUs", "CPU per idle WebSocket and second", "us", 2, "value"),
  metric("start.listeningMs", "start to listening", "ms", 0, "value"),
  metric("start.idleMb", "idle memory, main process", "MB", 0, "value"),
  metric("start.idleTreeMb", "idle memory, all processes", "MB", 0, "value"),
  metric("start.firstMs", "first start to ready, embedded database", "ms", 0, "value"),
  metric("start.firstCpuMs", "CPU of it", "ms", 0, "value"),
  metric("start.firstPeakMb", "peak memory of it", "MB", 0, "value"),
  metric("start.againMs", "second start to ready, embedded database", "ms", 0, "value"),
  metric("start.againCpuMs", "CPU of it", "ms", 0, "value"),
  metric("start.againIdleMb", "idle memory, embedded database", "MB", 0, "value")
]

export const metricOf = (id: string): Metric => {
  const found = metrics.find((candidate) => candidate.id === id)
  if (found === undefined) throw new Error(`metric ${id} is not declared; known: ${metrics.map((each) => each.id).join(", ")}`)
  return found
}

/** One run of one scenario against one target. */
export interface Measurement {
  readonly scenario: string
  readonly target: string
  readonly round: number
  readonly values: Readonly<Record<string, number>>
  /** Cores that other processes used meanwhile. */
  readonly foreignCores: number
  readonly notes: ReadonlyArray<string>
}

/** A run that broke: wrong content, a wrong status, a crash or a timeout. */
export interface Failure {
  readonly scenario: string
  readonly target: string
  readonly round: number
  readonly error: string
}
