/** What scenarios are made of: their shape, their sizes and the loads that several of them use. */
import type { Harness } from "./Harness.ts"
import type { Endpoint, PacedJob } from "./load/Job.ts"
import type { Running, Target } from "./targets/Target.ts"

/** How large and how long everything is. Times in milliseconds. */
export interface Sizes {
  readonly measureMs: number
  readonly warmupMs: number
  readonly concurrency: number
  readonly ratePerSecond: number
  readonly streams: number
  readonly intervalMs: number
  readonly memoryStreams: number
  readonly readers: number
  readonly megabytes: number
  readonly batchLines: number
}

export interface Outcome {
  readonly values: Readonly<Record<string, number>>
  readonly notes: ReadonlyArray<string>
}

export interface Scenario {
  readonly id: string
  readonly title: (sizes: Sizes) => string
  /** The direct path is measured in every round, to be subtracted. */
  readonly direct: boolean
  /** Each run gets an instance that nothing else has used. */
  readonly fresh: boolean
  /** A number that no round changes: one is made. */
  readonly once?: true
  /** Rounds of a smoke run, which has less than a minute for everything. */
  readonly smokeRounds: number
  /** Null, or why this target is left out. */
  readonly excludes: (target: Target) => string | null
  readonly run: (harness: Harness, running: Running, sizes: Sizes) => Promise<Outcome>
}

const WARM_CONNECTIONS = 32
export const WARM_MS = 1_000
const WARM_TRIES = 8
const WARM_REQUESTS = 5_000
const RAMP_MS = 500
const STREAM_MARGIN_MS = 500
const DEADLINE_FACTOR = 3
const DEADLINE_BASE_MS = 20_000
export const BURST_EVENTS = 256

export const deadline = (expectedMs: number): number => DEADLINE_BASE_MS + expectedMs * DEADLINE_FACTOR
export const needsStart = (target: Target): string | null => target.owned ? null : "not started by the bench"

export const pacedJob = (
  endpoint: Endpoint,
  shape: { readonly streams: number; readonly intervalMs: number; readonly warmupMs: number; readonly measureMs: number; readonly rampMs?: number },
  format: PacedJob["format"] = "chat"
): PacedJob => {
  const rampMs = shape.rampMs ?? RAMP_MS
  const lifeMs = rampMs + shape.warmupMs + shape.measureMs + STREAM_MARGIN_MS
  return {
    kind: "paced",
    endpoint,
    script: { kind: "paced", intervalMs: shape.intervalMs, events: Math.ceil(lifeMs / shape.intervalMs) },
    streams: shape.streams,
    rampMs,
    warmupMs: shape.warmupMs,
    measureMs: shape.measureMs,
    format,
    deadlineMs: deadline(lifeMs)
  }
}

export const cpuUs = (result: { readonly cpuNs: number }, count: number): number => result.cpuNs / 1_000 / count

/** Load before the first measurement of an instance, so that no target is charged for compiling its hot functions. */
export const warm = async (harness: Harness, { endpoint }: Running, streams = true): Promise<void> => {
  const shape = { kind: "closed", endpoint, concurrency: WARM_CONNECTIONS, warmupMs: 0, deadlineMs: deadline(WARM_MS) } as const
  for (let tries = 0, requests = 0; tries < WARM_TRIES && requests < WARM_REQUESTS; tries++) {
    const result = await harness.submit<"closed">({ ...shape, measureMs: WARM_MS, script: { kind: "json" } })
    requests += result.requests
  }
  if (streams) await harness.submit<"closed">({ ...shape, measureMs: WARM_MS / 2, script: { kind: "burst", events: BURST_EVENTS } })
}
