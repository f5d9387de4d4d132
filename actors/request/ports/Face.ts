/**
 * Wire formats as the request actor needs them: the face is the client's format, a dialect is the pair of that face and the
 * family of an upstream. Pure; `src/wire` makes both.
 */
import type { AnswerCheck, AnswerReader, AnswerView } from "./AnswerCheck.ts"
import type { PublicError } from "#schemas/errors.ts"
import type { TokenUsage } from "#schemas/wire/conversation.ts"
import type { Units } from "#schemas/records/Units.ts"
import type { CallFormat } from "#schemas/wire/formats.ts"

/** Token counts of one attempt in the ledger's terms. */
export type Usage = TokenUsage

/** An error object that an upstream sent, in a body or inside a 200 stream. */
export interface UpstreamErrorBody {
  readonly message: string
  readonly type: string | null
  readonly code: string | null
  /** Status the error object itself claims, when it has one. */
  readonly status: number | null
  /** The request field the upstream blames, in its own words. */
  readonly param?: string
  /** The vendor's error object, where the upstream sent one in its family's own shape. */
  readonly own?: Readonly<Record<string, unknown>>
  /** The request id that stood beside the error object. */
  readonly requestId?: string
}

/** Reads a stream while it is forwarded or translated. One per attempt; upstream bytes in, client bytes out. */
export interface StreamTap {
  /**
   * Feeds borrowed upstream bytes; returns what to forward now (often the same bytes, and borrowed like them), or null for
   * nothing yet.
   */
  readonly push: (chunk: Uint8Array) => Uint8Array | null
  /** The upstream ended: answers what was held back. */
  readonly end: () => Uint8Array | null
  /** Nothing more will be fed: gives back the memory of an event whose end did not come. */
  readonly close: () => void
  /** The frames that end a broken stream in the client's format: one error, then the format's terminator. */
  readonly fail: (error: PublicError) => Uint8Array
  /** The upstream began to answer (a head frame): it is not silent, though nothing useful came yet. */
  readonly alive: boolean
  /** A frame with model content was seen: the first one is the commit point. */
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
  /** What was used beside tokens; null or absent: what was expected. */
  readonly units?: Units | null
  /** `usage` is what was known when the answer began: the output that came since is not in it. Absent: never. */
  readonly usageIsPartial?: boolean
  /** Text of a broken-off answer that may be continued; null or absent when it may not. */
  readonly partialText?: string | null
  /** Model text seen so far, for the tokenizer when the upstream gives no usage. */
  readonly outputText: () => string
}

/** Counts what an upstream did not count. */
export interface Estimate {
  readonly of: (outputText: string) => Usage
}

export interface TapOptions {
  /** Usage frames are forwarded to the client: it asked for them. */
  readonly forwardUsage: boolean
  /** Asked at the end of a stream in which no usage came, for its client; null or absent: the stream ends without. */
  readonly estimate?: Estimate | null
}

/** What a whole (not streamed) answer says about itself; null when the bytes are no answer of this format. */
export interface AnswerFacts {
  readonly usage: Usage | null
  /** What was used beside tokens; null or absent: what was expected. */
  readonly units?: Units | null
  readonly error: UpstreamErrorBody | null
  /** What the client is given: the same bytes, or their translation. */
  readonly body: Uint8Array
  /** Media type of `body`; absent: JSON. */
  readonly contentType?: string
  readonly outputText: () => string
}

/** A job that is not over: where it is asked for again, on the target's own origin, and after how long. */
export interface Poll {
  /** An address, which may be relative to where was asked last; null: the same again. */
  readonly url: string | null
  readonly afterMs: number
  /** JSON that is sent with the question; absent: it has no body. */
  readonly body?: Uint8Array
}

/** One reply of a server, as far as it says whether its job is over. */
export interface JobReply {
  /** 0: no reply came. */
  readonly status: number
  /** Flat, lower-case names. */
  readonly headers: ReadonlyArray<string>
  readonly body: Uint8Array
  /** How often the job was asked for so far. */
  readonly polls: number
  /** How many questions in a row were refused, with this reply. */
  readonly failures: number
  /** Since the first reply. */
  readonly elapsedMs: number
}

/** What is asked of a whole answer that is read away from the loop. */
export interface AnswerQuestion {
  readonly body: Uint8Array
  /** The client asked for a stream, which the answer becomes. */
  readonly asStream: boolean
  readonly forwardUsage: boolean
  /** What it must be; null = anything. */
  readonly check: AnswerCheck | null
}

/** `facts` is null when the bytes are no answer; `broken` names the rule that it breaks, null when there is none. */
export type AnswerRead = (facts: AnswerFacts | null, broken: string | null) => void

/** How an upstream of one family is read for a client of one face. */
export interface Dialect {
  readonly makeTap: (options: TapOptions) => StreamTap
  /** A tap whose answer another call can continue; it has to rewrite every event. */
  readonly makeRecoverableTap: (options: TapOptions) => StreamTap
  /** The tap of the call that continues the answer of a recoverable tap. */
  readonly continueTap: (broken: StreamTap, options: TapOptions) => StreamTap
  readonly readAnswer: (body: Uint8Array) => AnswerFacts | null
  /** Of a server that answers with jobs: where to ask next, why it is not asked any longer, or null for a last reply. Absent: every reply is the last one. */
  readonly pollOf?: ((reply: JobReply) => Poll | PublicError | null) | undefined
  /** A whole answer as the stream a client asked for, when the upstream did not stream; null when it is no answer. */
  readonly replayAnswer: (body: Uint8Array, options: { readonly forwardUsage: boolean }) => AnswerFacts | null
  /** The same stream with usage, where the client's format has a frame for it. Absent: it stays as it is. */
  readonly usageAdded?: ((stream: Uint8Array, usage: Usage) => Uint8Array) | undefined
  /** A whole answer as rules read it; null when it is none. */
  readonly viewAnswer: (body: Uint8Array) => AnswerView | null
  readonly makeReader: () => AnswerReader
  /** Reads a large answer away from the loop and calls back in a later turn; false, or absent, when it is to be read at once. */
  readonly readElsewhere?: ((question: AnswerQuestion, done: AnswerRead) => boolean) | undefined
  /** Error object of a non-2xx body; null when it is no error of a known shape. */
  readonly readError: (body: Uint8Array) => UpstreamErrorBody | null
}

/** What all frames of one stream share, in the client's format: its id, model and the like. */
export type Identity = Readonly<Record<string, unknown>>

/** A client's format: how its errors are written. */
export interface Face {
  readonly name: CallFormat
  readonly streamType: string
  /** Types of the events after which a client of the format reads no further. Absent: its streams end with `[DONE]` or with their body. */
  readonly lastTypes?: ReadonlySet<string> | undefined
  /** Streams pass as they come: no heartbeats, and an answer that breaks ends with its tap's last event, or with its connection where there is none. Absent: false. */
  readonly opaque?: boolean
  readonly errorBody: (error: PublicError) => string
  /** The frames that end a stream in which nothing but comments was sent. */
  readonly errorFrames: (error: PublicError) => Uint8Array
  /** A frame that means nothing; `identity`: of the stream it stands in, null before its first event. */
  readonly heartbeat: (now: Date, identity: Identity | null) => Uint8Array
  /** What heartbeats repeat of the stream's first events, null when this chunk does not say it; null altogether when they repeat nothing. */
  readonly identityIn: ((chunk: Uint8Array) => Identity | null) | null
}
