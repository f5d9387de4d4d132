/**
 * What bounds the calls of one connection, from its record and the settings. Nothing does until an operator sets it: the section
 * `requestQueue` acts on connections with rateLimitProtection, a connection's own overrides and a provider's quota always. Each live
 * node has its part of a cap and of a pace: an upstream's limit holds for all nodes together.
 */
import type * as Pace from "#actors/resilience/Pace.ts"
import type { VolumeRules } from "#actors/resilience/Volume.ts"
import type { Connection } from "#schemas/records/Connection.ts"
import type { Effective } from "#src/features/resilience/ports/resilienceSettings.ts"
import { leastCap, partOf } from "#src/features/resilience/ports/resilienceSettings.ts"

export interface TargetRules {
  /** Calls at once; 0 = no cap. */
  readonly max: number
  /** Null when starts are not counted. */
  readonly pace: Pace.PaceRules | null
  /** Null when neither its requests of a day nor its tokens are limited. */
  readonly volume: VolumeRules | null
  /** How its calls wait in line; null = they do not. */
  readonly queue: { readonly maxWaitMs: number; readonly depth: number } | null
  /** Longest call in ms; 0 = no limit of this kind. */
  readonly executionMs: number
}

export const unbounded: TargetRules = { max: 0, pace: null, volume: null, queue: null, executionMs: 0 }

/** The queue is on: by the connection's own switch, or for every key with flag RATE_LIMIT_AUTO_ENABLE. */
const isProtected = (record: Connection, { autoQueue, settings }: Effective): boolean =>
  record.rateLimitProtection || (autoQueue && settings.requestQueue.autoEnableApiKeyProviders && record.authType === "apikey")

/** A number of the connection's own overrides; 0 = it is not set. */
const overrideOf = (record: Connection, name: string): number => {
  const value = record.rateLimitOverrides?.[name]
  return typeof value === "number" ? value : 0
}

const volumeOf = (record: Connection, nodes: number): VolumeRules | null => {
  if (record.rateLimitOverrides === null) return null
  const [rpd, tpm, tpd] = [overrideOf(record, "rpd"), overrideOf(record, "tpm"), overrideOf(record, "tpd")]
  if (rpd === 0 && tpm === 0 && tpd === 0) return null
  return { requestsPerDay: partOf(rpd, nodes), tokensPerMinute: partOf(tpm, nodes), tokensPerDay: partOf(tpd, nodes) }
}

/** Its day is counted from the ledger. */
export const hasDayLimit = (record: Connection): boolean =>
  record.rateLimitOverrides !== null && (overrideOf(record, "rpd") > 0 || overrideOf(record, "tpd") > 0)

export const hasVolume = (record: Connection): boolean => volumeOf(record, 1) !== null

export const rulesOf = (record: Connection, effective: Effective): TargetRules => {
  const { nodes, settings } = effective
  const { requestQueue } = settings
  const queued = isProtected(record, effective)
  const quota = settings.providerQuotaOverrides[record.provider]
  const own = (name: string): number => overrideOf(record, name)
  const perMinute = leastCap(own("rpm"), quota?.rpm, queued ? requestQueue.requestsPerMinute : 0)
  const gapMs = Math.max(own("minTime"), queued ? requestQueue.minTimeBetweenRequestsMs : 0)
  const maxWaitMs = own("maxWaitMs") > 0 ? own("maxWaitMs") : requestQueue.maxWaitMs
  return {
    max: partOf(leastCap(record.maxConcurrent, own("maxConcurrent"), quota?.concurrency, record.group === null ? 0 : settings.quotaShareConcurrencyLimit, queued ? requestQueue.concurrentRequests : 0), nodes),
    pace: perMinute > 0 || gapMs > 0 ? { perMinute: partOf(perMinute, nodes), gapMs: gapMs * nodes } : null,
    volume: volumeOf(record, nodes),
    queue: queued && maxWaitMs > 0 ? { maxWaitMs, depth: requestQueue.maxQueueDepth } : null,
    executionMs: queued ? requestQueue.executionMaxWaitMs : 0
  }
}
