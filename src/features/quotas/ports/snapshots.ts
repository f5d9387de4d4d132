/** From a reading to its row and back, when one is worth a row, and where a window is heading. Pure. */
import type { HeldReading, QuotaReading } from "#src/routing/ports/Quotas.ts"
import type { QuotaSnapshot } from "#schemas/records/QuotaSnapshot.ts"

/** Points of percent that are a change. */
const step = 1
/** A window that is over sooner than this changes all the time, and has at most one row in `shortEvery` (ms). */
const shortMs = 3_600_000
const shortEvery = 300_000

export const isExhausted = ({ remainingPercent }: Pick<QuotaReading, "remainingPercent">): boolean => remainingPercent <= 0

/** Whether a reading says something that the last stored one does not. */
export const worthStoring = (last: QuotaReading | undefined, next: QuotaReading): boolean => {
  if (last === undefined || isExhausted(last) !== isExhausted(next)) return true
  // What has no reset is forgotten by the other nodes unless it is stored again.
  if (next.believedMs !== undefined && next.seenAt - last.seenAt >= next.believedMs / 2) return true
  if (Math.abs(last.remainingPercent - next.remainingPercent) < step) return false
  const isShort = next.resetsAt === null || next.resetsAt - next.seenAt < shortMs
  return !isShort || next.seenAt - last.seenAt >= shortEvery
}

const whole = (value: number | null): number | null => value === null ? null : Math.round(value)

export const rowOf = (provider: string, { connectionId, model, reading }: HeldReading): QuotaSnapshot => ({
  provider,
  connectionId,
  model,
  windowKey: reading.name,
  remainingPercentage: reading.remainingPercent,
  isExhausted: isExhausted(reading),
  nextResetAt: whole(reading.resetsAt),
  windowDurationMs: whole(reading.lengthMs),
  rawData: {
    limit: reading.limit, remaining: reading.remaining, refills: typeof reading.refillsFrom === "number",
    ...(reading.believedMs === undefined ? {} : { believedMs: reading.believedMs })
  },
  createdAt: Math.round(reading.seenAt)
})

/** What a restarted node still knows. */
export const readingOf = (row: QuotaSnapshot): QuotaReading => ({
  name: row.windowKey,
  remainingPercent: row.remainingPercentage,
  resetsAt: row.nextResetAt,
  refillsFrom: row.rawData.refills ? row.createdAt : null,
  scope: row.model === null ? "connection" : "model",
  limit: row.rawData.limit,
  remaining: row.rawData.remaining,
  lengthMs: row.windowDurationMs,
  seenAt: row.createdAt,
  ...(row.rawData.believedMs === undefined ? {} : { believedMs: row.rawData.believedMs })
})

export type Trend = "improving" | "stable" | "declining"

/** Points of percent that a trend moves at least. */
const trendStep = 2

/** The newest row of one window against the mean of those before it; null with fewer than two. */
export const trendOf = (newestFirst: ReadonlyArray<Pick<QuotaSnapshot, "remainingPercentage">>): Trend | null => {
  const [newest, ...before] = newestFirst
  if (newest === undefined || before.length === 0) return null
  const mean = before.reduce((sum, row) => sum + row.remainingPercentage, 0) / before.length
  const moved = newest.remainingPercentage - mean
  return moved >= trendStep ? "improving" : moved <= -trendStep ? "declining" : "stable"
}
