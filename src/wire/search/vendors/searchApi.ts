/** SearchApi: results of many engines, whose name is the model. https://www.searchapi.io/docs/google */
import { countIn, listAt, pageOf, recordAt, results, type SearchVendor, withSites } from "#src/wire/search/SearchVendor.ts"

export const searchApi: SearchVendor = {
  most: 100,
  types: ["web", "news"],
  takes: new Set(["offset", "country", "language", "time_range", "filters.include_domains", "filters.exclude_domains", "filters.safe_search"]),
  paging: "pages",
  byQuery: true,
  ask: (request, variant, count) => ({
    engine: variant ?? (request.type === "news" ? "google_news" : "google"), q: withSites(request), num: count, gl: request.country?.toLowerCase(), hl: request.language ?? undefined,
    time_period: request.timeRange === null ? undefined : `last_${request.timeRange}`,
    safe: request.safeSearch === null ? undefined : request.safeSearch === "off" ? "off" : "active",
    page: request.offset === 0 ? undefined : pageOf(request, count) + 1
  }),
  answered: (answer) => results(listAt(answer, "organic_results") ?? listAt(answer, "top_stories"), (one) => ({
    title: one["title"], url: one["link"], snippet: one["snippet"], published: one["iso_date"] ?? one["date"], favicon: one["favicon"], displayUrl: one["displayed_link"],
    image: one["thumbnail"], author: one["source"]
  }), { total: countIn(recordAt(answer, "search_information")["total_results"]) })
}
