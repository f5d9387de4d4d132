/** The list of a marketplace, as its server says it. Pure: what cannot be used of an entry is left out, and every text is bounded. */
import * as Schema from "effect/Schema"
import * as Json from "#src/wire/json/json.ts"

/** Entries that are read of one list. */
export const ENTRIES_MAX = 500
const TAGS_MAX = 20
const TEXT_MAX = 500

export const Entry = Schema.Struct({
  id: Schema.String, name: Schema.String, version: Schema.NullOr(Schema.String), description: Schema.String, author: Schema.NullOr(Schema.String),
  tags: Schema.Array(Schema.String), installs: Schema.Int,
  /** SHA-256 of the package, hexadecimal; null: it cannot be installed. */
  sha256: Schema.NullOr(Schema.String)
}).annotate({ identifier: "MarketEntry" })
export interface Entry extends Schema.Schema.Type<typeof Entry> {}

export interface Offered extends Entry {
  /** Of the package; null where the list names none on the market's own host. */
  readonly url: URL | null
}

const textIn = (record: Readonly<Record<string, unknown>>, name: string): string | null => {
  const value = record[name]
  return typeof value === "string" && value.trim() !== "" ? value.trim().slice(0, TEXT_MAX) : null
}

/** A market's list names nothing outside of its own host: the gateway fetches it. */
const packageIn = (record: Readonly<Record<string, unknown>>, market: URL): URL | null => {
  const address = record["url"]
  const url = typeof address === "string" ? URL.parse(address, market.href) : null
  return url !== null && url.origin === market.origin && url.username === "" && url.password === "" ? url : null
}

const offered = (record: unknown, market: URL): Offered | null => {
  if (!Json.isRecord(record)) return null
  const name = textIn(record, "name") ?? textIn(record, "id")
  if (name === null) return null
  const { installs, sha256, tags } = record
  return {
    id: textIn(record, "id") ?? name, name, version: textIn(record, "version"), description: textIn(record, "description") ?? "", author: textIn(record, "author"),
    tags: Array.isArray(tags) ? tags.filter((tag) => typeof tag === "string").slice(0, TAGS_MAX).map((tag) => tag.slice(0, TEXT_MAX)) : [],
    installs: typeof installs === "number" && Number.isSafeInteger(installs) && installs >= 0 ? installs : 0,
    sha256: typeof sha256 === "string" && /^[0-9a-fA-F]{64}$/.test(sha256) ? sha256.toLowerCase() : null,
    url: packageIn(record, market)
  }
}

/** `kind`: the member that holds the entries, beside `data`; or the text is a list itself. Null where there is no list. */
export const read = (text: string, kind: "skills" | "plugins", market: URL): ReadonlyArray<Offered> | null => {
  let said: unknown
  try {
    said = JSON.parse(text)
  } catch {
    return null
  }
  const list = Array.isArray(said) ? said : Json.isRecord(said) ? said[kind] ?? said["data"] : null
  return Array.isArray(list) ? list.slice(0, ENTRIES_MAX).map((one) => offered(one, market)).filter((one) => one !== null) : null
}

/** Those that hold the text in their name, description or a tag, in any case: a list that is a plain file answers all. */
export const matching = (entries: ReadonlyArray<Offered>, q: string): ReadonlyArray<Offered> => {
  const wanted = q.trim().toLowerCase()
  return entries.filter(({ description, id, name, tags }) => [id, name, description, ...tags].some((one) => one.toLowerCase().includes(wanted)))
}

export const viewOf = ({ url: _url, ...entry }: Offered): Entry => entry
