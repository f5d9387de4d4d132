/** A proxy under test: how to start one instance of it in front of the mock, and how to speak to it. */
import type { Endpoint } from "../load/Job.ts"
import { type Child, stop } from "#bench/http/servers/processes.ts"

/** One start of a process: until it is ready, and what it took. */
export interface Start {
  readonly readyMs: number
  readonly cpuMs: number
  /** The most that was resident, and what is while nothing happens. */
  readonly peakKb: number
  readonly idleKb: number
}

/** How often the event loop was looked at so far, and how often it was late. */
export interface Stalls {
  readonly looks: number
  readonly late: number
}

/** An instance whose profilers answer signals, and where they write. */
export interface Probed {
  readonly running: Running
  readonly signal: () => void
  /** The path before `.cpu.json` and `.heap.json`. */
  readonly file: string
}

export interface Running {
  readonly endpoint: Endpoint
  /** Milliseconds from spawn to the first accepted connection; null for what the bench did not start. */
  readonly listeningMs: number | null
  /** Sets up a combo of four targets, all of them the mock, and answers how to ask it; absent where there are no combos. */
  readonly combine?: () => Promise<Endpoint>
  /** Starts the same as a node of a cluster, for this instance to be compared with; absent where there is no Redis for it. */
  readonly asNode?: () => Promise<Running>
  /** Starts the same as so many processes on one port; absent where there is no Redis for it. */
  readonly asWorkers?: (count: number) => Promise<Running>
  /** Starts another instance with embedded records twice on one directory, empty at first; absent where nothing is embedded. */
  readonly startTwice?: () => Promise<readonly [first: Start, again: Start]>
  /** What the target says of its event loop; absent where it says nothing. */
  readonly stalls?: () => Promise<Stalls>
  /** Starts the same with V8's profilers in it. */
  readonly probed?: () => Promise<Probed>
  /** Waits for work that the last scenario left behind, so that no other measurement pays for it. */
  readonly rest?: () => Promise<void>
  readonly stop: () => Promise<void>
}

export interface Target {
  readonly name: string
  /** Starts a fresh instance. `instance` makes its files unique. */
  readonly launch: (instance: string) => Promise<Running>
  /** False for an outside peer or the direct path, whose start and memory cannot be measured. */
  readonly owned: boolean
  /** True when the target serves /v1/messages from a chat upstream. */
  readonly translates: boolean
  /** The scenarios that it can serve; absent: all. */
  readonly only?: ReadonlyArray<string>
}

/** Why a target cannot take part, or the target. */
export type Candidate = { readonly target: Target } | { readonly name: string; readonly missing: string }

export interface Surroundings {
  readonly mockPort: number
  readonly cpu: number | null
  /** A new database for one instance, or null for records that the target embeds. */
  readonly database: (() => Promise<string>) | null
  /** The URL of a Redis server, or null where none is installed. */
  readonly redis: (() => Promise<string>) | null
  /** Node flags for the targets that run on Node, such as the profiler's. */
  readonly nodeFlags: ReadonlyArray<string>
}

export const owned = (child: Child, port: number, listeningMs: number): Running => ({
  endpoint: { host: "127.0.0.1", port, basePath: "/v1", modelPrefix: "", apiKey: null, pid: child.pid },
  listeningMs,
  stop: () => stop(child)
})
