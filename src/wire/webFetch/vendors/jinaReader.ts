/** Jina's reader, whose options are headers. https://jina.ai/reader */
import * as Json from "#src/wire/json/json.ts"
import { type FetchVendor, nothing, texts } from "#src/wire/webFetch/FetchVendor.ts"
import { recordAt, textIn } from "#src/wire/search/SearchVendor.ts"

export const jinaReader: FetchVendor = {
  formats: new Set(["markdown", "html", "links", "screenshot"]),
  waits: true,
  spent: new Set(),
  ask: ({ url }) => ({ url }),
  headers: ({ format, selector }) => [
    "accept", "application/json",
    ...(format === "links" ? ["x-with-links-summary", "true"] : ["x-return-format", format]),
    ...(selector === null ? [] : ["x-wait-for-selector", selector])
  ],
  fetched: (answer, format) => {
    const { data } = answer
    if (!Json.isRecord(data)) return null
    const { links } = data
    return {
      ...nothing, content: textIn(format === "html" ? data["html"] : data["content"]), links: Json.isRecord(links) ? texts(Object.values(links)) : texts(links),
      title: textIn(data["title"]), description: textIn(data["description"]), screenshot: textIn(data["screenshotUrl"]) ?? textIn(recordAt(data, "screenshot")["url"])
    }
  }
}
