/** Which tools are denied (setting `deniedTools`, flag TOOL_POLICY_MODE), and which of them a body offers. Pure. */
import type { FormatName } from "#schemas/wire/conversation.ts"
import * as ToolFilter from "#src/routing/combos/toolFilter.ts"
import { compileGlob } from "#src/routing/models/glob.ts"

type Body = Record<string, unknown>

export interface Policy {
  readonly mode: "warn" | "block"
  /** Patterns of names: `*` any characters, `?` one; letter case is ignored. */
  readonly denied: ReadonlyArray<string>
}

/** Null when nothing is asked of requests. */
export const of = (settings: ReadonlyMap<string, unknown>, mode: string): Policy | null => {
  const stored = settings.get("deniedTools")
  const denied = Array.isArray(stored) ? stored.filter((pattern) => typeof pattern === "string") : []
  return denied.length === 0 || (mode !== "warn" && mode !== "block") ? null : { mode, denied }
}

/** Characters of a name that is compared. No vendor takes a longer one, and it is denied: it could hide any other. */
const NAME_MAX = 256
/** Names that are told. */
const TOLD_MAX = 10

/** Denied names among a body's tools, shortened and a few at most; a tool without a name goes by its type. */
export const deniedIn = ({ denied }: Policy, format: FormatName, body: Body): ReadonlyArray<string> => {
  const patterns = denied.map(compileGlob)
  const seen = new Set<string>()
  const found = new Set<string>()
  ToolFilter.ofBody(format, body, (name) => {
    if (!seen.has(name)) {
      seen.add(name)
      if (found.size < TOLD_MAX && (name.length > NAME_MAX || patterns.some((matches) => matches(name)))) found.add(name.slice(0, NAME_MAX))
    }
    return true
  })
  return [...found]
}
