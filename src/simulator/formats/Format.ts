/**
 * The seam between the simulator and a wire format: a format reads a request strictly into a `SimulatedCall` and writes a
 * `SimulatedAnswer` as one body or as a sequence of events. It knows nothing of time, sockets or faults.
 */
import type { IncomingHttpHeaders } from "node:http"
import type * as Result from "effect/Result"

export type Body = { readonly [key: string]: unknown }

export interface RequestHead {
  /** Absent: POST. */
  readonly method?: string
  readonly headers: IncomingHttpHeaders
  readonly path: string
  /** Without the question mark. */
  readonly query: string
}

export interface Tool {
  readonly name: string
  readonly parameters: unknown
}

/** What a vendor's error body says, before a format renders it. */
export interface SimulatedRefusal {
  readonly status: number
  readonly message: string
  readonly type?: string
  readonly code?: string | null
  readonly param?: string | null
}

/** One request in terms that all formats share. */
export interface SimulatedCall {
  readonly model: string
  readonly stream: boolean
  /** How many alternative answers. */
  readonly n: number
  /** The client asked for a usage chunk. */
  readonly includeUsage: boolean
  readonly maxTokens: number | null
  readonly stop: ReadonlyArray<string>
  readonly lastUserText: string
  /** Text of the tool results that end the conversation, or null when it does not end with one. */
  readonly toolResult: string | null
  readonly tools: ReadonlyArray<Tool>
  readonly toolChoice: "auto" | "none" | "required" | { readonly name: string }
  /** Set when the answer must be JSON; `schema` is undefined for "any object". */
  readonly json: { readonly schema: unknown } | null
  readonly promptTokens: number
  /** Content type of a stream that is no server-sent events; its events are then written as they are. */
  readonly streamType?: string
  /** The answer of a call that is no conversation; absent: the format writes one from the script. */
  readonly reply?: (answer: SimulatedAnswer) => Reply
  /** The service tier that was asked for and is served; absent: the standard one. */
  readonly serviceTier?: string
  /** What an embeddings call wants; absent elsewhere. */
  readonly embeddings?: { readonly inputs: ReadonlyArray<string>; readonly dimensions: number; readonly base64: boolean }
}

export interface AnsweredToolCall {
  readonly id: string
  readonly name: string
  /** The JSON of the arguments, cut into tokens. */
  readonly pieces: ReadonlyArray<string>
}

export interface Choice {
  readonly reasoning: ReadonlyArray<string>
  readonly text: ReadonlyArray<string>
  readonly toolCalls: ReadonlyArray<AnsweredToolCall>
  /** In the chat vocabulary (stop, length, tool_calls, content_filter); formats translate. Scripts may put any word here. */
  readonly finish: string
}

export interface SimulatedUsage {
  readonly promptTokens: number
  readonly completionTokens: number
  readonly totalTokens: number
  readonly cachedTokens: number
  readonly cacheWriteTokens: number
  readonly reasoningTokens: number
}

export interface SimulatedAnswer {
  /** Unique part of every id; the id of the truth log's entry. */
  readonly id: string
  /** Seconds since the epoch. */
  readonly created: number
  readonly choices: ReadonlyArray<Choice>
  /** What the vendor reports; null when the script omits usage. */
  readonly usage: SimulatedUsage | null
  readonly usageOn: "vendor" | "finish" | "every"
}

/** One event of a stream, before framing. */
export interface WireEvent {
  readonly event?: string
  readonly data: string
  /** Model tokens that this event carries. */
  readonly tokens: number
  /** Carries the usage that the truth log calls reported. */
  readonly usage?: boolean
  /** The last event of a complete stream. */
  readonly terminal?: boolean
}

/** A whole answer of any type, written in pieces of a stream where there are several. */
export interface Reply {
  readonly status?: number
  readonly type: string
  readonly headers?: Readonly<Record<string, string>>
  readonly pieces: ReadonlyArray<Buffer>
}

export interface Format {
  readonly name: string
  readonly matches: (path: string) => boolean
  /** Methods beside POST. */
  readonly methods?: ReadonlyArray<string>
  /** The body is multipart/form-data; `read` is given its fields, and of files name, type and size. */
  readonly isForm?: boolean
  /** The body is a file: `read` is given its type and size. */
  readonly isRaw?: boolean
  /** Model and kind of a request before it is read, where they do not stand in `model` and `stream` of the body. */
  readonly identify?: (path: string, body: Body, query: string) => { readonly model: string | null; readonly stream: boolean }
  readonly read: (body: Body, request: RequestHead) => Result.Result<SimulatedCall, SimulatedRefusal>
  readonly events: (call: SimulatedCall, answer: SimulatedAnswer) => Iterable<WireEvent>
  readonly body: (call: SimulatedCall, answer: SimulatedAnswer) => string
  readonly renderError: (refusal: SimulatedRefusal) => string
  /** How this vendor reports an error inside a stream that began well. */
  readonly streamError: WireEvent
}
