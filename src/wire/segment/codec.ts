/** A text that is counted in tokens and cut into chunks: the format of clients and of the vendor that does it. Pure. */
import type { AnswerFacts, Usage } from "#actors/request/ports/Face.ts"
import type { PublicError } from "#schemas/errors.ts"
import * as Json from "#src/wire/json/json.ts"
import { invalid } from "#src/wire/neutral/settings.ts"
import * as OneShotJson from "#src/wire/oneShot/oneShotJson.ts"
import type { OneShotCodec, Wanted } from "#src/wire/oneShot/OneShotCodec.ts"
import type { RequestHead } from "#src/wire/WireFormat.ts"

type Body = Readonly<Record<string, unknown>>

/** What cuts when the client names no model. The vendor has no models there: the name behind the provider is its tokenizer. */
const usualModel = "jina/cl100k_base"

export interface Note {
  /** Characters of the text: a position beyond them is none of ours. */
  readonly length: number
  /** The client wants the chunks back. */
  readonly returns: boolean
}

const tokenizerRefusal = (tokenizer: unknown): PublicError | null =>
  tokenizer === undefined || tokenizer === null || (typeof tokenizer === "string" && tokenizer !== "")
    ? null
    : invalid("tokenizer", "Field 'tokenizer' must be a non-empty string.")

const head = (body: Body): RequestHead | PublicError =>
  OneShotJson.modelRefusal(body["model"] ?? usualModel, usualModel) ?? OneShotJson.textRefusal(body, "content") ?? OneShotJson.flagRefusal(body, "return_chunks") ??
  OneShotJson.countRefusal(body, "max_chunk_length") ?? tokenizerRefusal(body["tokenizer"]) ??
  { model: (body["model"] ?? usualModel) as string, stream: false, wantsUsage: false }

const isPosition = (length: number) => (value: unknown): value is readonly [number, number] => {
  if (!Array.isArray(value) || value.length !== 2) return false
  const [start, end] = value as ReadonlyArray<unknown>
  return Number.isSafeInteger(start) && Number.isSafeInteger(end) && (start as number) >= 0 && (start as number) <= (end as number) && (end as number) <= length
}

/** The vendor charges nothing, whatever it counts. */
const free: Usage = { input: 0, output: 0, cacheRead: 0, cacheCreation: 0, reasoning: 0 }

const isTexts = (value: unknown, count: number): value is ReadonlyArray<string> =>
  Array.isArray(value) && value.length === count && value.every((one) => typeof one === "string")

const read = (bytes: Uint8Array, { note: { length, returns } }: Wanted<RequestHead, Note>): AnswerFacts | null => {
  const answer = OneShotJson.recordOf(bytes)
  if (answer === null) return null
  const { chunk_positions: positions, chunks, num_tokens: tokens, tokenizer, usage } = answer
  if (typeof tokens !== "number" || !Array.isArray(positions) || !positions.every(isPosition(length)) || (returns && !isTexts(chunks, positions.length))) {
    return OneShotJson.errorOr(bytes, answer)
  }
  const body = {
    num_tokens: tokens, ...(typeof tokenizer === "string" ? { tokenizer } : {}), num_chunks: positions.length, chunk_positions: positions,
    ...(returns ? { chunks } : {}), ...(Array.isArray(answer["tokens"]) ? { tokens: answer["tokens"] } : {}), ...(Json.isRecord(usage) ? { usage } : {})
  }
  return OneShotJson.answered(Buffer.from(JSON.stringify(body)), { usage: free, units: null })
}

export const codec: OneShotCodec<RequestHead, Note> = {
  head,
  encode: (_family, { model, parsed }) => {
    const { content, model: _model, tokenizer, ...others } = parsed
    return {
      body: Buffer.from(JSON.stringify({ ...others, content, tokenizer: tokenizer ?? model })), omitted: OneShotJson.nothing,
      note: { length: typeof content === "string" ? content.length : 0, returns: parsed["return_chunks"] === true }
    }
  },
  read: (_family, bytes, wanted) => read(bytes, wanted),
  readError: (_family, body) => OneShotJson.readError(body)
}
