/** Whether prompt caches are worth what is written to them. Pure. */
import type { PromptCacheWrites } from "#actors/ports/UsageStore.ts"
import type { CacheHealth } from "./api.ts"

type Judgement = Pick<CacheHealth, "verdict" | "totals" | "readWriteRatio" | "writeReadRatio" | "writeSize">

/** Reads per write from which a cache is worth its writes. */
const HEALTHY_RATIO = 3
/** Writes that are enough to say that a cache is hardly read. */
const THRASH_WRITES = 10

const verdictOf = (read: number, written: number, writes: number): Judgement["verdict"] => {
  if (read === 0 && written === 0) return "no-data"
  if (read >= HEALTHY_RATIO * written) return "healthy"
  return read < written && writes >= THRASH_WRITES ? "thrash" : "degraded"
}

const ratio = (of: number, to: number): number | null => to === 0 ? null : of / to

const judged = ({ cachedTokens: read, cacheCreationTokens: written, requests, sizes, writes }: PromptCacheWrites): Judgement => ({
  verdict: verdictOf(read, written, writes),
  totals: { requests, cacheWriteTokens: written, cacheReadTokens: read },
  readWriteRatio: ratio(read, written),
  writeReadRatio: ratio(written, read),
  writeSize: sizes === null ? null : { p50: sizes[0], p90: sizes[1], p95: sizes[2], p99: sizes[3], max: sizes[4] }
})

const nothing: Judgement = { verdict: "no-data", totals: { requests: 0, cacheWriteTokens: 0, cacheReadTokens: 0 }, readWriteRatio: null, writeReadRatio: null, writeSize: null }

/** `nameOf`: the name of a provider. */
export const cacheHealth = (rows: ReadonlyArray<PromptCacheWrites>, nameOf: (provider: string) => string): Judgement & Pick<CacheHealth, "byModel"> => {
  const all = rows.find(({ target }) => target === null)
  return {
    ...(all === undefined ? nothing : judged(all)),
    byModel: rows.flatMap((row) => row.target === null ? [] : [{ provider: nameOf(row.target.provider), model: row.target.model, ...judged(row) }])
  }
}
