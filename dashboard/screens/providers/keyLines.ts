/** Keys that are pasted as lines: `provider, name, key`, `provider, key`, `name, key`, or a key alone. Pure. */
import { linesOf } from "../../format/lines.ts"
import { type Vendor, vendorOfKey } from "./vendors.ts"

export interface KeyLine {
  /** As it was pasted; a line that fails stays in the form. */
  readonly line: string
  /** Null: neither named nor known by the first characters of the key. */
  readonly provider: string | null
  readonly name: string
  readonly apiKey: string
}

export const keyLines = (text: string, vendors: ReadonlyArray<Vendor>, otherwise: string): ReadonlyArray<KeyLine> =>
  linesOf(text).map((line, index) => {
    const parts = line.split(/[,;\t]|\s{2,}|\s(?=\S+$)/).map((part) => part.trim()).filter((part) => part !== "")
    const apiKey = parts.at(-1) ?? ""
    const isVendor = vendors.some(({ id }) => id === parts[0])
    const named = parts.length > 1 && isVendor ? parts[0] ?? null : null
    const name = parts.slice(named === null ? 0 : 1, -1).join(" ")
    return { line, apiKey, provider: named ?? vendorOfKey(apiKey, vendors) ?? (otherwise === "" ? null : otherwise), name: name === "" ? `imported ${index + 1}` : name }
  })
