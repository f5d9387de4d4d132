/**
 * A Messages request as clients write it (the vendor's public reference). Loose: unknown fields are allowed, optional fields may be
 * null. A block type that is not listed here ends in the catch-all and travels as an opaque part; a listed type that is malformed
 * is refused by its path, because the catch-all does not take listed types.
 */
import * as Schema from "effect/Schema"
import { otherThan } from "./otherThan.ts"

const maybe = <S extends Schema.Top>(schema: S) => Schema.optional(Schema.NullOr(schema))

export const Json = Schema.Record(Schema.String, Schema.Unknown)

export const CacheControl = Schema.Struct({
  type: Schema.Literal("ephemeral"),
  ttl: maybe(Schema.String)
})
export interface CacheControl extends Schema.Schema.Type<typeof CacheControl> {}

const cached = { cache_control: maybe(CacheControl) }

export const TextBlock = Schema.Struct({
  type: Schema.Literal("text"),
  text: Schema.String,
  /** Citations of an assistant's text, each in the vendor's own shape. */
  citations: maybe(Schema.Array(Json)),
  ...cached
})
export interface TextBlock extends Schema.Schema.Type<typeof TextBlock> {}

const Base64Source = Schema.Struct({ type: Schema.Literal("base64"), media_type: Schema.NonEmptyString, data: Schema.NonEmptyString })
const UrlSource = Schema.Struct({ type: Schema.Literal("url"), url: Schema.NonEmptyString })
const FileSource = Schema.Struct({ type: Schema.Literal("file"), file_id: Schema.NonEmptyString })

export const ImageBlock = Schema.Struct({
  type: Schema.Literal("image"),
  source: Schema.Union([Base64Source, UrlSource, FileSource]),
  ...cached
})
export interface ImageBlock extends Schema.Schema.Type<typeof ImageBlock> {}

const TextSource = Schema.Struct({ type: Schema.Literal("text"), media_type: maybe(Schema.NonEmptyString), data: Schema.String })
const ContentSource = Schema.Struct({ type: Schema.Literal("content"), content: Schema.Union([Schema.String, Schema.Array(Schema.Union([TextBlock, ImageBlock]))]) })

export const DocumentBlock = Schema.Struct({
  type: Schema.Literal("document"),
  source: Schema.Union([Base64Source, UrlSource, FileSource, TextSource, ContentSource]),
  title: maybe(Schema.String),
  context: maybe(Schema.String),
  citations: maybe(Schema.Struct({ enabled: maybe(Schema.Boolean) })),
  ...cached
})
export interface DocumentBlock extends Schema.Schema.Type<typeof DocumentBlock> {}

export const SearchResultBlock = Schema.Struct({
  type: Schema.Literal("search_result"),
  source: Schema.String,
  title: Schema.String,
  content: Schema.Array(TextBlock),
  citations: maybe(Schema.Struct({ enabled: maybe(Schema.Boolean) })),
  ...cached
})
export interface SearchResultBlock extends Schema.Schema.Type<typeof SearchResultBlock> {}

const ThinkingBlock = Schema.Struct({ type: Schema.Literal("thinking"), thinking: Schema.String, signature: maybe(Schema.String) })
const RedactedThinkingBlock = Schema.Struct({ type: Schema.Literal("redacted_thinking"), data: Schema.String })

const ToolUseBlock = Schema.Struct({
  type: Schema.Literal("tool_use"),
  id: Schema.NonEmptyString,
  name: Schema.NonEmptyString,
  input: Json,
  ...cached
})

const resultTypes = ["text", "image", "document", "search_result"] as const
const OtherResultBlock = otherThan(resultTypes)
export const ResultBlock = Schema.Union([TextBlock, ImageBlock, DocumentBlock, SearchResultBlock])
export type ResultBlock = typeof ResultBlock.Type

export const ToolResultBlock = Schema.Struct({
  type: Schema.Literal("tool_result"),
  tool_use_id: Schema.NonEmptyString,
  content: maybe(Schema.Union([Schema.String, Schema.Array(Schema.Union([ResultBlock, OtherResultBlock]))])),
  is_error: maybe(Schema.Boolean),
  ...cached
})
export interface ToolResultBlock extends Schema.Schema.Type<typeof ToolResultBlock> {}

const blockTypes = [...resultTypes, "thinking", "redacted_thinking", "tool_use", "tool_result"] as const
export const OtherBlock = otherThan(blockTypes)
export type OtherBlock = typeof OtherBlock.Type
export const KnownBlock = Schema.Union([
  TextBlock, ImageBlock, DocumentBlock, SearchResultBlock, ThinkingBlock, RedactedThinkingBlock, ToolUseBlock, ToolResultBlock
])
export type KnownBlock = typeof KnownBlock.Type

export const isKnownBlock = (block: KnownBlock | OtherBlock): block is KnownBlock => blockTypes.some((type) => type === block.type)
export const isResultBlock = (block: ResultBlock | OtherBlock): block is ResultBlock => resultTypes.some((type) => type === block.type)

/** `system` is the vendor's mid-conversation system message. */
export const Message = Schema.Struct({
  role: Schema.Literals(["user", "assistant", "system"]),
  content: Schema.Union([Schema.String, Schema.Array(Schema.Union([KnownBlock, OtherBlock]))])
})
export interface Message extends Schema.Schema.Type<typeof Message> {}

/** A function of the client's; anything with another `type` is a tool of the vendor's own. */
export const FunctionTool = Schema.Struct({
  type: maybe(Schema.Literal("custom")),
  /** Empty: the tool is left out. */
  name: Schema.String,
  description: maybe(Schema.String),
  input_schema: Json,
  strict: maybe(Schema.Boolean),
  ...cached
})
export interface FunctionTool extends Schema.Schema.Type<typeof FunctionTool> {}
export const VendorTool = otherThan(["custom"])
export type VendorTool = typeof VendorTool.Type
export const Tools = Schema.Array(Schema.Union([FunctionTool, VendorTool]))

export const ToolChoice = Schema.Union([
  Schema.Struct({ type: Schema.Literal("auto"), disable_parallel_tool_use: maybe(Schema.Boolean) }),
  Schema.Struct({ type: Schema.Literal("any"), disable_parallel_tool_use: maybe(Schema.Boolean) }),
  Schema.Struct({ type: Schema.Literal("none") }),
  Schema.Struct({ type: Schema.Literal("tool"), name: Schema.NonEmptyString, disable_parallel_tool_use: maybe(Schema.Boolean) })
])
export type ToolChoice = typeof ToolChoice.Type

const Display = maybe(Schema.String)
const OtherThinking = otherThan(["enabled", "adaptive", "disabled"])
export const KnownThinking = Schema.Union([
  Schema.Struct({ type: Schema.Literal("enabled"), budget_tokens: Schema.Int.check(Schema.isGreaterThanOrEqualTo(1)), display: Display }),
  Schema.Struct({ type: Schema.Literal("adaptive"), display: Display }),
  Schema.Struct({ type: Schema.Literal("disabled") })
])
export type KnownThinking = typeof KnownThinking.Type
export const Thinking = Schema.Union([...KnownThinking.members, OtherThinking])
export type Thinking = typeof Thinking.Type

export const JsonSchemaFormat = Schema.Struct({ type: Schema.Literal("json_schema"), schema: Json })

const OutputConfig = Schema.Struct({
  effort: maybe(Schema.String),
  format: maybe(JsonSchemaFormat)
})

const Prompt = {
  messages: Schema.Array(Message).check(Schema.isMinLength(1)),
  system: maybe(Schema.Union([Schema.String, Schema.Array(TextBlock)])),
  tools: maybe(Tools),
  tool_choice: maybe(ToolChoice),
  thinking: maybe(Thinking),
  output_config: maybe(OutputConfig),
  /** The beta name of `output_config.format`. */
  output_format: maybe(JsonSchemaFormat)
}

/** `max_tokens` is required by the vendor; here it may be absent, because other families do not need it. */
export const Request = Schema.Struct({
  model: Schema.NonEmptyString,
  ...Prompt,
  max_tokens: maybe(Schema.Int.check(Schema.isGreaterThanOrEqualTo(1))),
  stream: maybe(Schema.Boolean),
  temperature: maybe(Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0))),
  top_p: maybe(Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0))),
  top_k: maybe(Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))),
  stop_sequences: maybe(Schema.Array(Schema.NonEmptyString)),
  metadata: maybe(Schema.Struct({ user_id: maybe(Schema.String) })),
  service_tier: maybe(Schema.String)
})
export interface Request extends Schema.Schema.Type<typeof Request> {}

/** `POST /v1/messages/count_tokens`. */
export const CountRequest = Schema.Struct({ model: Schema.NonEmptyString, ...Prompt })
export interface CountRequest extends Schema.Schema.Type<typeof CountRequest> {}
