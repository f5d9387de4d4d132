import * as Schema from "effect/Schema"

/**
 * The part of a chat-completions request that the gateway itself reads (W: vendor's public wire format). Everything else
 * travels as bytes, so unknown fields, vendor extensions and future parameters arrive upstream untouched.
 */
export const Message = Schema.Struct({
  role: Schema.String
})

export const StreamOptions = Schema.Struct({
  include_usage: Schema.optional(Schema.NullOr(Schema.Boolean))
})

export const Request = Schema.Struct({
  model: Schema.NonEmptyString,
  messages: Schema.NonEmptyArray(Message),
  stream: Schema.optional(Schema.NullOr(Schema.Boolean)),
  stream_options: Schema.optional(Schema.NullOr(StreamOptions))
})
export interface Request extends Schema.Schema.Type<typeof Request> {}
