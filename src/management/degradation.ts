/**
 * Rows of the degradation contract: what a feature does while Redis, Postgres, the disk, the log or another node fails. A feature lists
 * its own; GET /api/health/degradation shows them all, and `test/chaos/degradation*` enforces them.
 */
import type { DegradationEffect, DegradationRow, Fault } from "#schemas/degradation.ts"
import { HOLD_MS } from "#src/platform/cluster/StandStill.ts"
import { POLL_MS } from "#src/platform/cluster/PolledFeed.ts"
import { defaults } from "#src/platform/configuration/Settings.ts"
import { OPERATION_MS } from "#src/platform/postgres/operation.ts"

/** One exchange with Redis, ms; after a few of them its breaker answers at once. */
export const REDIS_MS = defaults.redisTimeoutMs
/** One operation of a record store, ms. */
export const STORE_MS = OPERATION_MS
/** A look-up that a request waits for, ms. */
export const LOOKUP_MS = defaults.lookUpMs
/** How soon a change reaches every node, ms. */
export const NEWS_MS = 2 * POLL_MS

type Outcome = DegradationEffect["outcome"]

export const effect = (outcome: Outcome, note: string, stalenessMs: number | null = 0, addedLatencyMs: number | null = 0): DegradationEffect => ({
  outcome, stalenessMs, addedLatencyMs, note
})
export const untouched = effect("admitted", "Not used.")
export const unaffected = effect("admitted", "Not affected.")
export const stoodStill = effect("admitted", "A node that goes on holds its requests until it has looked once; if the records do not answer by then, it acts on what it knows.", null, HOLD_MS)
/** Most of what a node does is asked of another one instead. */
export const elsewhere = effect("admitted", "The other nodes go on.")

export interface Parts {
  readonly redis?: { readonly away: DegradationEffect; readonly slow?: DegradationEffect; readonly flushed?: DegradationEffect }
  readonly postgres?: { readonly away: DegradationEffect; readonly frozen?: DegradationEffect; readonly slow?: DegradationEffect; readonly flushed?: DegradationEffect }
  readonly node?: { readonly killed?: DegradationEffect; readonly paused?: DegradationEffect; readonly skewed?: DegradationEffect }
  readonly disk?: DegradationEffect
  readonly log?: DegradationEffect
}

export const row = (feature: string, { disk = untouched, log = untouched, node, postgres, redis }: Parts): DegradationRow => {
  const slow = redis?.slow ?? redis?.away ?? untouched
  const frozen = postgres?.frozen ?? postgres?.away ?? untouched
  const effects: Readonly<Record<Fault, DegradationEffect>> = {
    "redis-refused": redis?.away ?? untouched,
    "redis-frozen": slow,
    "redis-slow": slow,
    "redis-flushed": redis?.flushed ?? redis?.away ?? untouched,
    "postgres-refused": postgres?.away ?? untouched,
    "postgres-frozen": frozen,
    "postgres-slow": postgres?.slow ?? frozen,
    "postgres-flushed": postgres?.flushed ?? postgres?.away ?? untouched,
    "disk-full": disk,
    "log-sink-blocked": log,
    "node-killed": node?.killed ?? elsewhere,
    "node-paused": node?.paused ?? elsewhere,
    "clock-skewed": node?.skewed ?? unaffected
  }
  return { feature, effects }
}

/** What a module itself declares about the stores it stands on. */
export interface Declared {
  readonly feature: string
  readonly redis: string
  readonly postgres: string
  readonly stalenessMs: number
  readonly addedLatencyMs: number
}

/** `besides`: where one fault does something else than its store's absence. */
export const declared = ({ addedLatencyMs, feature, postgres, redis, stalenessMs }: Declared, besides: Parts = {}): DegradationRow => {
  const outcome = (text: string): Outcome => text.startsWith("fail-closed") ? "denied" : "admitted"
  const of = (text: string) => text === "not used" ? untouched : effect(outcome(text), text, stalenessMs, addedLatencyMs)
  return row(feature, { ...besides, redis: { away: of(redis), ...besides.redis }, postgres: { away: of(postgres), ...besides.postgres } })
}
