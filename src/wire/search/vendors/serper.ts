/** Serper: Google's results as JSON. https://serper.dev */
import { listAt, pageOf, results, type SearchVendor, withSites } from "#src/wire/search/SearchVendor.ts"

const ranges = { day: "qdr:d", week: "qdr:w", month: "qdr:m", year: "qdr:y" } as const

export const serper: SearchVendor = {
  most: 100,
  types: ["web", "news"],
  takes: new Set(["offset", "country", "language", "time_range", "filters.include_domains", "filters.exclude_domains"]),
  paging: "pages",
  path: (path, type) => type === "news" ? path.replace(/\/search$/, "/news") : path,
  ask: (request, _variant, count) => ({
    q: withSites(request), num: count, gl: request.country?.toLowerCase(), hl: request.language ?? undefined,
    tbs: request.timeRange === null ? undefined : ranges[request.timeRange], page: request.offset === 0 ? undefined : pageOf(request, count) + 1
  }),
  answered: (answer, { type }) => results(listAt(answer, type === "news" ? "news" : "organic"), (one) => ({
    title: one["title"], url: one["link"], snippet: one["snippet"], published: one["date"], image: one["imageUrl"], author: one["source"]
  }))
}
