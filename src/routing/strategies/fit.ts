/** Strategies by the request itself: context-optimized (its size) and cache-optimized (its beginning). */
import type { Candidate } from "#src/routing/models/candidate.ts"
import { avalanche, hashOf, placeOf, sortedBy, type Strategic, strategy } from "#src/routing/strategies/ranking.ts"

/** Room left for the answer, as a share of the prompt. */
const answerRoom = 0.25

/** Tokens a window should have for a prompt. */
export const neededWindow = (promptTokens: number): number => Math.ceil(promptTokens * (1 + answerRoom))

/** The smallest window that holds the request first; then unknown ones; then those too small, the largest first. */
export const contextOptimized: Strategic = strategy((available, _config, memory, moment) => {
  const needed = neededWindow(moment.promptTokens)
  return {
    order: sortedBy(available, ({ contextWindow }) =>
      contextWindow === null ? [1, 0] : contextWindow >= needed ? [0, contextWindow] : [2, -contextWindow]),
    memory
  }
})

/** Characters of the prompt's beginning that are hashed. */
const hashedPrefix = 4_096

/** Rendezvous weight of a place for a prompt's beginning: the highest one holds its cache on every node, without any memory. */
export const cacheWeight = (prefixHash: number, { target }: Candidate): number => avalanche(prefixHash ^ hashOf(placeOf(target)))

export const prefixHashOf = (promptPrefix: string): number =>
  hashOf(promptPrefix.length > hashedPrefix ? promptPrefix.slice(0, hashedPrefix) : promptPrefix)

/** The connection most likely to hold the prompt's cache first; as listed when the beginning is unknown. */
export const cacheOptimized: Strategic = strategy((available, _config, memory, moment) => {
  if (moment.promptPrefix === "") return { order: available, memory }
  const prefix = prefixHashOf(moment.promptPrefix)
  return { order: sortedBy(available, (candidate) => [-cacheWeight(prefix, candidate)]), memory }
})
