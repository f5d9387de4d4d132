/** Every number the bench can report: its unit, its name for people, and how two targets are compared by it. */

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

const timedValues = new Set(["capacity.streams", "start.listeningMs"])

const metric = (id: string, label: string, unit: string, digits: number, compare: Metric["compare"]): Metric => ({
  id, label, unit, digits, compare, timed: compare === "added" || timedValues.has(id)
})

export const metrics: ReadonlyArray<Metric> = [
  metric("request.cpuUs", "CPU per request, saturated", "us", 1, "ratio"),
  metric("request.mainUs", "CPU per request of the main thread, saturated", "us", 1, "ratio"),
  metric("request.perSecond", "requests per second, saturated", "1/s", 0, "value"),
  metric("request.comboUs", "CPU per request through a combo of four targets, saturated", "us", 1, "value"),
  metric("request.comboRatio", "the same as a multiple of the request by the model's own id", "", 2, "value"),
  metric("cluster.cpuUs", "CPU per request of a node of a cluster, saturated", "us", 1, "value"),
  metric("cluster.cpuRatio", "the same as a multiple of the request to a gateway without Redis", "", 2, "value"),
  metric("paced.cpuUs", "CPU per paced event", "us", 2, "ratio"),
  metric("paced.mainUs", "CPU per paced event of the main thread", "us", 2, "ratio"),
  metric("paced.p50Ms", "event delay p50", "ms", 2, "added"),
  metric("paced.p99Ms", "event delay p99", "ms", 2, "added"),
  metric("burst.cpuUs", "CPU per burst event", "us", 2, "ratio"),
  metric("burst.eventsPerRead", "burst events per read: how far they were merged", "", 2, "value"),
  metric("translated.extraUs", "extra CPU per translated event", "us", 2, "value"),
  metric("pairs.extraUs", "extra CPU per stream event, dearest pair of formats", "us", 2, "value"),
  metric("pairs.promptRatio", "a text or image of 1 MB translated, dearest pair, as a multiple of its JSON.parse", "", 2, "value"),
  metric("pairs.middleRatio", "the same of 100 kB", "", 2, "value"),
  metric("pairs.manyRatio", "100 kB of short messages translated, dearest pair, as a multiple of their JSON.parse", "", 2, "value"),
  metric("latency.p50Ms", "latency p50 at a fixed rate", "ms", 3, "added"),
  metric("latency.p99Ms", "latency p99 at a fixed rate", "ms", 3, "added"),
  metric("capacity.streams", "paced streams on one core with p99 <= 10 ms", "streams", 0, "value"),
  metric("memory.quietKb", "memory per open quiet stream", "kB", 1, "value"),
  metric("memory.busyKb", "memory per open busy stream", "kB", 1, "value"),
  metric("slow.peakMb", "peak memory with slow readers", "MB", 0, "value"),
  metric("slow.mbPerSecond", "throughput of slow readers", "MB/s", 0, "value"),
  metric("slow.lostBytes", "bytes lost with slow readers", "bytes", 0, "value"),
  metric("upload.cpuUs", "CPU per MB of an upload", "us", 0, "ratio"),
  metric("upload.mainUs", "CPU per MB of an upload, main thread", "us", 0, "ratio"),
  metric("upload.memoryMb", "memory growth with 16 uploads of 20 MB", "MB", 0, "value"),
  metric("upload.mbPerSecond", "throughput of uploads", "MB/s", 0, "value"),
  metric("sockets.eventUs", "CPU per event over a WebSocket", "us", 2, "value"),
  metric("sockets.ratio", "the same as a multiple of the event of a stream", "", 2, "value"),
  metric("sockets.idleKb", "memory per idle WebSocket", "kB", 1, "value"),
  metric("sockets.idleUs", "CPU per idle WebSocket and second", "us", 2, "value"),
  metric("start.listeningMs", "start to listening", "ms", 0, "value"),
  metric("start.idleMb", "idle memory, main process", "MB", 0, "value"),
  metric("start.idleTreeMb", "idle memory, all processes", "MB", 0, "value")
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
