/** Nimble. https://docs.nimbleway.com/nimble-sdk */
import { type FetchVendor, nothing } from "#src/wire/webFetch/FetchVendor.ts"
import { recordAt, textIn } from "#src/wire/search/SearchVendor.ts"

export const nimble: FetchVendor = {
  formats: new Set(["markdown", "html", "links"]),
  waits: false,
  spent: new Set(["payment", "forbidden"]),
  ask: ({ format, url }) => ({ url, formats: [format === "html" ? "html" : "markdown"] }),
  fetched: (answer, format) => {
    if (answer["data"] === undefined) return null
    const data = recordAt(answer, "data")
    return { ...nothing, content: textIn(data[format === "html" ? "html" : "markdown"]) }
  }
}
