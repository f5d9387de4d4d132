/** The catalogue price of a target for a request of a given size, and the strategy that sorts by it. */
import type { Target } from "#actors/request/ports/Target.ts"
import { sortedBy, type Strategic, strategy } from "#src/routing/strategies/ranking.ts"

/** USD per 1,000,000 tokens, by the tier that holds for so many input tokens; null when the price is unknown. */
const amounts = ({ price }: Target, promptTokens: number): { readonly input: number; readonly output: number } | null => {
  if (price === null || (price.input === undefined && price.output === undefined)) return null
  const tier = price.long !== undefined && promptTokens > price.long.above ? price.long : price
  return { input: tier.input ?? 0, output: tier.output ?? 0 }
}

/** 60 % input and 40 % output price, USD per 1,000,000 tokens; null when unknown. */
export const blendedPrice = (target: Target, promptTokens: number): number | null => {
  const price = amounts(target, promptTokens)
  return price === null ? null : 0.6 * price.input + 0.4 * price.output
}

/** Tokens an answer is expected to have, unless its client says how many it may have, or its model gives fewer. */
const expectedAnswerTokens = 1_000

/** USD that the request is expected to cost; an unpriced model costs nothing, as in the ledger. */
export const estimatedCost = (target: Target, promptTokens: number, answerTokens: number | null = null): number => {
  const price = amounts(target, promptTokens)
  if (price === null) return 0
  const answer = Math.min(answerTokens ?? expectedAnswerTokens, target.maxOutputTokens ?? Infinity)
  return (promptTokens * price.input + answer * price.output) / 1_000_000
}

/** Cheapest catalogue price first; unknown prices last. */
export const costOptimized: Strategic = strategy((available, _config, memory, moment) => ({
  order: sortedBy(available, ({ target }) => [blendedPrice(target, moment.promptTokens) ?? Infinity]),
  memory
}))
