/** The service tier of an answer, where it has a price of its own. */
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
