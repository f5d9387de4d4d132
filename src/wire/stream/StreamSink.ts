/**
 * The neutral event stream between a decoder (an upstream's format) and an encoder (a client's format): one method per event,
 * no object per event. Text travels as JSON literals: the characters between the quotes of a JSON string, escapes included, so
 * that a piece of text goes from one format's frame into the other's without being unescaped and escaped again.
 *
 * Order: `start` first; then per choice parts in the model's order, a part ending where another begins or at `partEnd`; `finish`
 * once per choice; `tokens` (usage so far, cumulative) any number of times, the last one counts; `done` at most once and last. After
 * `failed` nothing follows.
 */
import type { UpstreamErrorBody } from "#actors/request/ports/Face.ts"
import type { ClientError } from "#src/wire/errorObject.ts"
import type { LongStrings } from "#src/wire/json/LongStrings.ts"
import type { Annotation, FinishReason, MediaPart, Signature, TokenLogprob, TokenUsage } from "#schemas/wire/conversation.ts"

/** Characters of a JSON string without its quotes; always a whole string of the upstream, so never cut inside an escape. */
export type Literal = string

export interface StreamHead {
  readonly id: string | null
  readonly model: string | null
  /** Seconds since the epoch. */
  readonly createdAt: number | null
  readonly serviceTier: string | null
  readonly systemFingerprint: string | null
}

export interface StreamSink {
  /** Takes the long strings of long events, whose marks then stand in media; absent: nothing is set aside. */
  readonly long?: LongStrings | undefined
  start(head: StreamHead): void
  text(choice: number, literal: Literal): void
  refusal(choice: number, literal: Literal): void
  /** `summary`: a summary of the reasoning rather than the reasoning itself. */
  reasoning(choice: number, literal: Literal, summary: boolean): void
  /** Signs the newest part of the choice (reasoning or text). */
  signature(choice: number, signature: Signature): void
  /** A reasoning part without readable text. `id` is the responses item id, when there is one. */
  hiddenReasoning(choice: number, signature: Signature, id: string | null): void
  /** A tool call begins; `index` numbers the calls of the choice from 0. `custom`: its arguments are free text. */
  toolCall(choice: number, index: number, id: string, name: string, custom: boolean, signature: Signature | null): void
  /** The next piece of the JSON text of a call's arguments. */
  toolArguments(choice: number, index: number, literal: Literal): void
  /** The newest part of the choice is complete. */
  partEnd(choice: number): void
  annotation(choice: number, annotation: Annotation): void
  logprobs(choice: number, entries: ReadonlyArray<TokenLogprob>): void
  media(choice: number, part: MediaPart): void
  finish(choice: number, reason: FinishReason, stopSequence: string | null): void
  /** `partial`: what was known when the answer began; its output is still to be counted. */
  tokens(usage: TokenUsage, partial?: boolean): void
  failed(body: UpstreamErrorBody): void
  /** The upstream sent its final event. */
  done(): void
}

/** Reads an upstream's stream into a sink; total: what cannot be understood makes `push` answer false. */
export interface StreamDecoder {
  /** Feeds bytes; false when a frame is malformed or too large (the decoder must not be fed again). */
  push(chunk: Buffer): boolean
  /** The body ended: hands on what was held back. False as for `push`. */
  end(): boolean
  /** Nothing more will be fed: gives back the memory of an event whose end did not come. */
  close(): void
}

/** Writes a client's stream: takes events, gives text. */
export interface StreamEncoder extends StreamSink {
  /** What was written since the last call; "" for nothing. */
  take(): string
  /** Media are written again at the end. */
  readonly repeatsMedia?: boolean
  /** The frames that end a broken stream in this format, after everything written so far. */
  fail(error: ClientError): string
}

export interface EncoderOptions {
  /** The model to name when the upstream names none. */
  readonly model: string
  /** The client asked for usage in the stream; formats that always carry usage ignore it. */
  readonly includeUsage: boolean
  /** The client's parsed request: the responses format echoes parts of it. */
  readonly request: Readonly<Record<string, unknown>>
  /** Makes the unique part of ids, [A-Za-z0-9]{24}. */
  readonly makeId: () => string
  /** Seconds since the epoch. */
  readonly now: () => number
}
