/** Brave Search. https://api-dashboard.search.brave.com/app/documentation */
import { listAt, type Members, pageOf, recordAt, results, type SearchVendor, withSites } from "#src/wire/search/SearchVendor.ts"

const ranges = { day: "pd", week: "pw", month: "pm", year: "py" } as const

const found = (one: Members) => ({
  title: one["title"], url: one["url"], snippet: one["description"], published: one["page_age"] ?? one["age"], favicon: recordAt(one, "meta_url")["favicon"],
  displayUrl: recordAt(one, "meta_url")["hostname"], language: one["language"], image: recordAt(one, "thumbnail")["src"]
})

export const brave: SearchVendor = {
  most: 20,
  types: ["web", "news"],
  takes: new Set(["offset", "country", "language", "time_range", "filters.include_domains", "filters.exclude_domains", "filters.safe_search"]),
  paging: "pages",
  byQuery: true,
  path: (path, type) => type === "news" ? path.replace(/\/web\/search$/, "/news/search") : path,
  ask: (request, _variant, count) => ({
    q: withSites(request), count, offset: request.offset === 0 ? undefined : pageOf(request, count), country: request.country ?? undefined,
    search_lang: request.language ?? undefined, freshness: request.timeRange === null ? undefined : ranges[request.timeRange], safesearch: request.safeSearch ?? undefined
  }),
  answered: (answer, { type }) => {
    const list = type === "news" ? listAt(answer, "results") : listAt(recordAt(answer, "web"), "results")
    // A search without a match has no list of its kind.
    return results(list ?? (answer["type"] === type || answer["type"] === "search" ? [] : null), found)
  }
}
