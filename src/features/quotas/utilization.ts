/** Readings of quota windows as series of buckets. Pure. */
import { shownProvider, type Snapshot } from "#actors/ports/Configuration.ts"
import type { QuotaSnapshot } from "#schemas/records/QuotaSnapshot.ts"
import type { QuotaSeries } from "./api.ts"

const minuteMs = 60_000
const hourMs = 60 * minuteMs

/** A range with the length of its buckets, ms: 60 buckets at most. */
export const ranges = {
  "1h": { ms: hourMs, bucketMs: minuteMs }, "24h": { ms: 24 * hourMs, bucketMs: 30 * minuteMs },
  "7d": { ms: 168 * hourMs, bucketMs: 4 * hourMs }, "30d": { ms: 720 * hourMs, bucketMs: 12 * hourMs }
}

const round = (value: number): number => Math.round(value * 100) / 100

/** `history`: of the range, newest first, of connections that may be shown. Series by connection and window. */
export const seriesOf = (snapshot: Pick<Snapshot, "nodeById">, history: ReadonlyArray<QuotaSnapshot>, bucketMs: number): ReadonlyArray<QuotaSeries> =>
  Array.from(Map.groupBy(history, ({ connectionId, model, windowKey }) => JSON.stringify([connectionId, windowKey, model])), ([name, rows]) => {
    const { connectionId, model, provider, windowKey } = rows[0] as QuotaSnapshot
    const points = Array.from(Map.groupBy(rows, ({ createdAt }) => createdAt - createdAt % bucketMs), ([start, readings]) => ({
      start: new Date(start).toISOString(),
      remainingPercentage: round((readings[0] as QuotaSnapshot).remainingPercentage),
      lowestPercentage: round(Math.min(...readings.map(({ remainingPercentage }) => remainingPercentage))),
      isExhausted: readings.some(({ isExhausted }) => isExhausted),
      readings: readings.length
    })).reverse()
    return { name, series: { connectionId, provider: shownProvider(snapshot, provider), window: windowKey, model, points } }
  }).sort((a, b) => a.name < b.name ? -1 : 1).map(({ series }) => series)
