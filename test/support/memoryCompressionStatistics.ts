/** Sums of compression without a database. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { CompressionStatisticsStore, type CompressionSums, type PartSums } from "#src/features/compression/statistics/CompressionStatisticsStore.ts"

const sumOf = (rows: ReadonlyArray<PartSums>): PartSums => rows.reduce((sum, one) => ({
  ...sum, requests: sum.requests + one.requests, before: sum.before + one.before, after: sum.after + one.after, fallbacks: sum.fallbacks + one.fallbacks
}))

const partOf = ({ after, before, comboId, engine, fallbacks, mode, requests }: CompressionSums): PartSums => ({ mode, comboId, engine, requests, before, after, fallbacks })

const nameOf = ({ comboId, engine, mode }: PartSums): string => [mode, comboId ?? "", engine ?? ""].join("\n")

export const layer = Layer.sync(CompressionStatisticsStore, () => {
  let rows: ReadonlyArray<CompressionSums> = []
  const stored = new Map<string, number>()
  return {
    add: ({ at, id, rows: added }) => Effect.sync(() => {
      if (stored.has(id)) return
      stored.set(id, at)
      rows = [...rows, ...added]
    }),
    since: (hour) => Effect.sync(() => {
      const parts = rows.filter((row) => row.hour >= hour).map(partOf)
      return Array.from(Map.groupBy(parts, nameOf)).sort(([a], [b]) => a < b ? -1 : 1).map(([, own]) => sumOf(own))
    }),
    removeBefore: (hour, batch) => Effect.sync(() => {
      const before = rows.length
      for (const [id, at] of stored) if (at < batch) stored.delete(id)
      rows = rows.filter((row) => row.hour >= hour)
      return before - rows.length
    })
  }
})
