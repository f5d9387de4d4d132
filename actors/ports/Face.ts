/**
 * A client's wire format as the request actor needs it: how to read what the upstream sends while it is being forwarded,
 * and how to say an error. Pure; `src/wire` has one per format.
 */
import type { PublicError } from "#schemas/errors.ts"

/** Token counts of one attempt in the ledger's terms: input includes cache reads and writes, output includes reasoning (supplement 11.7). */
export interface Usage {
  readonly input: number
  readonly output: number
  readonly cacheRead: number
  readonly cacheCreation: number
  readonly reasoning: number
}

/** An error object that an upstream sent, in a body or inside a 200 stream. */
export interface UpstreamErrorBody {
  readonly message: string
  readonly type: string | null
  readonly code: string | null
  /** Status the error object itself claims, when it has one. */
  readonly status: number | null
}

/** Reads a stream while it is forwarded. One per attempt; bytes in, bytes to forward out. */
export interface StreamTap {
  /** Feeds upstream bytes; answers what to forward now (often the same bytes), or null for nothing yet. */
  readonly push: (chunk: Uint8Array) => Uint8Array | null
  /** The upstream ended: answers what was held back. */
  readonly end: () => Uint8Array | null
  /** A frame with model content was seen: the first one is the commit point (supplement 10.4 "useful frame"). */
  readonly useful: boolean
  /** The format's own last frame was seen. */
  readonly terminal: boolean
  /** A finish reason was seen: the answer is whole even if the last frame is missing. */
  readonly finished: boolean
  /** The upstream's error object; neither its frame nor anything after it is forwarded. */
  readonly error: UpstreamErrorBody | null
  /** A frame could not be understood (not JSON, or over the size limit). */
  readonly malformed: boolean
  readonly usage: Usage | null
  /** Model text seen so far, for the tokenizer when the upstream gives no usage. */
  readonly outputText: () => string
}

/** What a whole (not streamed) answer says about itself; null when the bytes are no answer of this format. */
export interface AnswerFacts {
  readonly usage: Usage | null
  readonly error: UpstreamErrorBody | null
  readonly outputText: () => string
}

export interface Face {
  readonly name: "chat-completions"
  readonly makeTap: (options: { readonly forwardUsage: boolean }) => StreamTap
  readonly readAnswer: (body: Uint8Array) => AnswerFacts | null
  /** Error object of a non-2xx body; null when it is no JSON error of a known shape. */
  readonly readError: (body: Uint8Array) => UpstreamErrorBody | null
  readonly errorBody: (error: PublicError) => string
  /** The frames that end a broken stream: one error, then the format's terminator (decisions 9). */
  readonly errorFrames: (error: PublicError) => Uint8Array
}
