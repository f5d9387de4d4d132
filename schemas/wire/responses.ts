/**
 * A responses request as the gateway reads it when it must be said in another format (the vendor's public wire format). Documented
 * fields, loosely; unknown fields are allowed. Unknown item and part types fall into the catch-alls and become opaque parts.
 */
import * as Schema from "effect/Schema"
import { otherThan, typesOf } from "./otherThan.ts"

const Json = Schema.Record(Schema.String, Schema.Unknown)
const absent = <S extends Schema.Top>(schema: S) => Schema.optional(Schema.NullOr(schema))

// ---- Parts ---------------------------------------------------------------------------------------------------------------------------

export const CacheBreakpoint = Schema.Struct({ mode: absent(Schema.String), ttl: absent(Schema.String) })

/** One literal per member: only a single literal tells a union which member is meant, and so where the mistake is. */
const text = { text: Schema.String, annotations: absent(Schema.Array(Json)), prompt_cache_breakpoint: absent(CacheBreakpoint) }
const InputText = Schema.Struct({ type: Schema.Literal("input_text"), ...text })
const OutputText = Schema.Struct({ type: Schema.Literal("output_text"), ...text })
const Refusal = Schema.Struct({ type: Schema.Literal("refusal"), refusal: Schema.String })
const Image = Schema.Struct({
  type: Schema.Literal("input_image"),
  image_url: absent(Schema.String),
  file_id: absent(Schema.String),
  detail: absent(Schema.String),
  prompt_cache_breakpoint: absent(CacheBreakpoint)
})
const File = Schema.Struct({
  type: Schema.Literal("input_file"),
  file_id: absent(Schema.String),
  file_url: absent(Schema.String),
  file_data: absent(Schema.String),
  filename: absent(Schema.String),
  detail: absent(Schema.String),
  prompt_cache_breakpoint: absent(CacheBreakpoint)
})
const Audio = Schema.Struct({
  type: Schema.Literal("input_audio"),
  input_audio: Schema.Struct({ data: Schema.String, format: Schema.String })
})

const KnownPart = Schema.Union([InputText, OutputText, Refusal, Image, File, Audio])
export const Part = Schema.Union([KnownPart, otherThan(typesOf(KnownPart.members))])
export type Part = typeof Part.Type

const Content = Schema.Union([Schema.String, Schema.Array(Part)])

// ---- Items ---------------------------------------------------------------------------------------------------------------------------

const FunctionCall = Schema.Struct({
  type: Schema.Literal("function_call"),
  call_id: Schema.NonEmptyString,
  name: Schema.NonEmptyString,
  arguments: Schema.String,
  namespace: absent(Schema.String)
})
/** What a client's function gave: an object is told as JSON. */
const Output = Schema.Union([Content, Json])
export type Output = typeof Output.Type
const output = { call_id: Schema.NonEmptyString, output: Output, name: absent(Schema.String) }
const FunctionCallOutput = Schema.Struct({ type: Schema.Literal("function_call_output"), ...output })
const CustomToolCallOutput = Schema.Struct({ type: Schema.Literal("custom_tool_call_output"), ...output })
const CustomToolCall = Schema.Struct({
  type: Schema.Literal("custom_tool_call"),
  call_id: Schema.NonEmptyString,
  name: Schema.NonEmptyString,
  input: Schema.String,
  namespace: absent(Schema.String)
})
const Thought = Schema.Struct({ text: Schema.String })
const ReasoningItem = Schema.Struct({
  type: Schema.Literal("reasoning"),
  id: absent(Schema.String),
  summary: absent(Schema.Array(Thought)),
  content: absent(Schema.Array(Thought)),
  encrypted_content: absent(Schema.String)
})
const message = {
  role: Schema.Literals(["user", "assistant", "system", "developer"]),
  content: Content,
  phase: absent(Schema.String)
}
const Message = Schema.Struct({ type: Schema.Literal("message"), ...message })
/** The easy form of a message; it is given its type before it is read. */
const EasyMessage = Schema.Struct({ type: Schema.optional(Schema.Null), ...message })

const KnownItem = Schema.Union([FunctionCall, FunctionCallOutput, CustomToolCall, CustomToolCallOutput, ReasoningItem, Message])
export const Item = Schema.Union([KnownItem, otherThan(typesOf(KnownItem.members))])
export type Item = typeof Item.Type

// ---- Tools ---------------------------------------------------------------------------------------------------------------------------

const callable = { name: Schema.NonEmptyString, description: absent(Schema.String), parameters: absent(Json), strict: absent(Schema.Boolean) }
const FunctionTool = Schema.Struct({ type: Schema.Literal("function"), ...callable })
const CommandTool = Schema.Struct({ type: Schema.Literal("command"), ...callable })
const CustomTool = Schema.Struct({
  type: Schema.Literal("custom"),
  name: Schema.NonEmptyString,
  description: absent(Schema.String),
  format: Schema.optional(Schema.Unknown)
})
const KnownMember = Schema.Union([FunctionTool, CustomTool])
const NamespaceTool = Schema.Struct({
  type: Schema.Literal("namespace"),
  name: Schema.NonEmptyString,
  description: absent(Schema.String),
  tools: Schema.Array(Schema.Union([KnownMember, otherThan(typesOf(KnownMember.members))]))
})
const KnownTool = Schema.Union([FunctionTool, CommandTool, CustomTool, NamespaceTool])
export const Tool = Schema.Union([KnownTool, otherThan(typesOf(KnownTool.members))])
export type Tool = typeof Tool.Type

const NamedFunction = Schema.Struct({ type: Schema.Literal("function"), name: Schema.NonEmptyString })
const NamedCustom = Schema.Struct({ type: Schema.Literal("custom"), name: Schema.NonEmptyString })
const AllowedTools = Schema.Struct({ type: Schema.Literal("allowed_tools"), mode: Schema.Literals(["auto", "required"]), tools: Schema.Array(Json) })
const KnownChoice = Schema.Union([NamedFunction, NamedCustom, AllowedTools])
export const ToolChoice = Schema.Union([Schema.Literals(["auto", "none", "required"]), KnownChoice, otherThan(typesOf(KnownChoice.members))])

// ---- The request ---------------------------------------------------------------------------------------------------------------------

const Format = Schema.Union([
  Schema.Struct({ type: Schema.Literal("text") }),
  Schema.Struct({ type: Schema.Literal("json_object") }),
  Schema.Struct({
    type: Schema.Literal("json_schema"),
    name: Schema.NonEmptyString,
    description: absent(Schema.String),
    schema: Json,
    strict: absent(Schema.Boolean)
  })
])

export const Request = Schema.Struct({
  model: Schema.NonEmptyString,
  input: absent(Schema.Union([Schema.String, Schema.Array(Item)])),
  instructions: absent(Schema.String),
  tools: absent(Schema.Array(Tool)),
  tool_choice: absent(ToolChoice),
  text: absent(Schema.Struct({ format: absent(Format), verbosity: absent(Schema.String) })),
  reasoning: absent(Schema.Struct({
    effort: absent(Schema.String),
    summary: absent(Schema.String),
    generate_summary: absent(Schema.String)
  })),
  max_output_tokens: absent(Schema.Int.check(Schema.isGreaterThanOrEqualTo(1))),
  temperature: absent(Schema.Finite),
  top_p: absent(Schema.Finite),
  frequency_penalty: absent(Schema.Finite),
  presence_penalty: absent(Schema.Finite),
  top_logprobs: absent(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 20 }))),
  include: absent(Schema.Array(Schema.String)),
  parallel_tool_calls: absent(Schema.Boolean),
  previous_response_id: absent(Schema.String),
  background: absent(Schema.Boolean),
  stream: absent(Schema.Boolean),
  store: absent(Schema.Boolean),
  service_tier: absent(Schema.String),
  metadata: absent(Json),
  user: absent(Schema.String),
  safety_identifier: absent(Schema.String),
  prompt_cache_key: absent(Schema.String)
})
export type Request = typeof Request.Type

/** A request before its easy messages have got their type: what clients may write. */
export const Written = Schema.Struct({ ...Request.fields, input: absent(Schema.Union([Schema.String, Schema.Array(Schema.Union([Item, EasyMessage]))])) })
