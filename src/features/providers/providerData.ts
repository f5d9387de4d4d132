/** Which keys of providerSpecificData are read for a provider: the gateway's own, and those that the provider's row names. Pure. */
import * as Schema from "effect/Schema"
import { providerData } from "./acting.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import type { Provider } from "#schemas/Provider.ts"
import { ReasoningControl } from "#schemas/words/ModelFormats.ts"
import { isHeaderValue } from "./nodes/nodeRecord.ts"

type Data = Readonly<Record<string, Schema.Json>>

/** `{name}` in the URLs, paths and sign-in of a row. */
const namedIn = (row: Provider): ReadonlySet<string> =>
  new Set([...JSON.stringify({ ...row, models: [] }).matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string))

/** The refusal of keys that nothing reads; null removes a key, and what is stored may be sent back. `row`: null for a node. */
export const unread = (given: Data | undefined, row: Provider | null, stored: Data): Refusal.Refusal | null => {
  const keys = Object.keys(given ?? {}).filter((key) =>
    !Object.hasOwn(providerData, key) && given?.[key] !== null && JSON.stringify(given?.[key]) !== JSON.stringify(stored[key]))
  if (keys.length === 0) return null
  const named = row === null ? new Set<string>() : namedIn(row)
  const strange = keys.filter((key) => !named.has(key))
  return strange.length === 0
    ? null
    : Refusal.notSupportedYet(strange.map((key) => ({ field: `providerSpecificData.${key}`, message: "Nothing reads this key for this provider" })))
}

const isReasoningControl = Schema.is(Schema.NullOr(ReasoningControl))

/** Longest User-Agent that is sent, characters. */
const longestAgent = 500

/** The refusal of a value with which every call of the connection would fail or be another one; an address that is stored may be sent back. */
export const unsendable = (given: Data | undefined, stored: Data): Refusal.Refusal | null => {
  const { baseUrl = null, customUserAgent: agent = null, newApiAggregatorBalance: balance = null, reasoningControl: control } = given ?? {}
  if (control !== undefined && !isReasoningControl(control)) return Refusal.invalidField("providerSpecificData.reasoningControl", "Expected chat-template, openai or null")
  if (balance !== null && typeof balance !== "boolean") return Refusal.invalidField("providerSpecificData.newApiAggregatorBalance", "Expected true, false or null")
  // Paths are put behind it.
  if (baseUrl !== null && baseUrl !== stored["baseUrl"] && (typeof baseUrl !== "string" || /[\s?#]/.test(baseUrl))) {
    return Refusal.invalidField("providerSpecificData.baseUrl", "Expected an http(s) URL without query")
  }
  if (agent === null || (typeof agent === "string" && isHeaderValue(agent, longestAgent))) return null
  return Refusal.invalidField("providerSpecificData.customUserAgent", `Expected a text of at most ${longestAgent} printable characters`)
}
