/** Whether the vendors' prompt caches help, in one word and why. Pure. */
import type { Answer } from "../../api/contract.ts"
import { count, percent } from "../../format/numbers.ts"
import type { Tone } from "../../parts/Status.tsx"

type PromptCache = Answer<"GET /api/cache">["promptCache"]

/** Below this share of tokens that are read, writing to a cache costs about what it saves. */
const POOR = 0.2

export const verdictOf = (figures: PromptCache): { readonly tone: Tone; readonly word: string; readonly why: string } => {
  if (figures === null) return { tone: "off", word: "Not known", why: "The ledger cannot be read at the moment." }
  if (figures.totalRequests === 0) return { tone: "off", word: "No request yet", why: "There is nothing to judge." }
  if (figures.requestsWithCacheControl === 0) return { tone: "off", word: "Not used", why: `None of ${count(figures.totalRequests)} requests read from or wrote to a vendor's cache.` }
  const read = figures.totalInputTokens === 0 ? 0 : figures.totalCachedTokens / figures.totalInputTokens
  if (figures.totalCacheCreationTokens > figures.totalCachedTokens) return { tone: "warn", word: "Writes more than it reads", why: "Prompts change before they are asked again: put what stays the same first." }
  if (read < POOR) return { tone: "warn", word: "Helps a little", why: `${percent(read)} of the tokens were read from a cache.` }
  return { tone: "ok", word: "Helps", why: `${percent(read)} of the tokens were read from a cache.` }
}
