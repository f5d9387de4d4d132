/** SearXNG, on a server of one's own with its JSON format allowed. https://docs.searxng.org/dev/search_api.html */
import { countIn, listAt, results, type SearchVendor } from "#src/wire/search/SearchVendor.ts"

const safety = { off: 0, moderate: 1, strict: 2 } as const

export const searxng: SearchVendor = {
  most: 20,
  types: ["web", "news"],
  takes: new Set(["language", "time_range", "filters.safe_search"]),
  paging: "none",
  byQuery: true,
  ask: ({ language, query, safeSearch, timeRange, type }) => ({
    q: query, format: "json", categories: type === "news" ? "news" : "general", language: language ?? undefined, time_range: timeRange ?? undefined,
    safesearch: safeSearch === null ? undefined : safety[safeSearch]
  }),
  answered: (answer) => results(listAt(answer, "results"), (one) => ({
    title: one["title"], url: one["url"], snippet: one["content"], published: one["publishedDate"], image: one["thumbnail"] ?? one["img_src"], author: one["author"]
  }), { total: countIn(answer["number_of_results"]) || null })
}
