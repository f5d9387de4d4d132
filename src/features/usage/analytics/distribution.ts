/** How evenly calls are spread. Pure. */

/** Shannon entropy of a distribution in bits; 0 of nothing. */
const entropyOf = (counts: ReadonlyArray<number>): number => {
  const total = counts.reduce((sum, count) => sum + count, 0)
  return counts.reduce((sum, count) => count === 0 ? sum : sum - (count / total) * Math.log2(count / total), 0)
}

/** 0 when all have the same, 1 when one has everything; 0 of fewer than two, or of nothing. */
export const skewOf = (counts: ReadonlyArray<number>): number =>
  counts.length < 2 || counts.every((count) => count === 0) ? 0 : 1 - entropyOf(counts) / Math.log2(counts.length)

/** A provider with more of the calls than this is warned of. */
const shareMax = 0.8

/** The reply of GET /api/analytics/diversity. */
export const diversityOf = (usage: ReadonlyArray<readonly [provider: string, count: number]>) => {
  const counts = usage.map(([, count]) => count)
  const total = counts.reduce((sum, count) => sum + count, 0)
  const shares = usage.map(([provider, count]) => ({ provider, count, share: count / total }))
  const shannonEntropy = entropyOf(counts)
  const maxEntropy = usage.length === 0 ? 0 : Math.log2(usage.length)
  return {
    shannonEntropy,
    maxEntropy,
    diversityRatio: maxEntropy === 0 ? 0 : shannonEntropy / maxEntropy,
    providerUsage: Object.fromEntries(shares.map(({ count, provider, share }) => [provider, { count, share }])),
    warnings: shares.filter(({ share }) => share > shareMax).map(({ provider, share }) =>
      share === 1 ? `Every request is answered by ${provider}` : `${provider} answers ${Math.round(share * 100)} % of the requests`)
  }
}
