/** What calls about marketplaces say. */
import * as Schema from "effect/Schema"
import { queryInteger, text } from "#schemas/api/fields.ts"

const opt = Schema.optionalKey

export const MarketQuery = { q: opt(text(0, 200)), limit: opt(queryInteger(1, 200)) }

export const MarketInstall = {
  /** Of an entry of the list. */
  id: text(1, 500),
  /** The hash of the package, hexadecimal; the list must say the same. */
  sha256: opt(Schema.String.check(Schema.isPattern(/^[0-9a-fA-F]{64}$/, { message: "Expected 64 hex digits" })))
}
