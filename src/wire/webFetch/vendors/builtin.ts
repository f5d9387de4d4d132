/** The gateway's own reader, asked as if it were a server. */
import { type FetchVendor, texts } from "#src/wire/webFetch/FetchVendor.ts"
import { textIn } from "#src/wire/search/SearchVendor.ts"

/** Its address: a name that no resolver knows, so that no call ever leaves for it. */
export const ORIGIN = "https://reader.invalid"

export const builtin: FetchVendor = {
  formats: new Set(["markdown", "html", "links"]),
  waits: false,
  spent: new Set(),
  ask: ({ format, url }) => ({ url, format }),
  fetched: (answer) => typeof answer["content"] !== "string" ? null : {
    content: answer["content"], links: texts(answer["links"]), title: textIn(answer["title"]), description: textIn(answer["description"]), screenshot: null
  }
}
