/**
 * What really happened on the wire, recorded by the upstream: one entry per request and exact totals.
 *
 * Entries live in a ring bounded by count and by the bytes of the kept request bodies; the oldest go first. Totals are plain
 * counters and are never truncated. Times are milliseconds since the epoch with a fraction, from one monotonic clock.
 */
import { hash } from "node:crypto"
import type { IncomingHttpHeaders } from "node:http"
import type { SimulatedUsage } from "./formats/Format.ts"

/** How a request ended. `open` has not. `error`: the simulator was stopped, or failed itself. */
export type TruthOutcome = "open" | "completed" | "client-aborted" | "reset-by-script" | "closed-by-script" | "ended-by-script" | "error"

export interface KeyMark {
  /** Empty for a key shorter than 12 characters. */
  readonly last4: string
  readonly sha256: string
}

export interface TruthEntry {
  /** Also the unique part of the ids in the answer: `chatcmpl-<id>`. */
  readonly id: string
  readonly at: number
  readonly method: string
  readonly path: string
  readonly query: string
  readonly headers: { readonly [name: string]: string | ReadonlyArray<string> | undefined }
  readonly key: KeyMark | null
  readonly port: number | null
  /** The JSON of the request, its text when it is no JSON, null when there was none or it was too big to keep. */
  body: unknown
  bodyBytes: number
  model: string | null
  stream: boolean
  /** Id of the rule that gave the script. */
  rule: string | null
  /** Null until a head is sent. */
  status: number | null
  framesSent: number
  /** Body bytes handed to the socket, without the transfer coding. */
  bytesSent: number
  /** The simulator's own count, whatever usage the script reports. */
  promptTokens: number
  /** Tokens of the whole answer, and those handed to the socket. */
  tokensPlanned: number
  tokensSent: number
  /** Usage as reported on the wire; null when that frame was never sent. */
  usageSent: SimulatedUsage | null
  outcome: TruthOutcome
  /** Why the simulator itself failed; null when it did not. */
  failure: string | null
  headAt: number | null
  firstFrameAt: number | null
  lastFrameAt: number | null
  endedAt: number | null
  /** When the simulator noticed that the client had gone. */
  abortedAt: number | null
}

export interface Summary {
  requests: number
  open: number
  completed: number
  aborted: number
  /** Ended by a fault of a script: reset, closed or ended. */
  cut: number
  errors: number
  promptTokens: number
  tokensSent: number
  framesSent: number
  bytesSent: number
}

export interface TruthFilter {
  readonly id?: string
  readonly model?: string
  /** The whole key, or its last four characters. */
  readonly key?: string
  readonly path?: string
  /** Milliseconds since the epoch; entries that arrived at or after it. */
  readonly since?: number
  readonly outcome?: TruthOutcome
  readonly rule?: string
}

export interface Options {
  /** Entries kept; 0 turns the log off and leaves the totals. */
  readonly size: number
  /** Bytes of request bodies kept in all. */
  readonly bodyBudget: number
  readonly recordSecrets: boolean
}

const SECRET_HEADERS = ["authorization", "x-api-key", "xi-api-key", "api-key", "x-goog-api-key", "x-subscription-token", "cookie"]
const NO_HEADERS = {}

export const sha256 = (text: string): string => hash("sha256", text, "hex")

/** Shorter credentials would be given away by their last four characters. */
const SHORTEST_SHOWN = 12

const tail = (secret: string): string => secret.length < SHORTEST_SHOWN ? "" : secret.slice(-4)

const mark = (key: string): KeyMark => ({ last4: tail(key), sha256: sha256(key) })

const emptySummary = (): Summary => ({
  requests: 0,
  open: 0,
  completed: 0,
  aborted: 0,
  cut: 0,
  errors: 0,
  promptTokens: 0,
  tokensSent: 0,
  framesSent: 0,
  bytesSent: 0
})

export const matches = (filter: TruthFilter, entry: TruthEntry): boolean =>
  (filter.id === undefined || entry.id === filter.id) &&
  (filter.model === undefined || entry.model === filter.model) &&
  (filter.path === undefined || entry.path === filter.path) &&
  (filter.since === undefined || entry.at >= filter.since) &&
  (filter.outcome === undefined || entry.outcome === filter.outcome) &&
  (filter.rule === undefined || entry.rule === filter.rule) &&
  (filter.key === undefined || (entry.key !== null && ((entry.key.last4 !== "" && entry.key.last4 === filter.key) || entry.key.sha256 === sha256(filter.key))))

export interface Arrival {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly query: string
  readonly headers: IncomingHttpHeaders
  readonly key: string | null
  readonly port: number | null
}

export class TruthLog {
  readonly now: () => number
  readonly #options: Options
  #entries: Array<TruthEntry> = []
  #bodyBytes = 0
  #summary = emptySummary()
  #open = 0
  #dropped = 0
  readonly #listeners = new Set<() => void>()

  constructor(options: Options, now: () => number) {
    this.#options = options
    this.now = now
  }

  get enabled(): boolean {
    return this.#options.size > 0
  }

  /** Entries that the bounds pushed out. */
  get dropped(): number {
    return this.#dropped
  }

  open(arrival: Arrival): TruthEntry {
    const entry: TruthEntry = {
      id: arrival.id,
      at: this.now(),
      method: arrival.method,
      path: arrival.path,
      query: arrival.query,
      headers: this.enabled ? this.#headersOf(arrival.headers) : NO_HEADERS,
      key: this.enabled && arrival.key !== null ? mark(arrival.key) : null,
      port: arrival.port,
      body: null,
      bodyBytes: 0,
      model: null,
      stream: false,
      rule: null,
      status: null,
      framesSent: 0,
      bytesSent: 0,
      promptTokens: 0,
      tokensPlanned: 0,
      tokensSent: 0,
      usageSent: null,
      outcome: "open",
      failure: null,
      headAt: null,
      firstFrameAt: null,
      lastFrameAt: null,
      endedAt: null,
      abortedAt: null
    }
    this.#summary.requests++
    this.#open++
    if (this.enabled) {
      this.#entries.push(entry)
      this.#trim()
    }
    this.#changed()
    return entry
  }

  /** Keeps the request body, within the budget. */
  keepBody(entry: TruthEntry, body: unknown, bytes: number): void {
    entry.bodyBytes = bytes
    if (!this.enabled || bytes > this.#options.bodyBudget) return
    entry.body = body
    this.#bodyBytes += bytes
    this.#trim()
  }

  /** Ends an entry once; a second outcome is ignored. */
  settle(entry: TruthEntry, outcome: Exclude<TruthOutcome, "open">): void {
    if (entry.outcome !== "open") return
    entry.outcome = outcome
    entry.endedAt = this.now()
    if (outcome === "client-aborted") entry.abortedAt = entry.endedAt
    this.#open--
    const totals = this.#summary
    if (outcome === "completed") totals.completed++
    else if (outcome === "client-aborted") totals.aborted++
    else if (outcome === "error") totals.errors++
    else totals.cut++
    totals.promptTokens += entry.promptTokens
    totals.tokensSent += entry.tokensSent
    totals.framesSent += entry.framesSent
    totals.bytesSent += entry.bytesSent
    this.#changed()
  }

  /** The simulator's own failure on a request: a defect, kept where a test will see it. */
  fail(entry: TruthEntry, error: unknown): void {
    entry.failure = error instanceof Error ? error.stack ?? error.message : String(error)
    this.settle(entry, "error")
  }

  /** Oldest first. */
  query(filter: TruthFilter = {}): ReadonlyArray<TruthEntry> {
    return this.#entries.filter((entry) => matches(filter, entry))
  }

  /** Totals of what has ended; `open` is the present. */
  summary(): Summary {
    return { ...this.#summary, open: this.#open }
  }

  clear(): void {
    // Open entries stay: their end must not be lost.
    this.#entries = this.#entries.filter((entry) => entry.outcome === "open")
    this.#bodyBytes = this.#entries.reduce((sum, entry) => sum + (entry.body === null ? 0 : entry.bodyBytes), 0)
    this.#dropped = 0
  }

  clearSummary(): void {
    this.#summary = { ...emptySummary(), requests: this.#open }
  }

  /** Calls the listener at each arrival and each end; returns the unsubscribe function. */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #changed(): void {
    if (this.#listeners.size > 0) for (const listener of this.#listeners) listener()
  }

  #trim(): void {
    while (this.#entries.length > this.#options.size || (this.#bodyBytes > this.#options.bodyBudget && this.#entries.length > 1)) {
      const oldest = this.#entries.shift()
      if (oldest === undefined) return
      if (oldest.body !== null) this.#bodyBytes -= oldest.bodyBytes
      this.#dropped++
    }
  }

  #headersOf(headers: IncomingHttpHeaders): TruthEntry["headers"] {
    if (this.#options.recordSecrets) return { ...headers }
    const kept: Record<string, string | ReadonlyArray<string> | undefined> = { ...headers }
    for (const name of SECRET_HEADERS) {
      const value = headers[name]
      if (typeof value === "string") kept[name] = `…${tail(value.replace(/^\w+ /, ""))}`
    }
    return kept
  }
}
