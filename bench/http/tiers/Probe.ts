/**
 * Loaded before the gateway (`node --import`): V8's profilers, driven by signals, so that only the measured window is profiled.
 *
 * SIGUSR2 starts the next profiler and the one after it stops it and writes its file beside the path in BENCH_PROBE: first CPU
 * (`.cpu.json`), then allocations (`.heap.json`), then those of them that outlive young collections (`.kept.json`), then CPU again.
 */
import { writeFileSync } from "node:fs"
import { Session } from "node:inspector"

/** Microseconds between two CPU samples; bytes between two samples of allocations. */
const CPU_INTERVAL_US = 250
const HEAP_INTERVAL_BYTES = 2_048

const base = process.env["BENCH_PROBE"]
const session = new Session()

const post = (method: string, params: object, done: (result: unknown) => void): void =>
  session.post(method, params, (error: Error | null, result?: object) => {
    if (error !== null) process.emitWarning(`${method}: ${error.message}`)
    else done(result)
  })

const keep = (kind: string) => (result: unknown): void => {
  const profile: unknown = typeof result === "object" && result !== null ? Reflect.get(result, "profile") : null
  if (base !== undefined) writeFileSync(`${base}.${kind}.json`, JSON.stringify(profile))
}

const ignore = (): void => {}

/** What was collected again counts too: it was allocated. `young`: also what the first collections of its life took. */
const allocations = (young: boolean) => () =>
  post("HeapProfiler.startSampling", {
    samplingInterval: HEAP_INTERVAL_BYTES,
    includeObjectsCollectedByMajorGC: true,
    includeObjectsCollectedByMinorGC: young
  }, ignore)

const steps: ReadonlyArray<() => void> = [
  () => {
    post("Profiler.enable", {}, ignore)
    post("Profiler.setSamplingInterval", { interval: CPU_INTERVAL_US }, ignore)
    post("Profiler.start", {}, ignore)
  },
  () => post("Profiler.stop", {}, keep("cpu")),
  allocations(true),
  () => post("HeapProfiler.stopSampling", {}, keep("heap")),
  allocations(false),
  () => post("HeapProfiler.stopSampling", {}, keep("kept"))
]

let turn = 0
session.connect()
process.on("SIGUSR2", () => {
  steps[turn++ % steps.length]?.()
})
