/** You.com: web pages and news in one answer. https://you.com/docs/guides/search */
import { listAt, type Members, pageOf, recordAt, results, type SearchVendor } from "#src/wire/search/SearchVendor.ts"

const snippetOf = ({ description, snippets }: Members): unknown => {
  const lines = Array.isArray(snippets) ? snippets.filter((one): one is string => typeof one === "string") : []
  return lines.length > 0 ? lines.join(" ... ") : description
}

export const youcom: SearchVendor = {
  most: 100,
  types: ["web", "news"],
  takes: new Set(["offset", "country", "language", "time_range", "filters.include_domains", "filters.exclude_domains", "filters.safe_search", "content.full_page"]),
  paging: "pages",
  ask: (request, _variant, count) => ({
    query: request.query, count, offset: request.offset === 0 ? undefined : pageOf(request, count), country: request.country ?? undefined,
    language: request.language?.toUpperCase(), freshness: request.timeRange ?? undefined, safesearch: request.safeSearch ?? undefined,
    include_domains: request.includeDomains.length > 0 ? request.includeDomains : undefined,
    exclude_domains: request.excludeDomains.length > 0 ? request.excludeDomains : undefined,
    livecrawl: request.fullPage ? request.type : undefined, livecrawl_formats: request.fullPage ? ["markdown"] : undefined
  }),
  answered: (answer, { type }) => {
    const found = answer["results"]
    return results(found === undefined ? null : listAt(recordAt(answer, "results"), type) ?? [], (one) => ({
      title: one["title"], url: one["url"], snippet: snippetOf(one), published: one["page_age"], favicon: one["favicon_url"], image: one["thumbnail_url"],
      author: Array.isArray(one["authors"]) ? one["authors"][0] : undefined, page: recordAt(one, "contents")["markdown"], pageFormat: "markdown"
    }))
  }
}
