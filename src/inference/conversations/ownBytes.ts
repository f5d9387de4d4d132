/** Bodies that leave in the format they came in: the client's bytes with a few members changed. */
import type { Target } from "#actors/request/ports/Target.ts"
import { PublicError } from "#schemas/errors.ts"
import type { Prompt } from "#src/inference/lane/bodies/Prompt.ts"
import * as BodyRules from "#src/providers/bodyRules.ts"
import type { Conversation, FormatName } from "#schemas/wire/conversation.ts"
import type { ModelCompat } from "#schemas/words/ModelFormats.ts"
import * as Compat from "#src/wire/compat/compat.ts"
import * as Preset from "#src/wire/compat/preset.ts"
import * as Formats from "#src/wire/formats.ts"
import * as Json from "#src/wire/json/json.ts"
import * as Payload from "#src/wire/json/payload.ts"
import * as Splice from "#src/wire/json/splice.ts"
import * as SystemTransforms from "./words/systemTransforms.ts"

/** The body as it was sent. */
export const sentOf = ({ body }: Prompt): Readonly<Record<string, unknown>> => Json.parseRecord(body.toString("utf8")) ?? {}

/** What bytes that were written here say. */
export const recordOf = (body: Uint8Array): Readonly<Record<string, unknown>> | null => Json.parseRecord(Buffer.from(body).toString("utf8"))

/** What an answer repeats of its request. */
export const repeatedOf = (name: FormatName, { names, parsed }: Prompt): Readonly<Record<string, unknown>> => {
  const said = Formats.repeatedOf(name, parsed)
  return names === null ? said : { ...said, ...names }
}

/** Written anew, with the edits. A member whose name changes is left out under its own (`undefined` is not written). */
export const jsonOf = (body: Readonly<Record<string, unknown>>, edits: ReadonlyArray<Splice.Edit>): Buffer =>
  Buffer.from(JSON.stringify({
    ...body,
    ...Object.fromEntries(edits.flatMap(({ as, key, value }) => [...as === undefined ? [] : [[key, undefined]], [as ?? key, JSON.parse(value) as unknown]]))
  }))

/**
 * What the target's provider needs beyond its format, what operators say of its model and of its instructions, then what their rules say;
 * nearly every target needs nothing. `face`: the client's format.
 */
export const ruled = (target: Target, face: FormatName, body: Uint8Array | PublicError): Uint8Array | PublicError => {
  if (body instanceof PublicError) return body
  const { bodyRules, compat, payload, transforms } = target
  const provided = bodyRules === null || bodyRules === undefined ? body : BodyRules.apply(bodyRules, body)
  const fit = compat === null || compat === undefined ? provided : compatible(compat, target, face, provided)
  const instructed = transforms === null || transforms === undefined ? fit : SystemTransforms.apply(transforms, Formats.family(target.wireFormat).name, fit)
  return payload === null || payload === undefined ? instructed : Payload.apply(payload, instructed)
}

/** With what the target's operator says where the client says nothing; a body in the client's own format is told in its bytes. */
export const preset = ({ compat, wireFormat }: Target, face: FormatName, conversation: Conversation): Conversation =>
  compat === null || compat === undefined || compat.preset === null || Formats.isSame(face, wireFormat) ? conversation : Preset.ofConversation(compat.preset, conversation)

const compatible = (compat: ModelCompat, { model, thinking, wireFormat }: Target, face: FormatName, body: Uint8Array): Uint8Array =>
  Compat.apply(compat, { model, thinking, family: Formats.family(wireFormat).name, isOwn: Formats.isSame(face, wireFormat) }, body)

/** The body with these edits: of the client's bytes where they can be edited in place, else written anew. */
export const splice = (prompt: Prompt, edits: ReadonlyArray<Splice.Edit>): Uint8Array =>
  Splice.edit(prompt.body, prompt.parsed, edits) ?? jsonOf(sentOf(prompt), edits)
