/** `POST /api/chat` of local model servers (the server's public API): what a client may write, loosely; unknown fields pass. */
import * as Schema from "effect/Schema"

const maybe = <S extends Schema.Top>(schema: S) => Schema.optional(Schema.NullOr(schema))

const AnyRecord = Schema.Record(Schema.String, Schema.Unknown)

export const ToolCall = Schema.Struct({
  /** Newer servers name their calls; older ones pair by order and name. */
  id: maybe(Schema.String),
  function: Schema.Struct({
    name: Schema.NonEmptyString,
    arguments: maybe(AnyRecord)
  })
})

export const Message = Schema.Struct({
  /** system, user, assistant or tool, in any case. */
  role: Schema.String,
  content: maybe(Schema.String),
  thinking: maybe(Schema.String),
  /** Base64 without a `data:` prefix. */
  images: maybe(Schema.Array(Schema.String)),
  tool_calls: maybe(Schema.Array(ToolCall)),
  tool_name: maybe(Schema.String),
  tool_call_id: maybe(Schema.String),
  /** What older clients call `tool_name`. */
  name: maybe(Schema.String)
})
export interface Message extends Schema.Schema.Type<typeof Message> {}

export const Tool = Schema.Struct({
  type: maybe(Schema.Literal("function")),
  function: Schema.Struct({
    name: Schema.NonEmptyString,
    description: maybe(Schema.String),
    parameters: maybe(AnyRecord)
  })
})

/** The options that another format knows too; the rest (num_ctx, mirostat ...) pass as they are. */
export const Options = Schema.Struct({
  num_predict: maybe(Schema.Int),
  temperature: maybe(Schema.Finite),
  top_p: maybe(Schema.Finite),
  top_k: maybe(Schema.Int),
  min_p: maybe(Schema.Finite),
  stop: maybe(Schema.Union([Schema.String, Schema.Array(Schema.String)])),
  seed: maybe(Schema.Int),
  frequency_penalty: maybe(Schema.Finite),
  presence_penalty: maybe(Schema.Finite)
})

export const Request = Schema.Struct({
  model: Schema.NonEmptyString,
  messages: Schema.Array(Message).check(Schema.isMinLength(1)),
  tools: maybe(Schema.Array(Tool)),
  /** "json", a JSON schema, or "" for none. */
  format: maybe(Schema.Union([Schema.Literals(["json", ""]), AnyRecord])),
  options: maybe(Options),
  /** True when absent. */
  stream: maybe(Schema.Boolean),
  think: maybe(Schema.Union([Schema.Boolean, Schema.String])),
  keep_alive: maybe(Schema.Union([Schema.String, Schema.Finite])),
  logprobs: maybe(Schema.Boolean),
  top_logprobs: maybe(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 20 })))
})
export interface Request extends Schema.Schema.Type<typeof Request> {}
