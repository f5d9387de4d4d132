/**
 * The chat-completions request as clients send it (the vendor's public wire format and what its many compatible servers
 * added): documented fields, loosely; null stands for absent where vendors take it. Read only when a request must be translated:
 * towards a provider of the same format the bytes travel as they came.
 *
 * Unions by `type` end in a member for types this gateway does not know; a known type never falls into it, so a malformed
 * part is refused by its own path.
 */
import * as Schema from "effect/Schema"
import { otherThan, typesOf } from "./otherThan.ts"

const said = <S extends Schema.Top>(schema: S) => Schema.optional(Schema.NullOr(schema))
const Dict = Schema.Record(Schema.String, Schema.Unknown)

export const CacheControl = Schema.Struct({ type: Schema.String, ttl: said(Schema.String) })

const cached = { cache_control: said(CacheControl) }
const Url = Schema.Struct({ url: Schema.NonEmptyString })

export const TextPart = Schema.Struct({ type: Schema.Literal("text"), text: Schema.String, ...cached })
export const ImagePart = Schema.Struct({
  type: Schema.Literal("image_url"),
  image_url: Schema.Union([Schema.NonEmptyString, Schema.Struct({ url: Schema.NonEmptyString, detail: said(Schema.String) })]),
  ...cached
})
export const InputAudioPart = Schema.Struct({
  type: Schema.Literal("input_audio"),
  input_audio: Schema.Struct({ data: Schema.NonEmptyString, format: Schema.NonEmptyString }),
  ...cached
})
/** Extensions of compatible servers. */
export const AudioUrlPart = Schema.Struct({ type: Schema.Literal("audio_url"), audio_url: Url, ...cached })
export const VideoPart = Schema.Struct({ type: Schema.Literal("video_url"), video_url: Url, ...cached })
export const FilePart = Schema.Struct({
  type: Schema.Literal("file"),
  file: Schema.Struct({ file_data: said(Schema.NonEmptyString), file_id: said(Schema.NonEmptyString), filename: said(Schema.String) }),
  ...cached
})
export const RefusalPart = Schema.Struct({ type: Schema.Literal("refusal"), refusal: Schema.String })
/** One vendor's way to write reasoning inside the content. */
const ThinkingPart = Schema.Struct({
  type: Schema.Literal("thinking"),
  thinking: Schema.Union([Schema.String, Schema.Array(Schema.Struct({ type: Schema.String, text: said(Schema.String) }))])
})
export const KnownPart = Schema.Union([TextPart, ImagePart, InputAudioPart, AudioUrlPart, VideoPart, FilePart, RefusalPart, ThinkingPart])
export type KnownPart = typeof KnownPart.Type
const partTypes: ReadonlyArray<string> = typesOf(KnownPart.members)
export const OtherPart = otherThan(partTypes)
export type OtherPart = typeof OtherPart.Type

export const Part = Schema.Union([KnownPart, OtherPart])
export type Part = typeof Part.Type

export const isKnownPart = (part: Part): part is KnownPart => partTypes.includes(part.type)

export const Parts = Schema.Array(Part)
export const Content = Schema.Union([Schema.String, Parts])
export type Content = typeof Content.Type

export const ToolCall = Schema.Struct({
  /** Empty: its result is the next one whose id is empty. */
  id: Schema.String,
  type: said(Schema.Literals(["function", "custom"])),
  function: said(Schema.Struct({ name: Schema.NonEmptyString, arguments: said(Schema.Union([Schema.String, Dict])) })),
  custom: said(Schema.Struct({ name: Schema.NonEmptyString, input: Schema.String })),
  extra_content: said(Dict)
})
export type ToolCall = typeof ToolCall.Type

const SystemMessage = Schema.Struct({ role: Schema.Literal("system"), content: Content, name: said(Schema.String) })
const DeveloperMessage = Schema.Struct({ role: Schema.Literal("developer"), content: Content, name: said(Schema.String) })
const UserMessage = Schema.Struct({ role: Schema.Literal("user"), content: Content, name: said(Schema.String) })
export const AssistantMessage = Schema.Struct({
  role: Schema.Literal("assistant"),
  content: said(Content),
  name: said(Schema.String),
  refusal: said(Schema.String),
  reasoning_content: said(Schema.String),
  reasoning: said(Schema.String),
  reasoning_details: said(Schema.Array(Dict)),
  tool_calls: said(Schema.Array(ToolCall)),
  function_call: said(Schema.Struct({ name: Schema.NonEmptyString, arguments: said(Schema.String) })),
  annotations: said(Schema.Array(Dict)),
  audio: said(Schema.Struct({ id: Schema.NonEmptyString })),
  images: said(Schema.Array(ImagePart)),
  extra_content: said(Dict)
})
export type AssistantMessage = typeof AssistantMessage.Type
const ToolMessage = Schema.Struct({
  role: Schema.Literal("tool"),
  content: said(Content),
  tool_call_id: Schema.String,
  name: said(Schema.String),
  ...cached
})
const FunctionMessage = Schema.Struct({ role: Schema.Literal("function"), content: said(Schema.String), name: Schema.NonEmptyString })
const KnownMessage = Schema.Union([SystemMessage, DeveloperMessage, UserMessage, AssistantMessage, ToolMessage, FunctionMessage])
const roles: ReadonlyArray<string> = KnownMessage.members.map(({ fields }) => fields.role.literal)
/** Takes no role, so that a wrong one is refused under its own path. */
const NoMessage = Schema.Struct({
  role: Schema.String.check(Schema.makeFilter((role: string) =>
    roles.includes(role) ? "its other members do not fit its role" : `must be one of ${roles.join(", ")}`
  )).pipe(Schema.refine((_role): _role is never => false))
})

export const Message = Schema.Union([KnownMessage, NoMessage])
export type Message = typeof Message.Type

const FunctionBody = Schema.Struct({
  /** Empty: the tool is left out. */
  name: Schema.String,
  description: said(Schema.String),
  parameters: said(Dict),
  strict: said(Schema.Boolean)
})
const KnownTool = Schema.Union([
  Schema.Struct({ type: Schema.Literal("function"), function: FunctionBody, ...cached }),
  Schema.Struct({
    type: Schema.Literal("custom"),
    custom: Schema.Struct({ name: Schema.NonEmptyString, description: said(Schema.String), format: said(Dict) })
  })
])
const toolTypes: ReadonlyArray<string> = typesOf(KnownTool.members)
export const Tool = Schema.Union([KnownTool, otherThan(toolTypes)])
export type Tool = typeof Tool.Type

export const isKnownTool = (tool: Tool): tool is typeof KnownTool.Type => toolTypes.includes(tool.type)

const Named = Schema.Struct({ name: Schema.NonEmptyString })
const AllowedTool = Schema.Struct({ type: Schema.String, function: said(Named), custom: said(Named) })
export const ToolChoice = Schema.Union([
  Schema.Literals(["none", "auto", "required", "any"]),
  Schema.Struct({ type: Schema.Literal("function"), function: Named }),
  Schema.Struct({ type: Schema.Literal("custom"), custom: Named }),
  Schema.Struct({
    type: Schema.Literal("allowed_tools"),
    allowed_tools: Schema.Struct({ mode: Schema.Literals(["auto", "required"]), tools: Schema.Array(AllowedTool) })
  })
])
export type ToolChoice = typeof ToolChoice.Type

const KnownFormat = Schema.Union([
  Schema.Struct({ type: Schema.Literal("text") }),
  Schema.Struct({ type: Schema.Literal("json_object") }),
  Schema.Struct({
    type: Schema.Literal("json_schema"),
    json_schema: Schema.Struct({
      name: Schema.NonEmptyString,
      description: said(Schema.String),
      schema: said(Dict),
      strict: said(Schema.Boolean)
    })
  })
])
const formatTypes: ReadonlyArray<string> = typesOf(KnownFormat.members)
export const ResponseFormat = Schema.Union([KnownFormat, otherThan(formatTypes)])
export type ResponseFormat = typeof ResponseFormat.Type

export const isKnownFormat = (format: ResponseFormat): format is typeof KnownFormat.Type => formatTypes.includes(format.type)

/** A word of an open list. */
export const Effort = Schema.String
const Tokens = Schema.Int.check(Schema.makeFilter((n: number) => n >= 1 || n === -1 ? undefined : "must be at least 1"))
const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

const StreamOptions = Schema.Struct({ include_usage: said(Schema.Boolean) })

export const Request = Schema.Struct({
  model: Schema.NonEmptyString,
  messages: Schema.Array(Message).check(Schema.isMinLength(1)),
  stream: said(Schema.Boolean),
  stream_options: said(StreamOptions),
  tools: said(Schema.Array(Tool)),
  tool_choice: said(ToolChoice),
  parallel_tool_calls: said(Schema.Boolean),
  functions: said(Schema.Array(FunctionBody)),
  function_call: said(Schema.Union([Schema.Literals(["none", "auto"]), Named])),
  max_tokens: said(Tokens),
  max_completion_tokens: said(Tokens),
  temperature: said(Schema.Finite),
  top_p: said(Schema.Finite),
  top_k: said(Schema.Int),
  min_p: said(Schema.Finite),
  stop: said(Schema.Union([Schema.String, Schema.Array(Schema.String)])),
  seed: said(Schema.Int),
  n: said(Schema.Int.check(Schema.isGreaterThanOrEqualTo(1))),
  frequency_penalty: said(Schema.Finite),
  presence_penalty: said(Schema.Finite),
  logit_bias: said(Dict),
  logprobs: said(Schema.Boolean),
  top_logprobs: said(Count),
  response_format: said(ResponseFormat),
  reasoning_effort: said(Effort),
  /** One aggregator's form. */
  reasoning: said(Schema.Struct({
    effort: said(Effort), max_tokens: said(Count), enabled: said(Schema.Boolean), exclude: said(Schema.Boolean), summary: said(Schema.String)
  })),
  /** The form of several compatible vendors. */
  thinking: said(Schema.Struct({ type: Schema.String, budget_tokens: said(Count) })),
  enable_thinking: said(Schema.Boolean),
  thinking_budget: said(Count),
  verbosity: said(Schema.String),
  service_tier: said(Schema.String),
  user: said(Schema.String),
  safety_identifier: said(Schema.String),
  prompt_cache_key: said(Schema.String),
  metadata: said(Dict),
  store: said(Schema.Boolean),
  modalities: said(Schema.Array(Schema.String)),
  audio: said(Dict)
})
export interface Request extends Schema.Schema.Type<typeof Request> {}
