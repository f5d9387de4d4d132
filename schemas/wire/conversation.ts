/**
 * The neutral conversation: what every chat wire format says, once. A codec reads its own format into this and writes this into
 * its own format, so N formats need N codecs, not N x N translators. Types only: the codecs in `src/wire`
 * validate what comes in.
 *
 * Normal form: tool results stand in turns of role `tool` that hold nothing else; calls and results are joined by `id`.
 */

import type { ServiceTier } from "#schemas/Provider.ts"

/** Formats of clients; all but `completions` are also families of upstreams. */
export type FormatName = "chat-completions" | "completions" | "messages" | "responses" | "generateContent" | "local-model-server"

/** Formats of upstreams. */
export type FamilyName = Exclude<FormatName, "completions">

/** Provider-made proof that belongs to reasoning or a call, and is worth something to that family alone (signature, encrypted item). */
export interface Signature {
  readonly family: FamilyName
  readonly value: string
}

/** A breakpoint of the vendor's prompt cache; `ttl` in the vendor's words (`5m`, `1h`), null for its default. */
export interface CacheControl {
  readonly ttl: string | null
}

/** Where the bytes of a medium are. `base64` data is passed on as it came, without line breaks or a `data:` prefix. */
export type Source =
  | {
    readonly kind: "base64"
    readonly mediaType: string
    readonly data: string
    /** The reader found base64 and nothing else: a long one need not be looked through again. */
    readonly checked?: true
  }
  | { readonly kind: "url"; readonly url: string; readonly mediaType: string | null }
  /** An id of the vendor's own file store; means nothing to another vendor. */
  | { readonly kind: "file"; readonly family: FamilyName; readonly id: string; readonly mediaType: string | null }
  /** A document given as plain text. */
  | { readonly kind: "text"; readonly text: string; readonly mediaType: string | null }

export interface TextPart {
  readonly kind: "text"
  readonly text: string
  readonly cache: CacheControl | null
  /** Citations of an assistant's text. */
  readonly annotations: ReadonlyArray<Annotation>
  /** generateContent may sign a text part. */
  readonly signature: Signature | null
}

export interface MediaPart {
  readonly kind: "image" | "audio" | "video" | "document"
  readonly source: Source
  /** Image detail in the chat vocabulary: `low`, `high`, `auto`, `original`. */
  readonly detail: string | null
  /** File name or title of a document. */
  readonly name: string | null
  /** Context text that a messages document may carry. */
  readonly context: string | null
  /** Whether the model is asked to cite this document (messages); null when not said. */
  readonly citations: boolean | null
  readonly cache: CacheControl | null
  readonly signature: Signature | null
}

/** The model's thinking. `text` is empty for a redacted or encrypted-only item, which lives in `signature`. */
export interface ReasoningPart {
  readonly kind: "reasoning"
  readonly text: string
  /** True when `text` is a summary of the reasoning rather than the reasoning itself. */
  readonly summary: boolean
  readonly signature: Signature | null
  /** Item id of the responses format. */
  readonly id: string | null
  /** True for redacted_thinking: the text was withheld by the vendor. */
  readonly redacted: boolean
}

export interface ToolCallPart {
  readonly kind: "toolCall"
  readonly id: string
  readonly name: string
  /** JSON text of the arguments object as the model wrote it (may be invalid JSON); free text for a custom tool. */
  readonly arguments: string
  /** The same as an object, where the client's format holds one: formats that do write it without reading the text again. */
  readonly object?: Readonly<Record<string, unknown>> | undefined
  /** True for a call of a custom (free text) tool. */
  readonly custom: boolean
  readonly cache: CacheControl | null
  readonly signature: Signature | null
}

export interface ToolResultPart {
  readonly kind: "toolResult"
  readonly id: string
  /** Name of the called tool, when the format says it or the call is known. */
  readonly name: string | null
  readonly content: ReadonlyArray<TextPart | MediaPart>
  readonly isError: boolean
  readonly cache: CacheControl | null
}

export interface RefusalPart {
  readonly kind: "refusal"
  readonly text: string
}

/** A part only its own format can say (server tool use, executable code, grounding ...); `field` names it for the client. */
export interface OpaquePart {
  readonly kind: "opaque"
  readonly format: FormatName
  readonly field: string
  readonly value: unknown
  /** How it is listed where it is left out or said as text: its place without numbers, and its type. */
  readonly listed: string
  /** What stands for it in another format, "" for nothing. Null: without it the question would be another one. */
  readonly fallback: string | null
}

export type ContentPart = TextPart | MediaPart | ReasoningPart | ToolCallPart | ToolResultPart | RefusalPart | OpaquePart

export interface Turn {
  readonly role: "system" | "developer" | "user" | "assistant" | "tool"
  readonly parts: ReadonlyArray<ContentPart>
  /** The participant's name of the chat format. */
  readonly name: string | null
  /** Where the turn stood in the client's request, for error messages: `messages[3]`, `input[0]`, `contents[2]`. */
  readonly path: string
}

/** A function the model may call. `parameters` is a JSON schema, null when none was given. */
export interface FunctionTool {
  readonly kind: "function"
  readonly name: string
  readonly description: string | null
  readonly parameters: Readonly<Record<string, unknown>> | null
  readonly strict: boolean | null
  readonly cache: CacheControl | null
}

/** A tool that takes free text (chat and responses `custom`); `format` is the vendor's grammar object. */
export interface CustomTool {
  readonly kind: "custom"
  readonly name: string
  readonly description: string | null
  readonly format: unknown
}

/** A tool the vendor itself runs (web_search, code_execution, google_search ...). */
export interface HostedTool {
  readonly kind: "hosted"
  readonly format: FormatName
  /** Its type as the client wrote it. */
  readonly type: string
  readonly value: unknown
}

export type Tool = FunctionTool | CustomTool | HostedTool

/**
 * Tools that stand together under one name (responses). Their neutral names are flat; here stand the client's own, for answers and
 * for a target of the same format.
 */
export interface Namespace {
  readonly name: string
  readonly description: string | null
  readonly members: ReadonlyArray<{ readonly flat: string; readonly name: string }>
}

export type ToolChoice =
  | { readonly kind: "auto" | "none" | "required" }
  | { readonly kind: "tool"; readonly name: string }
  /** A tool that the vendor runs; `value` is the choice as the client wrote it. */
  | { readonly kind: "hosted"; readonly type: string; readonly value: unknown }
  /** Only these may be called, hosted tools by their type; `required` says whether one must be. */
  | { readonly kind: "allowed"; readonly names: ReadonlyArray<string>; readonly required: boolean }

export type Effort = "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max"

/** What was said about thinking; null members were not said. */
export interface Reasoning {
  /** False switches it off, true asks for it. */
  readonly enabled: boolean | null
  readonly effort: Effort | null
  /** Tokens; -1 = the model decides (dynamic, adaptive). */
  readonly budget: number | null
  /** The client wants to see thoughts or a summary: vendor words `auto`, `concise`, `detailed`, or `omitted`. */
  readonly summary: string | null
  /** Decided by an operator, not said by the client. */
  readonly decided?: true
}

export type OutputFormat =
  | { readonly kind: "json" }
  | {
    readonly kind: "schema"
    readonly name: string | null
    readonly description: string | null
    readonly schema: Readonly<Record<string, unknown>>
    readonly strict: boolean | null
  }

/** Parameters that more than one format knows; null = not said. */
export interface GenerationSettings {
  readonly maxTokens: number | null
  readonly temperature: number | null
  readonly topP: number | null
  readonly topK: number | null
  readonly minP: number | null
  readonly stop: ReadonlyArray<string> | null
  readonly seed: number | null
  readonly choices: number | null
  readonly frequencyPenalty: number | null
  readonly presencePenalty: number | null
  readonly logitBias: Readonly<Record<string, unknown>> | null
  readonly logprobs: boolean | null
  readonly topLogprobs: number | null
  readonly output: OutputFormat | null
  readonly reasoning: Reasoning | null
  readonly verbosity: string | null
  /** As the client wrote it: `auto`, `default`, `flex`, `priority`, `standard_only`. */
  readonly serviceTier: string | null
  /** The end user's id (chat `user`, messages `metadata.user_id`, responses `user`). */
  readonly user: string | null
  readonly safetyIdentifier: string | null
  readonly promptCacheKey: string | null
  readonly metadata: Readonly<Record<string, unknown>> | null
  readonly store: boolean | null
  readonly parallelToolCalls: boolean | null
  /** Output modalities other than text that were asked for (`audio`, `image`). */
  readonly modalities: ReadonlyArray<string> | null
}

/**
 * A field that only the client's own format knows. `essential`: without it the answer would be another one, so a target that
 * cannot say it refuses the request; `hint`: it may be left out, and the client is informed.
 */
export interface Extra {
  readonly field: string
  readonly weight: "essential" | "hint"
  readonly value: unknown
  /** Messages are stored under it at the client's vendor. */
  readonly holdsMessages?: true
  /** Members of a refusal beside its message: the vendor's clients act on them. */
  readonly refusal?: Readonly<Record<string, unknown>>
}

export interface Conversation {
  readonly format: FormatName
  readonly turns: ReadonlyArray<Turn>
  readonly tools: ReadonlyArray<Tool>
  /** Absent where the format has none. */
  readonly namespaces?: ReadonlyArray<Namespace>
  readonly toolChoice: ToolChoice | null
  readonly settings: GenerationSettings
  /** What the client called `maxTokens`, where its format has an older name for it. */
  readonly limitName?: string
  readonly extras: ReadonlyArray<Extra>
}

/** A citation. `start` and `end` are character offsets in the text it belongs to, where known. */
export interface Annotation {
  readonly kind: "url" | "document" | "file"
  readonly url: string | null
  readonly title: string | null
  readonly citedText: string | null
  readonly start: number | null
  readonly end: number | null
  /** Index or id of the cited document. */
  readonly document: string | null
  /** The vendor's own object, for a client of the same format. */
  readonly native: { readonly format: FormatName; readonly value: unknown } | null
}

/** Why a choice ended. `pause`: the vendor wants the turn sent back; `context`: the context window was full. */
export type FinishReason = "stop" | "stop-sequence" | "length" | "tool-calls" | "content-filter" | "refusal" | "pause" | "context"

/** One token with its log probability, in the chat vocabulary. */
export interface TokenLogprob {
  readonly token: string
  readonly logprob: number
  readonly bytes: ReadonlyArray<number> | null
  readonly top: ReadonlyArray<{ readonly token: string; readonly logprob: number; readonly bytes: ReadonlyArray<number> | null }>
}

/** Token counts in the ledger's terms: input includes cache reads and writes, output includes reasoning. */
export interface TokenUsage {
  readonly input: number
  readonly output: number
  readonly cacheRead: number
  readonly cacheCreation: number
  /** Of `cacheCreation`, what is kept for an hour; absent = none. */
  readonly cacheCreationHour?: number
  readonly reasoning: number
  /** The service tier that the vendor served; absent = its standard one. */
  readonly tier?: ServiceTier
}

export interface Choice {
  readonly index: number
  /** Reasoning, text, refusal, media, opaque and tool calls in the model's order. */
  readonly parts: ReadonlyArray<ContentPart>
  readonly finish: FinishReason | null
  /** Which stop sequence ended it, when known. */
  readonly stopSequence: string | null
  readonly logprobs: ReadonlyArray<TokenLogprob> | null
}

/** A whole answer. */
export interface Answer {
  /** The vendor's id. */
  readonly id: string | null
  /** The model as the vendor names it. */
  readonly model: string | null
  /** Seconds since the epoch. */
  readonly createdAt: number | null
  readonly choices: ReadonlyArray<Choice>
  readonly usage: TokenUsage | null
  readonly serviceTier: string | null
  readonly systemFingerprint: string | null
}
