/** Tavily's extraction. https://docs.tavily.com/documentation/api-reference/endpoint/extract */
import { type FetchVendor, nothing } from "#src/wire/webFetch/FetchVendor.ts"
import { listAt, textIn } from "#src/wire/search/SearchVendor.ts"

export const tavily: FetchVendor = {
  formats: new Set(["markdown", "links"]),
  waits: false,
  // Beside 402 and 403: 432, over its plan, and 433, over its limit of pay as you go.
  spent: new Set(["payment", "forbidden"]),
  ask: ({ url }) => ({ urls: [url], extract_depth: "basic", format: "markdown" }),
  fetched: (answer) => {
    const [page] = listAt(answer, "results") ?? []
    const [failed] = listAt(answer, "failed_results") ?? []
    return page === undefined ? textIn(failed?.["error"]) : { ...nothing, content: textIn(page["raw_content"]), title: textIn(page["title"]) }
  }
}
