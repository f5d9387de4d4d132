/** Ollama's web search. https://docs.ollama.com/capabilities/web-search */
import { listAt, results, type SearchVendor } from "#src/wire/search/SearchVendor.ts"

/** Of the text that stands in for a snippet. */
const snippetLength = 1_000

export const ollama: SearchVendor = {
  most: 10,
  types: ["web"],
  takes: new Set(["content.full_page"]),
  paging: "none",
  ask: ({ query }, _variant, count) => ({ query, max_results: count }),
  answered: (answer) => results(listAt(answer, "results"), ({ content, title, url }) => ({
    title, url, snippet: typeof content === "string" ? content.slice(0, snippetLength) : content, page: content, pageFormat: "text"
  }))
}
