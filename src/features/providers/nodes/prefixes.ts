/** Prefixes that a provider node cannot have. Pure. */
import { builtin } from "#src/providers/Registry.ts"

/** They already mean something else in a model id. */
const reserved = new Set(["combo", "auto", "no-think", "claude-3-gateway-no-thinking", "sim", "qtsd"])

export const prefixIssue = (prefix: string): string | null => {
  const small = prefix.toLowerCase()
  return builtin.byPrefix.has(small) || builtin.byPrefix.has(prefix) || reserved.has(small) ? "A built-in provider or routing name has this prefix" : null
}
