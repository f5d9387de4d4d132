/** Firecrawl. https://docs.firecrawl.dev/api-reference/endpoint/scrape */
import { type FetchVendor, nothing, texts } from "#src/wire/webFetch/FetchVendor.ts"
import { recordAt, textIn } from "#src/wire/search/SearchVendor.ts"

export const firecrawl: FetchVendor = {
  formats: new Set(["markdown", "html", "links", "screenshot"]),
  waits: true,
  spent: new Set(["payment", "forbidden"]),
  ask: ({ format, selector, url }) => ({ url, formats: [format], onlyMainContent: true, ...(selector === null ? {} : { actions: [{ type: "wait", selector }] }) }),
  fetched: (answer, format) => {
    if (answer["success"] !== true) return textIn(answer["error"])
    const data = recordAt(answer, "data")
    const metadata = recordAt(data, "metadata")
    return {
      ...nothing, content: textIn(data[format]), links: texts(data["links"]), title: textIn(metadata["title"]), description: textIn(metadata["description"]), screenshot: textIn(data["screenshot"])
    }
  }
}
