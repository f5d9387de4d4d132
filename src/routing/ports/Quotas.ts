/**
 * The quota left on each connection, as upstreams last reported it in the headers of their answers. Memory of this node, read at
 * once; a window whose reset has passed is forgotten, because its content is unknown.
 */
import * as Context from "effect/Context"
import type { Unavailable } from "#actors/request/ports/Resilience.ts"
import type { Target } from "#actors/request/ports/Target.ts"

/** A quota window of a connection's plan, as last seen. */
export interface QuotaWindow {
  /** As the vendor names it: `5h`, `7d`, `requests`, `tokens-minute`. */
  readonly name: string
  /** 0 to 100. */
  readonly remainingPercent: number
  /** ms since the epoch; null when unknown. */
  readonly resetsAt: number | null
  /** Fills evenly from then (ms since the epoch) until its reset, as a token bucket does; else all at once at its reset. */
  readonly refillsFrom?: number | null
}

/** A window with everything that its headers said. */
export interface QuotaReading extends QuotaWindow {
  /** `model`: of the one model that was asked. */
  readonly scope: "connection" | "model"
  /** In requests or tokens; null when only a share is reported. */
  readonly limit: number | null
  readonly remaining: number | null
  /** ms; null when unknown. */
  readonly lengthMs: number | null
  /** How long it counts without a reset, ms; absent = a minute. */
  readonly believedMs?: number
  /** ms since the epoch. */
  readonly seenAt: number
}

/** A reading and whose it is; `model` is null for a window of the whole connection. */
export interface HeldReading {
  readonly connectionId: string
  readonly model: string | null
  readonly reading: QuotaReading
}

/** Thresholds of a low quota: percent that remain, at or below. */
export interface QuotaLimits {
  readonly cutoffPercent: number
  readonly warningPercent: number
}

const percent = (value: number): number => Math.min(100, Math.max(0, value))

/** Percent that remains at a time: a window whose reset has passed is full again. */
export const remainingAt = (window: QuotaWindow, now: number): number => {
  const { refillsFrom = null, resetsAt } = window
  if (resetsAt !== null && resetsAt <= now) return 100
  const seen = percent(window.remainingPercent)
  if (refillsFrom === null || resetsAt === null || now <= refillsFrom) return seen
  return seen + (100 - seen) * (now - refillsFrom) / (resetsAt - refillsFrom)
}

/** The first ms at which surely more than a percentage remains again; null when the reset is unknown. */
export const aboveFrom = (window: QuotaWindow, cutoffPercent: number): number | null => {
  const { refillsFrom = null, resetsAt } = window
  if (resetsAt === null) return null
  const seen = percent(window.remainingPercent)
  if (refillsFrom === null || cutoffPercent >= 100 || resetsAt <= refillsFrom) return resetsAt
  if (seen > cutoffPercent) return refillsFrom
  return Math.min(resetsAt, Math.floor(refillsFrom + (resetsAt - refillsFrom) * (cutoffPercent - seen) / (100 - seen)) + 1)
}

export class Quotas extends Context.Service<Quotas, {
  /** False while nothing is known of any connection: further look-ups are not needed. */
  readonly known: () => boolean
  readonly windows: (target: Target, now: number) => ReadonlyArray<QuotaReading>
  /** Reason `quota-exhausted` while a window with a known reset is at or below its cut-off; null when the target may be used. */
  readonly preflight: (target: Target, now: number) => Unavailable | null
  /** Notes what the headers of an answer say; `seenAt` is when they came (ms since the epoch). Cheap when they say nothing. */
  readonly note: (target: Target, headers: ReadonlyArray<string>, seenAt: number) => void
  /** Everything that is held of one connection, or of all, tightest first. */
  readonly held: (connectionId: string | null, now: number) => ReadonlyArray<HeldReading>
  /** The cut-off and the warning of one window. */
  readonly limitsOf: (connectionId: string, window: string) => QuotaLimits
}>()("gateway/ports/Quotas") {}

const none: ReadonlyArray<never> = []

/** Nothing is known and nothing is kept. */
export const unknown: Quotas["Service"] = {
  known: () => false,
  windows: () => none,
  preflight: () => null,
  note: () => {},
  held: () => none,
  limitsOf: () => ({ cutoffPercent: 2, warningPercent: 20 })
}
