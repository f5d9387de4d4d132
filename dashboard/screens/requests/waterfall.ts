/** Where the time of a request went: attempts as segments on one clock, and targets that were left out. Pure. */
import type { Answer } from "../../api/contract.ts"
import type { CallLog } from "./outcome.ts"

export type SegmentKind = "queue" | "limits" | "connect" | "head" | "first" | "stream" | "failed" | "settle" | "whole"

/** ms from the request's beginning. */
export interface Segment {
  readonly kind: SegmentKind
  readonly from: number
  readonly to: number
}

export interface Lane {
  readonly attempt: CallLog
  readonly segments: ReadonlyArray<Segment>
}

export interface Ghost {
  readonly name: string
  readonly reason: string
  readonly until: string | null
}

export interface Waterfall {
  readonly lanes: ReadonlyArray<Lane>
  /** Whole length, ms; at least 1. */
  readonly length: number
  /** When the client got the first of the answer; null when it got none. */
  readonly commit: number | null
  /** Attempts whose release wrote no phases. */
  readonly without: number
}

export const words: Readonly<Record<SegmentKind, string>> = {
  queue: "waited for a place", limits: "leases, limits, token", connect: "to the connection", head: "to the head", first: "to the first token", stream: "answer",
  failed: "until it failed", settle: "settled", whole: "whole attempt"
}

/** The attempt as one segment. */
const wholeOf = ({ duration, outcome }: CallLog): Segment => ({ kind: outcome === "completed" ? "whole" : "failed", from: 0, to: duration })

/**
 * Ends of the segments behind the attempt's start, in their order; a phase that was not reached is left out. One that has no phases, or
 * none as long as a millisecond, is one segment.
 */
const segmentsOf = (attempt: CallLog): ReadonlyArray<Segment> => {
  const { duration, outcome, phases, ttft } = attempt
  const last: SegmentKind = outcome === "completed" ? "stream" : "failed"
  if (phases === null) return [wholeOf(attempt)]
  const steps: ReadonlyArray<readonly [SegmentKind, number | null]> = [
    ["connect", phases.sent], ["head", phases.head], ["first", ttft], [last, phases.end], ["settle", duration]
  ]
  const segments: Array<Segment> = []
  if (phases.queue > 0) segments.push({ kind: "queue", from: -phases.limits - phases.queue, to: -phases.limits })
  if (phases.limits > 0) segments.push({ kind: "limits", from: -phases.limits, to: 0 })
  let at = 0
  for (const [kind, end] of steps) {
    if (end === null || end <= at) continue
    segments.push({ kind, from: at, to: end })
    at = end
  }
  return segments.length === 0 ? [wholeOf(attempt)] : segments
}

const startOf = ({ timestamp }: CallLog): number => Date.parse(timestamp)

export const waterfall = (attempts: ReadonlyArray<CallLog>): Waterfall => {
  const begins = attempts.map((attempt) => startOf(attempt) - (attempt.phases === null ? 0 : attempt.phases.before + attempt.phases.queue + attempt.phases.limits))
  const zero = Math.min(...begins)
  const lanes = attempts.map((attempt) => ({
    attempt,
    segments: segmentsOf(attempt).map(({ from, kind, to }) => ({ kind, from: startOf(attempt) - zero + from, to: startOf(attempt) - zero + to }))
  }))
  const won = attempts.find(({ clientStatus, outcome }) => outcome === "completed" && clientStatus !== null) ?? attempts.find(({ outcome }) => outcome === "completed")
  return {
    lanes,
    length: Math.max(1, ...lanes.flatMap(({ segments }) => segments.map(({ to }) => to))),
    commit: won === undefined ? null : startOf(won) - zero + (won.ttft ?? won.duration),
    without: attempts.filter(({ phases }) => phases === null).length
  }
}

type Decision = Answer<"GET /api/routing/decisions/:requestId">["decision"]

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === "object" && value !== null && !Array.isArray(value)
const text = (value: unknown): string => typeof value === "string" ? value : ""

/** Targets that the decision left out, with what blocked them. */
export const ghostsIn = (decision: Decision | undefined): ReadonlyArray<Ghost> => {
  const entries: unknown = decision?.["entries"]
  return (Array.isArray(entries) ? entries : []).filter(isRecord).flatMap((entry): ReadonlyArray<Ghost> => entry["outcome"] !== "skipped" ? [] : [{
    name: text(entry["model"]).startsWith(`${text(entry["provider"])}/`) ? text(entry["model"]) : `${text(entry["provider"])}/${text(entry["model"])}`,
    reason: text(entry["detail"]) || text(entry["reason"]),
    until: typeof entry["until"] === "string" ? entry["until"] : null
  }])
}
