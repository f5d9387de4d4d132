/** A conversation's body as a hook left it. Pure. */
import { PublicError } from "#schemas/errors.ts"
import { LARGE_BYTES, LARGE_CONTAINERS } from "#schemas/largeBodies.ts"
import type { ConversationCall } from "#src/inference/lane/stages/Stages.ts"
import * as JsonBounds from "#src/platform/structures/jsonBounds.ts"
import * as Json from "#src/wire/json/json.ts"

type Body = Readonly<Record<string, unknown>>

/** Who serves a request and how is decided without hooks: these members stay as they came, also where they are absent. */
const kept = ["model", "stream"] as const

const keeping = (from: Body, body: Body): Record<string, unknown> => {
  const own: Record<string, unknown> = {}
  for (const name of kept) if (Object.hasOwn(from, name)) own[name] = from[name]
  const { model: _model, stream: _stream, ...rest } = body
  return { ...own, ...rest }
}

/** The call with another body, or why no upstream could read it. `text`: the body as it was. */
export const changed = (call: ConversationCall, text: string, body: Body): ConversationCall | string => {
  const bytes = Buffer.from(JSON.stringify(keeping(Json.parseRecord(text) ?? {}, body)))
  const size = bytes.length > LARGE_BYTES ? null : JsonBounds.measure(bytes)
  if (size === null || "what" in size || size.containers > LARGE_CONTAINERS) return "its body is too large"
  const parsed = keeping(call.parsed, body)
  const head = call.codec.head(parsed)
  return head instanceof PublicError ? head.message : { ...call, body: bytes, parsed, head }
}
