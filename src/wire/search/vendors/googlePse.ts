/** Google Programmable Search; the engine's id stands in the path. https://developers.google.com/custom-search/v1/reference/rest/v1/cse/list */
import { countIn, listAt, type Members, recordAt, results, type SearchVendor, withSites } from "#src/wire/search/SearchVendor.ts"

const ranges = { day: "d1", week: "w1", month: "m1", year: "y1" } as const

const imageOf = (item: Members): unknown => {
  const [image] = listAt(recordAt(item, "pagemap"), "cse_image") ?? []
  return image?.["src"]
}

export const googlePse: SearchVendor = {
  most: 10,
  types: ["web", "news"],
  takes: new Set(["offset", "country", "language", "time_range", "filters.include_domains", "filters.exclude_domains", "filters.safe_search"]),
  paging: "results",
  byQuery: true,
  ask: (request, _variant, count) => ({
    q: withSites(request), num: count, start: request.offset === 0 ? undefined : request.offset + 1, gl: request.country?.toLowerCase(),
    lr: request.language === null ? undefined : `lang_${request.language}`, dateRestrict: request.timeRange === null ? undefined : ranges[request.timeRange],
    safe: request.safeSearch === null ? undefined : request.safeSearch === "off" ? "off" : "active",
    // It has no news of its own: the newest pages come first.
    sort: request.type === "news" ? "date" : undefined
  }),
  answered: (answer) => results(
    // Without a match there is no list, and what was searched for is repeated.
    listAt(answer, "items") ?? (answer["searchInformation"] === undefined ? null : []),
    (one) => ({ title: one["title"], url: one["link"], snippet: one["snippet"], displayUrl: one["displayLink"], image: imageOf(one) }),
    { total: countIn(recordAt(answer, "searchInformation")["totalResults"]) }
  )
}
