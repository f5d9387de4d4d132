/** Flags that decide what callers may do, or where calls may go: no document sets or changes them. */
import * as FlagCatalogue from "#schemas/flagCatalogue.ts"

const more: ReadonlySet<string> = new Set([
  "AUDIO_REMOTE_PROVIDER_NODES", "RERANK_REMOTE_PROVIDER_NODES", "GATEWAY_ALLOW_LOCAL_PROVIDER_URLS", "GATEWAY_ALLOW_PRIVATE_PROVIDER_URLS",
  "GATEWAY_CONTROL_PLANE_PROXY_DIRECT_FALLBACK", "GATEWAY_MCP_ENFORCE_SCOPES"
])

export const isGuarded = (key: string): boolean => FlagCatalogue.byKey.get(key as FlagCatalogue.FlagKey)?.category === "security" || more.has(key)
