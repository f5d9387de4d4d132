/**
 * Why a request went where it went: every candidate with what happened to it, bounded, ready for JSON. Made on
 * demand from the order and the attempts, so that a request that is never explained pays nothing.
 */
import type { Candidate, Order, Relaxed, Skipped } from "#src/routing/models/candidate.ts"

/** Candidates that a trace names. */
export const maxTraceEntries = 64
/** Characters of a detail. */
const maxDetail = 200

interface Named {
  /** Execution key: for the log and the management surface, because it may hold a connection id. */
  readonly target: string
  /** Public alias of the provider. */
  readonly provider: string
  /** Canonical public id. */
  readonly model: string
}

export interface ChosenEntry extends Named {
  readonly outcome: "chosen"
  /** Place in the order, from 1. */
  readonly position: number
  /** ms to the end of its attempt. */
  readonly ms: number
}
export interface NotNeededEntry extends Named {
  readonly outcome: "not-needed"
  readonly position: number
}
export interface FailedEntry extends Named {
  readonly outcome: "failed"
  readonly position: number | null
  /** HTTP status of the upstream; 0 when it never answered. */
  readonly status: number
  readonly code: string
  readonly ms: number
}
export interface SkippedEntry extends Named {
  readonly outcome: "skipped"
  readonly reason: Skipped["unavailable"]["reason"]
  /** ISO 8601; null = until an operator acts. */
  readonly until: string | null
  readonly detail: string
}
export type TraceEntry = ChosenEntry | NotNeededEntry | FailedEntry | SkippedEntry

export interface Trace {
  readonly strategy: string
  /** Attempts in their order, then targets that were not needed, then those left out. */
  readonly entries: ReadonlyArray<TraceEntry>
  /** Entries beyond `maxTraceEntries`. */
  readonly omitted: number
  /** Filters that would have left no target. */
  readonly relaxed: ReadonlyArray<Relaxed>
}

/** One attempt as the request actor saw it end; `code` is the public error code, null for an answer. */
export interface TracedAttempt {
  readonly candidate: Candidate
  readonly status: number
  readonly code: string | null
  readonly ms: number
}

/** An invalid or endless time is none. */
export const isoOf = (until: number | null): string | null =>
  until === null || !(Math.abs(until) <= 8.64e15) ? null : new Date(until).toISOString()

const nameOf = ({ executionKey, target }: Candidate): Named => ({ target: executionKey, provider: target.providerAlias, model: target.publicModel })

const cut = (text: string): string => text.length <= maxDetail ? text : `${text.slice(0, maxDetail - 3)}...`

export const explain = (strategy: string, order: Pick<Order, "order" | "skipped"> & Partial<Order>, attempts: ReadonlyArray<TracedAttempt>): Trace => {
  const entries: Array<TraceEntry> = []
  let omitted = 0
  const add = (make: () => TraceEntry): void => {
    if (entries.length < maxTraceEntries) entries.push(make())
    else omitted++
  }
  const places = new Map(order.order.map((candidate, i) => [candidate.executionKey, i + 1]))
  const asked = new Set<string>()
  for (const { candidate, code, ms, status } of attempts) {
    asked.add(candidate.executionKey)
    const position = places.get(candidate.executionKey) ?? null
    add(() => code === null
      ? { ...nameOf(candidate), outcome: "chosen", position: position ?? 1, ms }
      : { ...nameOf(candidate), outcome: "failed", position, status, code, ms })
  }
  const leftOut = new Set(order.skipped.map(({ candidate }) => candidate.executionKey))
  for (const candidate of order.order) {
    if (asked.has(candidate.executionKey) || leftOut.has(candidate.executionKey)) continue
    add(() => ({ ...nameOf(candidate), outcome: "not-needed", position: places.get(candidate.executionKey) ?? 1 }))
  }
  for (const { candidate, unavailable } of order.skipped) {
    // A target that was called and then became unavailable is shown by its attempt.
    if (asked.has(candidate.executionKey)) continue
    add(() => ({
      ...nameOf(candidate), outcome: "skipped", reason: unavailable.reason, until: isoOf(unavailable.until), detail: cut(unavailable.detail)
    }))
  }
  return { strategy, entries, omitted, relaxed: order.relaxed ?? [] }
}

/** What a client may know of the candidates left out (`error.diagnostics.excluded`): no execution keys, no details. */
export const excludedOf = (trace: Trace): ReadonlyArray<{ readonly provider: string; readonly model: string; readonly reason: string }> =>
  trace.entries.flatMap((entry) => entry.outcome === "skipped" ? [{ provider: entry.provider, model: entry.model, reason: entry.reason }] : [])
