/**
 * The health of models as routing sees it at one moment: which of a model's targets a request would be given now, why the others are
 * left out, and how the attempts of the last hour ended. Pure.
 */
import type { LatencyStatistics } from "#actors/ports/UsageStore.ts"
import type { Resilience } from "#actors/request/ports/Resilience.ts"
import { PublicError } from "#schemas/errors.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import type { CallFormat } from "#schemas/wire/formats.ts"
import type { Candidate, Skipped } from "#src/routing/models/candidate.ts"
import type { ModelEntry } from "#src/routing/models/modelCatalog.ts"
import { unknownRequest } from "#src/routing/RequestMoment.ts"
import type { Router } from "#src/routing/Router.ts"
import { isoOf } from "#src/routing/trace.ts"
import { Blocked } from "#src/routing/unavailable.ts"

/** Attempts that a rate of successes needs before it says something. */
const enough = 5
/** A rate below this is poor. */
const poorRate = 0.9

export const statuses = ["healthy", "degraded", "unavailable", "unknown"] as const
/**
 * `unavailable`: no target may be called now. `degraded`: one of several may not, or many calls of the last hour failed. `unknown`: all
 * targets are free, and none was called in the last hour.
 */
export type Status = typeof statuses[number]

/** Targets of a model or a combo: a connection with its model is one. */
export interface Availability {
  readonly available: boolean
  readonly targets: { readonly total: number; readonly available: number }
  /** Why a target is left out: of the one that is free first; null when none is left out. */
  readonly reason: Skipped["unavailable"]["reason"] | null
  /** ISO 8601, when that one is free again; null = unknown. */
  readonly until: string | null
}

/** Attempts of the last hour, by every key. */
export interface LastHour {
  readonly attempts: number
  readonly successes: number
  /** Failures that count against the upstream: a client that left is in neither count. */
  readonly failures: number
  /** Null while no attempt counts. */
  readonly success_rate: number | null
  /** Of successes, or of all attempts while there is none, ms. */
  readonly avg_latency_ms: number
  readonly p95_latency_ms: number
  readonly last_used_at: string
}

export interface ModelHealth extends Availability {
  readonly id: string
  readonly object: "model.health"
  readonly owned_by: string
  readonly status: Status
  readonly last_hour: LastHour | null
}

interface Pool {
  readonly free: ReadonlyArray<Candidate>
  readonly skipped: ReadonlyArray<Skipped>
}

/** Who asks, and when. */
export interface Asking {
  readonly router: Router
  readonly resilience: Pick<Resilience["Service"], "check">
  readonly key: ApiKey | null
  /** ms since the epoch. */
  readonly now: number
}

/** Nothing is remembered of the question. Null for a model that cannot be asked for at all. */
const poolOf = ({ key, now, resilience, router }: Asking, model: string, face: CallFormat): Pool | null => {
  const route = router.route({ model, key, face, session: null, headers: {}, prompt: unknownRequest, now, dry: true })
  if (route instanceof PublicError) return route instanceof Blocked ? { free: [], skipped: route.skipped } : null
  const { order, skipped } = route.order
  if (!route.lastResort) return { free: order, skipped }
  // A last resort is still tried; what it is rested for stands in no route.
  const rested = order.map((candidate): Skipped => ({ candidate, unavailable: resilience.check(candidate.target, now) ?? { reason: candidate.target.proxy === null ? "inactive" : "proxy-aside", until: null, detail: "" } }))
  return { free: [], skipped: [...rested, ...skipped] }
}

/** A place that is taken is no failure: the call waits for it. */
const isBusy = ({ unavailable: { reason } }: Skipped): boolean => reason === "connection-busy" || reason === "model-busy"

const soonest = (skipped: ReadonlyArray<Skipped>): Skipped | null =>
  skipped.reduce<Skipped | null>((first, one) => first === null || (one.unavailable.until ?? Infinity) < (first.unavailable.until ?? Infinity) ? one : first, null)

const nothingFree: Availability = { available: false, targets: { total: 0, available: 0 }, reason: null, until: null }

const availabilityIn = ({ free, skipped }: Pool): Availability => {
  const out = skipped.filter((one) => !isBusy(one))
  const total = free.length + skipped.length
  const first = soonest(out)
  return {
    available: total > out.length, targets: { total, available: total - out.length },
    reason: first?.unavailable.reason ?? null, until: isoOf(first?.unavailable.until ?? null)
  }
}

/** Of a combo; one that cannot be asked for at all has no target. */
export const availabilityOf = (asking: Asking, name: string): Availability => {
  const pool = poolOf(asking, name, "chat-completions")
  return pool === null ? nothingFree : availabilityIn(pool)
}

const faces: Readonly<Record<Exclude<ModelEntry["type"], undefined | "audio">, CallFormat>> = {
  embedding: "embeddings", rerank: "rerank", image: "images", video: "videos", music: "music", moderation: "moderations", ocr: "ocr"
}

const faceOf = ({ subtype, type }: ModelEntry): CallFormat =>
  type === undefined ? "chat-completions" : type !== "audio" ? faces[type] : subtype === "transcription" ? "transcriptions" : "speech"

export const outcomeKey = (provider: string, model: string): string => `${provider}\n${model}`

const lastHourOf = ({ avgMs, failures, lastUsed, p95Ms, requests, successes }: LatencyStatistics): LastHour => ({
  attempts: requests, successes, failures, success_rate: successes + failures === 0 ? null : successes / (successes + failures),
  avg_latency_ms: avgMs, p95_latency_ms: p95Ms, last_used_at: new Date(lastUsed).toISOString()
})

const isPoor = ({ failures, success_rate: rate, successes }: LastHour): boolean => rate !== null && rate < poorRate && successes + failures >= enough

const statusOf = ({ available, targets }: Availability, lastHour: LastHour | null): Status => {
  if (!available) return "unavailable"
  if (targets.available < targets.total || (lastHour !== null && isPoor(lastHour))) return "degraded"
  return lastHour === null ? "unknown" : "healthy"
}

/** `entry`: by its canonical id. `outcomes`: of the last hour, by `outcomeKey`. */
export const healthOf = (asking: Asking, entry: ModelEntry, outcomes: ReadonlyMap<string, LatencyStatistics>): ModelHealth => {
  const pool = poolOf(asking, entry.id, faceOf(entry))
  const availability = pool === null ? nothingFree : availabilityIn(pool)
  const target = pool?.free[0]?.target ?? pool?.skipped[0]?.candidate.target
  const statistics = target === undefined ? undefined : outcomes.get(outcomeKey(target.provider, target.model))
  const lastHour = statistics === undefined ? null : lastHourOf(statistics)
  return { id: entry.id, object: "model.health", owned_by: entry.owned_by, status: statusOf(availability, lastHour), ...availability, last_hour: lastHour }
}
