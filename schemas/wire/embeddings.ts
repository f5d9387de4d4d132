/** `POST /v1/embeddings` (the vendor's public wire format): what a client may write; unknown fields are forwarded. */
import * as Schema from "effect/Schema"
import { ModelId } from "#schemas/wire/modelId.ts"

const maybe = <S extends Schema.Top>(schema: S) => Schema.optional(Schema.NullOr(schema))
const Token = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

/** `{type, text}` or `{type, source}`; of one vendor's models `{text}`, `{image}`, `{audio}`, `{video}`, `{pdf}` or `{content}`. */
const Item = Schema.Record(Schema.String, Schema.Unknown)

export const Request = Schema.Struct({
  model: ModelId,
  /** A text, texts, tokens, lists of tokens, or up to 32 structured items: one vector comes back for each item at the top. */
  input: Schema.Union([Schema.String, Schema.Array(Schema.Union([Schema.String, Token, Schema.Array(Token), Item])).check(Schema.isMinLength(1))]),
  encoding_format: maybe(Schema.Literals(["float", "base64"])),
  dimensions: maybe(Schema.Int.check(Schema.isGreaterThanOrEqualTo(1))),
  user: maybe(Schema.String)
})
export interface Request extends Schema.Schema.Type<typeof Request> {}
