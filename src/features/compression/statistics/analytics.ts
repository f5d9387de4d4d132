/** Sums of compression as replies show them. Pure. */
import type { PartSums, Sums } from "./CompressionStatisticsStore.ts"

const percentOf = (before: number, after: number): number => before === 0 ? 0 : Math.round((before - after) / before * 1_000) / 10

const plus = (sums: ReadonlyArray<Sums>): Sums => sums.reduce((all, one) => ({
  requests: all.requests + one.requests, before: all.before + one.before, after: all.after + one.after, fallbacks: all.fallbacks + one.fallbacks
}), { requests: 0, before: 0, after: 0, fallbacks: 0 })

const viewOf = (rows: ReadonlyArray<Sums>) => {
  const { after, before, requests } = plus(rows)
  return { requests, originalTokens: before, compressedTokens: after, tokensSaved: before - after, savingsPct: percentOf(before, after) }
}

const by = (rows: ReadonlyArray<PartSums>, nameOf: (row: PartSums) => string) =>
  Object.fromEntries(Array.from(Map.groupBy(rows, nameOf), ([name, own]) => [name, viewOf(own)]))

/** What requests without a combo are summed under. */
const noCombo = "none"

export const of = (rows: ReadonlyArray<PartSums>) => {
  const wholes = rows.filter(({ engine }) => engine === null)
  const { after, before, fallbacks, requests } = plus(wholes)
  return {
    requests, totalOriginalTokens: before, totalCompressedTokens: after, totalSavings: before - after, savingsPct: percentOf(before, after), validationFallbacks: fallbacks,
    modeBreakdown: by(wholes, ({ mode }) => mode), engineBreakdown: by(rows.filter(({ engine }) => engine !== null), ({ engine }) => String(engine)),
    comboBreakdown: by(wholes, ({ comboId }) => comboId ?? noCombo)
  }
}
