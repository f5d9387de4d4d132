import * as Schema from "effect/Schema"

/** A stored answer as it lies in the tier that nodes share. */
export const CachedAnswerRecord = Schema.Struct({
  signature: Schema.String,
  apiKeyId: Schema.NullOr(Schema.String),
  model: Schema.String,
  provider: Schema.String,
  strategy: Schema.String,
  format: Schema.Literals(["chat-completions", "completions", "messages", "responses", "generateContent", "local-model-server", "search"]),
  body: Schema.Uint8Array,
  tokensIn: Schema.Number,
  tokensOut: Schema.Number,
  costUsd: Schema.Number,
  createdAt: Schema.Number,
  expiresAt: Schema.Number
})

/** A finished reply as it lies there for repeats. */
export const KeptReplyRecord = Schema.Struct({
  status: Schema.Int,
  headers: Schema.Array(Schema.String),
  body: Schema.Uint8Array
})
