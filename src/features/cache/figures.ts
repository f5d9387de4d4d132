/** What the two caches have done, in the form of replies. Pure. */
import type { PromptCacheUse } from "#actors/ports/UsageStore.ts"
import type { PromptCacheFigures } from "./api.ts"

/** `<n>%`, with one decimal. */
export const rateOf = ({ hits, misses }: { readonly hits: number; readonly misses: number }): string =>
  `${hits + misses === 0 ? 0 : Math.round(1000 * hits / (hits + misses)) / 10}%`

/** USD per million tokens. */
type PriceOf = (provider: string, model: string) => { readonly input?: number | null; readonly cached?: number | null } | null

type Provider = PromptCacheFigures["byProvider"][string]

const none: Provider = { requests: 0, inputTokens: 0, cachedTokens: 0, cacheCreationTokens: 0 }

const plus = (known: Provider, use: PromptCacheUse): Provider => ({
  requests: known.requests + use.requests,
  inputTokens: known.inputTokens + use.inputTokens,
  cachedTokens: known.cachedTokens + use.cachedTokens,
  cacheCreationTokens: known.cacheCreationTokens + use.cacheCreationTokens
})

/** What the vendors' prompt caches saved. `shown`: a provider's name in replies. */
export const promptCacheFigures = (uses: ReadonlyArray<PromptCacheUse>, priceOf: PriceOf, shown: (provider: string) => string): PromptCacheFigures => {
  const byProvider = new Map<string, Provider>()
  let saved = 0
  let cachedRequests = 0
  let total = none
  for (const use of uses) {
    const provider = shown(use.provider)
    byProvider.set(provider, plus(byProvider.get(provider) ?? none, use))
    total = plus(total, use)
    cachedRequests += use.cachedRequests
    const price = priceOf(use.provider, use.model)
    if (price !== null) saved += use.cachedTokens * Math.max(0, (price.input ?? 0) - (price.cached ?? price.input ?? 0)) / 1e6
  }
  return {
    totalRequests: total.requests,
    requestsWithCacheControl: cachedRequests,
    totalInputTokens: total.inputTokens,
    totalCachedTokens: total.cachedTokens,
    totalCacheCreationTokens: total.cacheCreationTokens,
    tokensSaved: total.cachedTokens,
    estimatedCostSaved: Math.round(saved * 1e10) / 1e10,
    byProvider: Object.fromEntries(byProvider),
    byStrategy: {}
  }
}
