/** Exa; the model is its type of search: auto, fast, deep, neural. https://docs.exa.ai/reference/search */
import { listAt, type Members, results, type SearchVendor, sinceOf, textIn } from "#src/wire/search/SearchVendor.ts"

/** Of a text that stands in for highlights. */
const snippetLength = 500

const snippetOf = ({ highlights, summary, text }: Members): unknown => {
  const lines = Array.isArray(highlights) ? highlights.filter((one): one is string => typeof one === "string") : []
  return lines.length > 0 ? lines.join(" ... ") : textIn(summary) ?? textIn(text)?.slice(0, snippetLength)
}

export const exa: SearchVendor = {
  most: 100,
  types: ["web", "news"],
  takes: new Set(["country", "time_range", "filters.include_domains", "filters.exclude_domains", "filters.safe_search", "content.full_page"]),
  paging: "none",
  ask: ({ country, excludeDomains, fullPage, includeDomains, maxCharacters, query, safeSearch, snippet, timeRange, type }, variant, count, now) => ({
    query, type: variant ?? "auto", numResults: count, category: type === "news" ? "news" : undefined, userLocation: country ?? undefined,
    includeDomains: includeDomains.length > 0 ? includeDomains : undefined, excludeDomains: excludeDomains.length > 0 ? excludeDomains : undefined,
    startPublishedDate: sinceOf(timeRange, now), moderation: safeSearch === null || safeSearch === "off" ? undefined : true,
    contents: {
      ...(snippet ? { highlights: true } : {}),
      ...(fullPage ? { text: maxCharacters === null ? true : { maxCharacters } } : {})
    }
  }),
  answered: (answer) => results(listAt(answer, "results"), (one) => ({
    title: one["title"], url: one["url"], snippet: snippetOf(one), score: one["score"], published: one["publishedDate"], favicon: one["favicon"],
    author: one["author"], image: one["image"], page: one["text"], pageFormat: "text"
  }))
}
