/** Linkup; the model is its depth: fast, standard, deep. https://docs.linkup.so/pages/documentation/endpoints/search */
import { listAt, results, type SearchVendor, sinceOf, textIn } from "#src/wire/search/SearchVendor.ts"

export const linkup: SearchVendor = {
  most: 50,
  types: ["web"],
  takes: new Set(["time_range", "filters.include_domains", "filters.exclude_domains", "content.full_page", "synthesis"]),
  paging: "none",
  ask: ({ excludeDomains, includeDomains, query, synthesis, timeRange }, variant, count, now) => ({
    q: query, depth: variant ?? "standard", outputType: synthesis === "none" ? "searchResults" : "sourcedAnswer", maxResults: count, fromDate: sinceOf(timeRange, now),
    includeDomains: includeDomains.length > 0 ? includeDomains : undefined, excludeDomains: excludeDomains.length > 0 ? excludeDomains : undefined
  }),
  answered: (answer) => results(listAt(answer, "results") ?? listAt(answer, "sources"), (one) => ({
    title: one["name"], url: one["url"], snippet: one["snippet"] ?? one["content"], favicon: one["favicon"], page: one["content"], pageFormat: "text"
  }), { answer: textIn(answer["answer"]) })
}
