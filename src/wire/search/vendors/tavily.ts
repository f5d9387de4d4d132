/** Tavily; the model is its depth: basic, advanced. https://docs.tavily.com/documentation/api-reference/endpoint/search */
import { listAt, results, type SearchVendor, textIn } from "#src/wire/search/SearchVendor.ts"

let names: Intl.DisplayNames | null = null

/** It takes countries by their English names. Their table is loaded when one is asked for: a start need not wait for it. */
const nameOf = (country: string): string | undefined => (names ??= new Intl.DisplayNames(["en"], { type: "region" })).of(country)?.toLowerCase()

export const tavily: SearchVendor = {
  most: 20,
  types: ["web", "news"],
  takes: new Set(["country", "time_range", "filters.include_domains", "filters.exclude_domains", "content.full_page", "synthesis"]),
  paging: "none",
  ask: ({ country, excludeDomains, format, fullPage, includeDomains, query, synthesis, timeRange, type }, variant, count) => ({
    query, topic: type === "news" ? "news" : "general", search_depth: variant ?? "basic", max_results: count, time_range: timeRange ?? undefined,
    // Of general searches alone.
    country: country === null || type === "news" ? undefined : nameOf(country),
    include_domains: includeDomains.length > 0 ? includeDomains : undefined, exclude_domains: excludeDomains.length > 0 ? excludeDomains : undefined,
    include_answer: synthesis === "none" ? undefined : true, include_raw_content: fullPage ? format : undefined, include_favicon: true
  }),
  answered: (answer, { format }) => results(listAt(answer, "results"), (one) => ({
    title: one["title"], url: one["url"], snippet: one["content"], score: one["score"], published: one["published_date"], favicon: one["favicon"],
    page: one["raw_content"], pageFormat: format
  }), { answer: textIn(answer["answer"]) })
}
