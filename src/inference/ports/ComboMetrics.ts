/** Counts of what combos did since the process started or the last reset; memory of this node only, bounded. */
import * as Context from "effect/Context"
import type { AttemptNote } from "#actors/request/Inbound.ts"
import type { Combo } from "#schemas/records/Combo.ts"
import type { Candidate } from "#src/routing/models/candidate.ts"

/** One attempt of a request that a combo served. */
export interface ComboAttempt {
  readonly executionKey: string
  readonly provider: string
  /** Canonical public id. */
  readonly model: string
  readonly connectionId: string | null
  readonly ok: boolean
  readonly latencyMs: number
}

/** One finished request; a client abort is not recorded. */
export interface ComboRequest {
  /** Name of the outermost combo. */
  readonly combo: string
  readonly strategy: string
  readonly ok: boolean
  /** ms from arrival to end. */
  readonly latencyMs: number
  /** In the order they were made; empty when no target was available. */
  readonly attempts: ReadonlyArray<ComboAttempt>
  /** ms since the epoch. */
  readonly at: number
}

interface Counts {
  readonly requests: number
  readonly successes: number
  readonly failures: number
  /** Mean of the successful ones, ms; null without any. */
  readonly avgLatencyMs: number | null
  /** ISO 8601. */
  readonly lastUsedAt: string | null
}

export interface TargetMetrics extends Counts {
  readonly provider: string
  readonly model: string
  readonly connectionId: string | null
}

export interface Metrics extends Counts {
  readonly strategy: string
  /** Requests that needed more than one attempt. */
  readonly fallbacks: number
  /** By execution key; `requests` counts attempts. */
  readonly targets: Readonly<Record<string, TargetMetrics>>
}

export class ComboMetrics extends Context.Service<ComboMetrics, {
  /** Called once per request of a combo with trackMetrics, when it is settled; costs a few additions. */
  readonly record: (request: ComboRequest) => void
  /** By combo name. */
  readonly all: () => Readonly<Record<string, Metrics>>
  readonly of: (combo: string) => Metrics | null
  /** Forgets one combo, or all of them. */
  readonly reset: (combo?: string) => void
  /** The counts follow a combo to its new name. */
  readonly rename: (from: string, to: string) => void
}>()("gateway/ports/ComboMetrics") {}

/** Is told of requests of combos that were answered after a failure (setting comboAutoPromoteEnabled). */
export class ComboPromotions extends Context.Service<ComboPromotions, {
  /** Off the hot path: called once per request that needed several tries. */
  readonly answered: (combo: Combo, order: ReadonlyArray<Candidate>, attempts: ReadonlyArray<AttemptNote>) => void
}>()("gateway/ports/ComboPromotions") {}
