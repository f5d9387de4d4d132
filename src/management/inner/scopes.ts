/** Scopes of the tools: what a caller was given, and whether that covers what a tool needs. Pure. */
import type { ApiKey } from "#schemas/records/ApiKey.ts"

export const toolScopes = [
  "read:health", "read:combos", "write:combos", "read:quota", "read:usage", "read:models", "execute:completions", "execute:search", "write:budget",
  "write:resilience", "pricing:write", "read:cache", "write:cache", "read:compression", "write:compression", "read:proxies", "read:memory",
  "write:memory", "read:skills", "write:skills", "execute:skills", "read:catalog"
] as const
export type ToolScope = typeof toolScopes[number]

/** Scopes of API keys that are for no tool, beside those of `connectScopes`. */
const ownScopes = ["manage", "admin", "self:usage", "self:account-quota", "cache:isolated", "lease:exclusive", "policy:bypass-provider-quota"] as const

/** Either of them lets an API key use the transports. */
export const connectScopes: ReadonlyArray<string> = ["mcp", "mcp:connect"]

/** What a key may be given, beside patterns of tools' scopes such as `read:*`, and `*`. */
export const keyScopes: ReadonlyArray<string> = [...ownScopes, ...connectScopes, ...toolScopes]

export const isKeyScope = (scope: string): boolean => keyScopes.includes(scope) || toolScopes.some((known) => covers(scope, known))

/** Names that GATEWAY_MCP_SCOPES accepts for several scopes. */
export const presets: Readonly<Record<string, ReadonlyArray<string>>> = {
  readonly: ["read:*"],
  full: ["*"],
  monitor: ["read:health", "read:quota", "read:usage", "read:cache"],
  agent: ["read:health", "read:combos", "read:models", "read:quota", "execute:completions", "execute:search"]
}

/** Words between commas or white space. */
export const words = (text: string): ReadonlyArray<string> => text.split(/[\s,]+/).filter((word) => word !== "")

/** Presets as the scopes that they stand for; a word without a meaning gives nothing. */
export const granted = (given: ReadonlyArray<string>): ReadonlyArray<string> => given.flatMap((word) => Object.hasOwn(presets, word) ? presets[word] ?? [] : [word])

const covers = (given: string, needed: string): boolean =>
  given === "*" || given === needed || (given.endsWith(":*") && needed.startsWith(given.slice(0, -1)))

const every: ReadonlyArray<string> = ["*"]

/** A key with management rights may use every tool; another one those that its scopes name, or else `fallback`. */
export const ofKey = ({ policy: { scopes } }: ApiKey, fallback: ReadonlyArray<string>): ReadonlyArray<string> => {
  if (scopes.includes("admin") || scopes.includes("manage")) return every
  const named = scopes.filter((scope) => scope === "*" || scope.endsWith(":*") || toolScopes.some((known) => known === scope))
  return named.length > 0 ? named : fallback
}

/** The first needed scope that is not covered, or null. */
export const missing = (given: ReadonlyArray<string>, needed: ReadonlyArray<string>): string | null =>
  needed.find((scope) => !given.some((one) => covers(one, scope))) ?? null
