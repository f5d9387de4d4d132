/** What a gateway hands on to another: its declarations without secrets, and the version by which they are known again. Pure. */
import * as Crypto from "node:crypto"
import * as Schema from "effect/Schema"
import * as JsonBounds from "#src/platform/structures/jsonBounds.ts"
import { ordered } from "#src/wire/json/ordered.ts"

type Json = Schema.Json

/** Grows when the form of the bundle changes. */
export const FORM = 1

export const Bundle = Schema.Struct({
  form: Schema.Literal(FORM),
  /** SHA-256 of the other members, hex. */
  version: Schema.String.check(Schema.isPattern(/^[0-9a-f]{64}$/)),
  /** The sections of a configuration file; a variable stands where a secret belongs. */
  config: Schema.Record(Schema.String, Schema.Json),
  variables: Schema.Array(Schema.Struct({ name: Schema.String, path: Schema.String })),
  leftOut: Schema.Array(Schema.Struct({ kind: Schema.String, name: Schema.String, why: Schema.String }))
})
export interface Bundle extends Schema.Schema.Type<typeof Bundle> {}

const digest = (text: string): string => Crypto.hash("sha256", text, "hex")

/** The same declarations make the same text, byte for byte. */
export const make = (declared: Pick<Bundle, "config" | "variables" | "leftOut">): { readonly version: string; readonly text: string } => {
  const { config, leftOut, variables } = declared
  // Stores keep JSON in the order in which it was sent.
  const body = ordered({ form: FORM, config, leftOut: [...leftOut], variables: [...variables] }) as Readonly<Record<string, Json>>
  const version = digest(JSON.stringify(body))
  return { version, text: JSON.stringify({ version, ...body }) }
}

const decode = Schema.decodeUnknownOption(Schema.fromJsonString(Bundle))

/** Null for a text that is no bundle of this form, or holds more than may be parsed. */
export const read = (text: string): Bundle | null => {
  if (JsonBounds.scan(Buffer.from(text)) !== null) return null
  const found = decode(text)
  return found._tag === "Some" ? found.value : null
}
