/** The service tier of an answer: where it has a price of its own, and what each vendor calls it. */
import type { ServiceTier } from "#schemas/Provider.ts"
import type { TokenUsage } from "#schemas/wire/conversation.ts"

/** OpenAI's guides to flex and fast mode (named priority before), Google's to flex and priority inference. */
const tiers: ReadonlyMap<string, ServiceTier> = new Map([["flex", "flex"], ["priority", "priority"], ["fast", "priority"]])

const tierOf = (word: unknown): ServiceTier | undefined => typeof word === "string" ? tiers.get(word) ?? tiers.get(word.toLowerCase()) : undefined

/** The usage, with the tier that the vendor's word names. */
export const served = (usage: TokenUsage | null, word: unknown): TokenUsage | null => {
  const tier = tierOf(word)
  return usage === null || tier === undefined ? usage : { ...usage, tier }
}

const commonWords: ReadonlySet<string> = new Set(["auto", "default", "flex", "scale", "priority", "fast"])

/** In OpenAI's words; null for a tier that has none there. */
export const commonWord = (tier: string | null): string | null => tier === null ? null : commonWords.has(tier) ? tier : tier === "standard" ? "default" : null

/** In Anthropic's words, by its own and by OpenAI's. */
const messagesWords: ReadonlyMap<string, string> = new Map([
  ["standard", "standard"], ["priority", "priority"], ["batch", "batch"], ["default", "standard"], ["fast", "priority"]
])

/** In the words of the messages format; null for a tier that has none there. */
export const messagesWord = (tier: string | null): string | null => tier === null ? null : messagesWords.get(tier) ?? null
