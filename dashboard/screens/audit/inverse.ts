/** What takes a change back, where the audit knows what was before. Pure but for the call that it answers. */
import { call } from "../../api/call.ts"
import type { Answer, Body } from "../../api/contract.ts"

export type Entry = Answer<"GET /api/compliance/audit-log">[number]

export interface Inverse {
  /** `REQUIRE_API_KEY back to false`. */
  readonly word: string
  readonly run: () => Promise<unknown>
}

const REDACTED = "[redacted]"
/** Settings that have an endpoint of their own. */
const ofCache: ReadonlySet<string> = new Set(["semanticCacheEnabled", "semanticCacheMaxSize", "semanticCacheTTL", "promptCacheEnabled", "promptCacheStrategy"])

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === "object" && value !== null && !Array.isArray(value)

const shown = (value: unknown): string => value === null ? "nothing" : String(value)

/** Null: the entry is no change, it failed, or nobody knows what was before. */
export const inverseOf = ({ action, details, status, target }: Entry): Inverse | null => {
  if (status !== "success") return null
  if ((action === "flag.set" || action === "flag.cleared") && target !== null && typeof details["previousValue"] === "string") {
    const value = details["previousValue"]
    return { word: `${target} back to ${value}`, run: () => call("PUT /api/settings/feature-flags", { body: { key: target, value } }) }
  }
  const before = details["before"]
  const changed = details["changed"]
  if (action !== "settings.updated" || !isRecord(before) || !Array.isArray(changed)) return null
  const names = Object.keys(before)
  // All of it, or none: half a change taken back is a third state.
  if (names.length === 0 || names.length !== changed.length || Object.values(before).includes(REDACTED)) return null
  const word = names.map((name) => `${name} back to ${shown(before[name])}`).join(", ")
  return {
    word,
    run: () => names.some((name) => ofCache.has(name))
      ? call("PUT /api/settings/cache-config", { body: before as Body<"PUT /api/settings/cache-config"> })
      : call("PATCH /api/settings", { body: before as Body<"PATCH /api/settings"> })
  }
}
