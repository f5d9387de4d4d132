/** `POST /v1/completions`, the legacy text completion (the vendor's public wire format): what a client may write; unknown fields pass. */
import * as Schema from "effect/Schema"

const maybe = <S extends Schema.Top>(schema: S) => Schema.optional(Schema.NullOr(schema))

export const Request = Schema.Struct({
  model: Schema.NonEmptyString,
  /** A text, or texts; the vendor also takes token numbers, which mean nothing to another tokenizer. */
  prompt: Schema.Union([Schema.String, Schema.Array(Schema.Union([Schema.String, Schema.Int, Schema.Array(Schema.Int)]))]),
  suffix: maybe(Schema.String),
  max_tokens: maybe(Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))),
  temperature: maybe(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 2 }))),
  top_p: maybe(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))),
  n: maybe(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 128 }))),
  stream: maybe(Schema.Boolean),
  stream_options: maybe(Schema.Struct({ include_usage: maybe(Schema.Boolean) })),
  /** How many of the likeliest tokens to report at each place. */
  logprobs: maybe(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 5 }))),
  echo: maybe(Schema.Boolean),
  stop: maybe(Schema.Union([Schema.String, Schema.Array(Schema.String)])),
  presence_penalty: maybe(Schema.Finite.check(Schema.isBetween({ minimum: -2, maximum: 2 }))),
  frequency_penalty: maybe(Schema.Finite.check(Schema.isBetween({ minimum: -2, maximum: 2 }))),
  best_of: maybe(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 20 }))),
  logit_bias: maybe(Schema.Record(Schema.String, Schema.Finite)),
  user: maybe(Schema.String),
  seed: maybe(Schema.Int)
})
export interface Request extends Schema.Schema.Type<typeof Request> {}
