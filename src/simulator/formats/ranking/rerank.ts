/**
 * Formats that rank documents: `POST /v1/rerank` of node servers (both spellings, results), which one vendor has at `/v1/models/rerank`, `/v2/rerank` of one vendor (billed units),
 * the list under `data` of another, by what the request says, and `/rerank` (a bare list). A document's score is the share of the query's words that it holds.
 */
import * as Predicate from "effect/Predicate"
import { countTokens } from "#src/simulator/text.ts"
import { invalidType, missing, optionalBoolean, optionalNumber, requiredModel, strictly } from "#src/simulator/formats/chatRequest.ts"
import { chatStreamError, renderChatError } from "#src/simulator/formats/errors.ts"
import type { Body, SimulatedCall, Format } from "#src/simulator/formats/Format.ts"
import { oneShotCall } from "#src/simulator/formats/oneShotCall.ts"

const scoreOf = (query: string, document: string): number => {
  const words = query.toLowerCase().split(/\s+/)
  const held = words.filter((word) => document.toLowerCase().includes(word)).length
  return held / words.length
}

/** Without a version: a bare list, as one server of open models answers. It knows `texts` alone. */
const bare = (body: Body): SimulatedCall => {
  const { query, texts } = body
  if (!Predicate.isString(query)) throw missing("query")
  if (texts === undefined) throw missing("texts")
  if (!Array.isArray(texts) || texts.length === 0 || !texts.every(Predicate.isString)) throw invalidType("texts", "an array of strings", texts)
  const returns = optionalBoolean(body, "return_text")
  const found = texts.map((text: string, index) => ({ index, score: scoreOf(query, text), ...(returns ? { text } : {}) }))
  return oneShotCall(requiredModel(body), countTokens(query), () => ({ type: "application/json", pieces: [Buffer.from(JSON.stringify(found))] }))
}

const read = strictly((body, { path }): SimulatedCall => {
  if (path === "/rerank") return bare(body)
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

const paths: ReadonlySet<string> = new Set(["/v1/rerank", "/v1/models/rerank", "/v2/rerank", "/rerank"])

export const rerank: Format = {
  name: "rerank", matches: (path) => paths.has(path), read, events: () => [], body: () => "", renderError: renderChatError,
  streamError: chatStreamError
}
