/** What would happen to a request now. */
import * as Schema from "effect/Schema"
import { oneShotKinds } from "#schemas/wire/formats.ts"

const Target = Schema.Struct({
  target: Schema.String,
  provider: Schema.String,
  model: Schema.String,
  connectionId: Schema.NullOr(Schema.String),
  format: Schema.String,
  position: Schema.NullOr(Schema.Int),
  skipped: Schema.NullOr(Schema.Struct({ reason: Schema.String, until: Schema.NullOr(Schema.String), detail: Schema.String }))
})

/** What a client speaks. */
export const Format = Schema.Literals(["chat-completions", "completions", "messages", "responses", "generateContent", "local-model-server", ...oneShotKinds])

export const Explanation = Schema.Struct({
  model: Schema.String,
  strategy: Schema.String,
  combo: Schema.NullOr(Schema.String),
  lastResort: Schema.Boolean,
  targets: Schema.Array(Target),
  relaxed: Schema.Array(Schema.String),
  error: Schema.NullOr(Schema.Struct({
    status: Schema.Int, code: Schema.String, message: Schema.String, retryAfterSeconds: Schema.NullOr(Schema.Int)
  }))
})
