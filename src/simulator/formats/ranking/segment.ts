/** Cutting of texts: `POST /v1/segment`. A chunk ends behind a paragraph, or at its largest length; the tokenizer stands for the model. */
import * as Predicate from "effect/Predicate"
import { countTokens } from "#src/simulator/text.ts"
import { invalidType, missing, optionalBoolean, optionalNumber, optionalString, refuseUnknown, strictly } from "#src/simulator/formats/chatRequest.ts"
import { chatStreamError, renderChatError } from "#src/simulator/formats/errors.ts"
import type { Body, Format, SimulatedCall } from "#src/simulator/formats/Format.ts"
import { oneShotCall } from "#src/simulator/formats/oneShotCall.ts"

const known: ReadonlySet<string> = new Set(["content", "tokenizer", "return_tokens", "return_chunks", "max_chunk_length", "head", "tail"])

/** Characters of a chunk unless the request says otherwise, and the most that it may say. */
const USUAL_LENGTH = 1_000
const MAX_LENGTH = 1_000_000

const USUAL_TOKENIZER = "cl100k_base"

const cut = (content: string, most: number): ReadonlyArray<readonly [number, number]> => {
  const positions: Array<readonly [number, number]> = []
  for (let start = 0; start < content.length;) {
    const paragraph = content.indexOf("\n\n", start)
    const end = Math.min(start + most, paragraph < 0 ? content.length : paragraph + 2)
    positions.push([start, end])
    start = end
  }
  return positions
}

const tokenizerIn = (body: Body): string => optionalString(body, "tokenizer") ?? USUAL_TOKENIZER

const read = strictly((body): SimulatedCall => {
  refuseUnknown(body, known, "")
  const { content } = body
  if (content === undefined) throw missing("content")
  if (!Predicate.isString(content)) throw invalidType("content", "a string", content)
  const tokenizer = tokenizerIn(body)
  const positions = cut(content, optionalNumber(body, "max_chunk_length", 1, MAX_LENGTH, true) ?? USUAL_LENGTH)
  const returns = optionalBoolean(body, "return_chunks")
  const tokens = countTokens(content)
  const answer = {
    num_tokens: tokens, tokenizer, usage: { tokens: 0 }, num_chunks: positions.length, chunk_positions: positions,
    ...(returns ? { chunks: positions.map(([start, end]) => content.slice(start, end)) } : {})
  }
  return oneShotCall(tokenizer, tokens, () => ({ type: "application/json", pieces: [Buffer.from(JSON.stringify(answer))] }))
})

export const segment: Format = {
  name: "segment", matches: (path) => path === "/v1/segment", read, events: () => [], body: () => "", renderError: renderChatError, streamError: chatStreamError,
  identify: (_path, body) => ({ model: Predicate.isString(body["tokenizer"]) ? body["tokenizer"] : USUAL_TOKENIZER, stream: false })
}
