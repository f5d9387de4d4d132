/**
 * Formats that rank documents: `POST /v1/rerank` of node servers (both spellings, results), `/v2/rerank` of one vendor (billed units) and
 * the list under `data` of another, by what the request says. A document's score is the share of the query's words that it holds.
 */
import * as Predicate from "effect/Predicate"
import { countTokens } from "#src/simulator/text.ts"
import { invalidType, missing, optionalNumber, requiredModel, strictly } from "#src/simulator/formats/chatRequest.ts"
import { chatStreamError, renderChatError } from "#src/simulator/formats/errors.ts"
import type { SimulatedCall, Format } from "#src/simulator/formats/Format.ts"
import { oneShotCall } from "#src/simulator/formats/oneShotCall.ts"

const scoreOf = (query: string, document: string): number => {
  const words = query.toLowerCase().split(/\s+/)
  const held = words.filter((word) => document.toLowerCase().includes(word)).length
  return held / words.length
}

const read = strictly((body, { path }): SimulatedCall => {
  const model = requiredModel(body)
  const { documents, query } = body
  if (query === undefined) throw missing("query")
  if (!Predicate.isString(query)) throw invalidType("query", "a string", query)
  if (documents === undefined) throw missing("documents")
  if (!Array.isArray(documents) || documents.length === 0 || !documents.every(Predicate.isString)) throw invalidType("documents", "an array of strings", documents)
  const most = optionalNumber(body, "top_n", 1, documents.length, true) ?? optionalNumber(body, "top_k", 1, documents.length, true) ?? documents.length
  const tokens = countTokens(query) + documents.reduce((sum: number, text: string) => sum + countTokens(text), 0)
  // As they came, not by score: the gateway has to sort them.
  const found = documents.map((text: string, index) => ({ index, relevance_score: scoreOf(query, text), ...(body["return_documents"] === true ? { document: { text } } : {}) }))
    .sort((a, b) => b.relevance_score - a.relevance_score).slice(0, most).sort((a, b) => a.index - b.index)
  return oneShotCall(model, tokens, ({ id, usage }) => {
    const used = usage === null ? {} : { usage: { total_tokens: usage.promptTokens } }
    const answer = path.startsWith("/v2/")
      ? { id, results: found, meta: { api_version: { version: "2" }, billed_units: { search_units: 1 } } }
      : body["top_k"] === undefined ? { model, results: found, ...used } : { object: "list", data: found, model, ...used }
    return { type: "application/json", pieces: [Buffer.from(JSON.stringify(answer))] }
  })
})

export const rerank: Format = {
  name: "rerank", matches: (path) => path === "/v1/rerank" || path === "/v2/rerank", read, events: () => [], body: () => "", renderError: renderChatError,
  streamError: chatStreamError
}
