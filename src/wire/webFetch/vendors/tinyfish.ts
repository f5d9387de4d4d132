/** TinyFish. https://docs.tinyfish.ai */
import { type FetchVendor, nothing, texts } from "#src/wire/webFetch/FetchVendor.ts"
import { listAt, textIn } from "#src/wire/search/SearchVendor.ts"

export const tinyfish: FetchVendor = {
  formats: new Set(["markdown", "html", "links"]),
  waits: false,
  spent: new Set(["payment", "forbidden"]),
  ask: ({ format, url }) => ({ urls: [url], format: format === "html" ? "html" : "markdown", ...(format === "links" ? { links: true } : {}) }),
  fetched: (answer) => {
    const [page] = listAt(answer, "results") ?? []
    const [failed] = listAt(answer, "errors") ?? []
    return page === undefined
      ? textIn(failed?.["error"])
      : { ...nothing, content: textIn(page["text"]), links: texts(page["links"]), title: textIn(page["title"]), description: textIn(page["description"]) }
  }
}
