/** The catalogue of providers as the page reads it, and which vendor a key belongs to by its first characters. */
import { useRead } from "../../api/query.ts"

export interface Vendor {
  readonly id: string
  readonly name: string
  readonly takesKey: boolean
  readonly signsIn: boolean
}

const text = (value: unknown): string => typeof value === "string" ? value : ""

export const useVendors = (): ReadonlyArray<Vendor> => {
  const { data } = useRead("GET /api/providers/client")
  return (data?.providers ?? []).map(({ alias, authKinds, id, kind, name }) => ({
    id: kind === "node" ? text(alias) : text(id),
    name: text(name),
    takesKey: Array.isArray(authKinds) && (authKinds.includes("apikey") || authKinds.includes("none")),
    signsIn: Array.isArray(authKinds) && authKinds.includes("oauth")
  })).filter(({ id }) => id !== "").sort((a, b) => a.name.localeCompare(b.name))
}

/** Pictures of servers of one's own, by the provider's id. */
export const useIcons = (): ReadonlyMap<string, string | null> => new Map(useRead("GET /api/provider-nodes").data?.nodes.map(({ iconUrl, id }) => [id, iconUrl]))

/** A provider as clients call it: a server of one's own by its prefix. `everyMs`: where other operators' new servers are shown, too. */
export const useShownProvider = (everyMs: number | null = null): (provider: string) => string => {
  const { data } = useRead("GET /api/provider-nodes", {}, { everyMs })
  const prefixes = new Map((data?.nodes ?? []).map(({ id, prefix }) => [id, prefix]))
  return (provider) => prefixes.get(provider) ?? provider
}

/** Longer beginnings first. */
const beginnings: ReadonlyArray<readonly [start: string, vendor: string]> = [
  ["sk-ant-", "anthropic"], ["sk-or-", "openrouter"], ["sk-proj-", "openai"], ["gsk_", "groq"], ["AIza", "gemini"], ["xai-", "xai"], ["pplx-", "perplexity"],
  ["hf_", "huggingface"], ["nvapi-", "nvidia"], ["fw_", "fireworks"], ["r8_", "replicate"], ["csk-", "cerebras"], ["sk-", "openai"]
]

export const vendorOfKey = (key: string, vendors: ReadonlyArray<Vendor>): string | null => {
  const vendor = beginnings.find(([start]) => key.trim().startsWith(start))?.[1]
  return vendor !== undefined && vendors.some(({ id }) => id === vendor) ? vendor : null
}
