/** How one model is spoken to where that is not as its provider is: what an operator says on a custom model. */
import * as Schema from "effect/Schema"
import { clearable, integer, listOf, text } from "#schemas/api/fields.ts"

const opt = Schema.optionalKey

export const TargetFormat = Schema.Literals(["openai", "openai-responses", "claude", "gemini"])

const compat = {
  normalizeToolCallId: opt(Schema.Boolean),
  preserveOpenAIDeveloperRole: clearable(Schema.Boolean)
}
const ProtocolCompat = Schema.Struct({ ...compat, upstreamHeaders: opt(Schema.Record(Schema.String, Schema.String)) })
  .annotate({ identifier: "ProtocolCompat" })

/** Instead of the model's own values, for clients of one format. */
export const CompatByProtocol = Schema.Struct({
  "openai": opt(ProtocolCompat), "openai-responses": opt(ProtocolCompat), "claude": opt(ProtocolCompat)
})
export interface CompatByProtocol extends Schema.Schema.Type<typeof CompatByProtocol> {}

export const GenerationPreset = Schema.Struct({
  temperature: opt(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 2 }))),
  topP: opt(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))),
  topK: opt(integer(1, 1_000)),
  maxOutputTokens: opt(integer(1, 1_000_000_000)),
  stopSequences: opt(listOf(text(1, 200), 16))
})
/** What a request says of its answer where its client says nothing. */
export interface GenerationPreset extends Schema.Schema.Type<typeof GenerationPreset> {}

export const GenerationConfig = Schema.Struct({ preset: clearable(GenerationPreset) })

/** Instead of `reasoning_effort` by what is known of the model: in the variables of its chat template, or always as `reasoning_effort`. */
export const ReasoningControl = Schema.Literals(["chat-template", "openai"])
export type ReasoningControl = typeof ReasoningControl.Type

/** What a model's bodies are like beside their format. Plain data: threads are given it. */
export interface ModelCompat {
  /** Ids of tool calls are sent as nine letters and digits. */
  readonly callsOfNine: boolean
  /** Whether the role `developer` is sent; null = where the format's own vendor is asked. */
  readonly developerRole: boolean | null
  readonly reasoningControl: ReasoningControl | null
  /** Null = nothing is added to a request. */
  readonly preset: GenerationPreset | null
}
