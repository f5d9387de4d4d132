/** Perplexity's search. https://docs.perplexity.ai/api-reference/search-post */
import { listAt, results, type SearchVendor } from "#src/wire/search/SearchVendor.ts"

export const perplexity: SearchVendor = {
  most: 20,
  types: ["web"],
  takes: new Set(["country", "language", "time_range", "filters.include_domains", "filters.exclude_domains"]),
  paging: "none",
  ask: ({ country, excludeDomains, includeDomains, language, query, timeRange }, _variant, count) => ({
    query, max_results: count, country: country ?? undefined, search_language_filter: language === null ? undefined : [language.slice(0, 2).toLowerCase()],
    search_recency_filter: timeRange ?? undefined,
    // The list allows or denies; a domain that is not allowed need not be denied.
    search_domain_filter: includeDomains.length > 0 ? includeDomains : excludeDomains.length > 0 ? excludeDomains.map((domain) => `-${domain}`) : undefined
  }),
  answered: (answer) => results(listAt(answer, "results"), (one) => ({
    title: one["title"], url: one["url"], snippet: one["snippet"], published: one["date"] ?? one["last_updated"]
  }))
}
