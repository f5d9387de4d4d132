/** A request that is no conversation, in the terms that all formats share. */
import type { SimulatedAnswer, SimulatedCall, Reply } from "./Format.ts"

export const oneShotCall = (model: string, promptTokens: number, reply: (answer: SimulatedAnswer) => Reply): SimulatedCall => ({
  model, stream: false, n: 1, includeUsage: false, maxTokens: null, stop: [], lastUserText: "", toolResult: null, tools: [], toolChoice: "none", json: null,
  promptTokens, reply
})
