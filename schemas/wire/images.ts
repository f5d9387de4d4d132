/** `POST /v1/images/generations` (the vendor's public wire format): what a client may write; unknown fields are forwarded. */
import * as Schema from "effect/Schema"
import { ModelId } from "#schemas/wire/modelId.ts"

const maybe = <S extends Schema.Top>(schema: S) => Schema.optional(Schema.NullOr(schema))

export const Request = Schema.Struct({
  model: ModelId,
  prompt: Schema.NonEmptyString,
  /** How many images. */
  n: maybe(Schema.Int.check(Schema.isGreaterThanOrEqualTo(1)).check(Schema.isLessThanOrEqualTo(10))),
  size: maybe(Schema.String),
  quality: maybe(Schema.String),
  response_format: maybe(Schema.Literals(["url", "b64_json"]))
})
export interface Request extends Schema.Schema.Type<typeof Request> {}
