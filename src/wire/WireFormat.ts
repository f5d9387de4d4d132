/**
 * One chat wire format as a codec: everything the gateway knows about it, as pure functions over the neutral conversation. A
 * format of clients has a `ClientCodec`, a format of upstreams an `UpstreamCodec`; `src/wire/formats.ts` is the table.
 */
import type { Identity, StreamTap, TapOptions, UpstreamErrorBody } from "#actors/request/ports/Face.ts"
import type { PublicError } from "#schemas/errors.ts"
import type { Answer, Conversation, FamilyName, FormatName, TokenUsage } from "#schemas/wire/conversation.ts"
import type { ReasoningControl } from "#schemas/words/ModelFormats.ts"
import type { EncoderOptions, StreamDecoder, StreamEncoder, StreamSink } from "#src/wire/stream/StreamSink.ts"
import type * as Splice from "#src/wire/json/splice.ts"

export type Json = Readonly<Record<string, unknown>>

/** What of a request is read before it is planned. */
export interface RequestHead {
  readonly model: string
  readonly stream: boolean
  /** The client asked for usage in the stream (chat and completions `stream_options.include_usage`; true where the format always has it). */
  readonly wantsUsage: boolean
  /** The client asked for one file, which is sent while it is made: a repeat may be given it whole. */
  readonly isFile?: boolean
}

/** What an encoder may know of the model it writes for. */
export interface TargetTraits {
  /** The id that goes upstream. */
  readonly model: string
  readonly stream: boolean
  readonly maxOutputTokens: number | null
  /** Null when the registry does not know. */
  readonly reasoning: boolean | null
  /** False when the connection opted out of `stream_options`. */
  readonly streamOptions: boolean
  /** What `previous_response_id` does on a target that cannot resolve it: refuse (`auto`, `keep`) or leave out (`strip`). */
  readonly previousResponseId: "auto" | "keep" | "strip"
  /** Whether the role `developer` is sent; null or absent: to the format's own vendor. */
  readonly developerRole?: boolean | null
  /** Said of the connection: an effort is always sent; null or absent: by what is known of the model. */
  readonly reasoningControl?: ReasoningControl | null
  /** A vendor that can clear older results of tools is asked to. */
  readonly clears?: boolean
}

/** A request body for a target, with the fields (client's names) that the target cannot say and that were left out. */
export interface EncodedRequest {
  readonly body: string
  readonly omitted: ReadonlyArray<string>
}

/** What an answer repeats, where its server does not. */
export type Known = Pick<EncoderOptions, "model" | "now" | "request">

/** How far a stream came whose events are numbered and name their answer. */
export interface Progress {
  /** The answer as its first event named it. */
  readonly answer: Json
  /** The number of the next event. */
  readonly next: number
}

export interface ClientCodec {
  readonly name: FormatName
  /** Content type of its streams. */
  readonly streamType: "text/event-stream" | "application/x-ndjson"
  /** Types of the events after which its clients read no further. Absent: its streams end with `[DONE]` or with their body. */
  readonly lastTypes?: ReadonlySet<string>
  /** The bytes of a body whose conversation stood in another format's member, with it in its place; null = it stands there. Absent: nothing is looked for. */
  readonly withMessages?: (body: Json, bytes: Buffer) => Buffer | PublicError | null
  /** Reads model and stream flag and refuses what no upstream could read: the client's mistake in the client's words. */
  readonly head: (body: Json) => RequestHead | PublicError
  /** Reads the whole request; strict about shapes, because what is not understood cannot be translated. */
  readonly decodeRequest: (body: Json) => Conversation | PublicError
  readonly encodeAnswer: (answer: Answer, options: EncoderOptions) => string
  readonly makeEncoder: (options: EncoderOptions) => StreamEncoder
  /** A whole stream with usage before its terminator. Absent: the format has no frame of its own for it. */
  readonly usageAdded?: (stream: Buffer, usage: TokenUsage) => Buffer
  readonly errorBody: (error: PublicError) => string
  /** The frames that end a stream that broke. `after`: what was sent of it; null or absent: nothing but the head, or events that are not numbered. */
  readonly errorFrames: (error: PublicError, after?: Progress | null) => string
  /** What a heartbeat repeats of a frame of its stream; null when the frame does not say it. Absent: heartbeats repeat nothing. */
  readonly identityOf?: (frame: Json) => Identity | null
  /** A frame that means nothing, sent when nothing else is. `comments`: SSE comment lines are allowed; `identity`: null before the first event. */
  readonly heartbeat: (comments: boolean, now: Date, identity: Identity | null) => string
}

export interface UpstreamCodec {
  readonly name: FamilyName
  /** A stream that finishes without any content is an answer: its frames say a role. Absent: it is an early end. */
  readonly emptyAnswers?: boolean
  readonly encodeRequest: (conversation: Conversation, traits: TargetTraits) => EncodedRequest | PublicError
  /** Edits that make a body of this same format fit the target, every other byte kept (model id, usage asked for). */
  readonly passThroughEdits: (body: Json, traits: TargetTraits) => ReadonlyArray<Splice.Edit>
  /** Null when the body is no answer of this format. An error object inside a 200 is answered as such. */
  readonly decodeAnswer: (body: Json) => Answer | UpstreamErrorBody | null
  readonly makeDecoder: (sink: StreamSink) => StreamDecoder
  /** The tap of a stream that is forwarded byte by byte to a client of the same format. */
  readonly makePassThroughTap: (options: TapOptions, known: Known | null) => StreamTap
  /** A whole answer with the members that its server left out though the format promises them; null when it lacks none. Absent: answers are forwarded as they came. */
  readonly wholeAnswer?: (body: Buffer, parsed: Json, known: Known) => Buffer | null
  /** Facts of a whole answer that is forwarded as it came; cheaper than decodeAnswer. Null when it is no answer. */
  readonly readAnswer: (body: Json) => { readonly usage: TokenUsage | null; readonly error: UpstreamErrorBody | null; readonly outputText: () => string } | null
  /** The error object of a non-2xx body; null when there is none of a known shape. */
  readonly readError: (body: Json) => UpstreamErrorBody | null
}
