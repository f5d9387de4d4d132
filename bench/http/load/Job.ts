/** What the load generator can be asked to do, and what it answers. Both travel as JSON between two processes. */
import type { Script, StreamScript } from "../payload.ts"
import type { Tail } from "#bench/http/report/statistics.ts"

/** Where to send requests, and how this target names models and authenticates. */
export interface Endpoint {
  readonly host: string
  readonly port: number
  /** Path prefix before `/chat/completions`, such as `/v1`. */
  readonly basePath: string
  /** Put before the mock's model name. */
  readonly modelPrefix: string
  readonly apiKey: string | null
  /** Further headers, name and value in turns. */
  readonly headers?: ReadonlyArray<string>
  /** Root of the process tree that is charged; null for the direct path. */
  readonly pid: number | null
}

interface Common {
  readonly endpoint: Endpoint
  /** The job fails and all its connections are cut when it takes longer. */
  readonly deadlineMs: number
}

/** Closed loop: `concurrency` keep-alive connections, each sends its next request when the last one is verified. */
export interface ClosedJob extends Common {
  readonly kind: "closed"
  readonly script: Exclude<Script, { readonly kind: "paced" }>
  readonly concurrency: number
  readonly warmupMs: number
  readonly measureMs: number
  /** Gets as many connections at the same time, and is not measured. */
  readonly beside?: Endpoint
}

/** Open loop: requests leave on schedule whatever happens to the earlier ones; latency counts from the schedule. */
export interface OpenJob extends Common {
  readonly kind: "open"
  readonly ratePerSecond: number
  readonly warmupMs: number
  readonly measureMs: number
}

/** `streams` paced streams at once, opened over `rampMs`; every stream is read to its end and verified. */
export interface PacedJob extends Common {
  readonly kind: "paced"
  readonly script: StreamScript & { readonly kind: "paced" }
  readonly streams: number
  readonly rampMs: number
  readonly warmupMs: number
  readonly measureMs: number
  /** "messages" asks in another client format, so that the target translates; "socket" asks over a WebSocket. */
  readonly format: "chat" | "messages" | "socket"
}

/** Readers that first do not read at all, then read in turns. */
export interface SlowJob extends Common {
  readonly kind: "slow"
  readonly script: StreamScript & { readonly kind: "bulk" }
  readonly readers: number
  readonly stallMs: number
}

/** WebSockets that only stay open. */
export interface IdleJob extends Common {
  readonly kind: "idle"
  readonly sockets: number
  readonly warmupMs: number
  readonly measureMs: number
}

/** Forms with a large file, `uploads` of them over `concurrency` connections. */
export interface UploadJob extends Common {
  readonly kind: "upload"
  readonly megabytes: number
  readonly uploads: number
  readonly concurrency: number
}

export type Job = ClosedJob | OpenJob | PacedJob | SlowJob | IdleJob | UploadJob

export interface ClosedResult {
  readonly kind: "closed"
  readonly requests: number
  readonly events: number
  /** Bytes of bodies. */
  readonly bytes: number
  /** Reads from sockets in the window: events per read show how far events were merged on the way. */
  readonly reads: number
  readonly windowMs: number
  readonly cpuNs: number
  /** The part of `cpuNs` that the main thread used. */
  readonly mainCpuNs: number
  readonly comments: number
}

export interface OpenResult {
  readonly kind: "open"
  /** Milliseconds from the scheduled start to the last verified byte. */
  readonly latencyMs: Tail
  /** Milliseconds by which the generator itself was late. */
  readonly lagMs: Tail
  readonly requests: number
  readonly connections: number
}

export interface PacedResult {
  readonly kind: "paced"
  readonly events: number
  readonly windowMs: number
  readonly cpuNs: number
  /** The part of `cpuNs` that the main thread used. */
  readonly mainCpuNs: number
  /** Streams that ended before the window did, because opening them all took too long. */
  readonly endedEarly: number
  /** Milliseconds from the mock's clock stamp to the reader. */
  readonly delayMs: Tail
  readonly rssBeforeKb: number
  readonly rssDuringKb: number
  readonly comments: number
}

export interface SlowResult {
  readonly kind: "slow"
  readonly bytes: number
  readonly elapsedMs: number
  readonly rssBeforeKb: number
  readonly rssPeakKb: number
  readonly comments: number
}

export interface IdleResult {
  readonly kind: "idle"
  readonly windowMs: number
  readonly cpuNs: number
  readonly rssBeforeKb: number
  readonly rssDuringKb: number
}

export interface UploadResult {
  readonly kind: "upload"
  /** Of all files. */
  readonly megabytes: number
  readonly windowMs: number
  readonly cpuNs: number
  /** The part of `cpuNs` that the main thread used. */
  readonly mainCpuNs: number
  readonly rssBeforeKb: number
  readonly rssPeakKb: number
}

export type Result = ClosedResult | OpenResult | PacedResult | SlowResult | IdleResult | UploadResult
export type Reply = { readonly ok: true; readonly result: Result } | { readonly ok: false; readonly error: string }
