/** What a chat-completions body needs to be forwarded as it came: its head read, its model and usage wish edited by bytes. */
import { PublicError } from "#schemas/errors.ts"
import * as Json from "#src/wire/json/json.ts"
import { invalid } from "#src/wire/neutral/settings.ts"
import type * as Splice from "#src/wire/json/splice.ts"
import type { Json as Body, RequestHead, TargetTraits } from "#src/wire/WireFormat.ts"
import { wantsNewLimit } from "#src/wire/chatCompletions/models.ts"
import * as Heads from "#src/wire/neutral/heads.ts"

/**
 * Model, stream flag and usage wish. Called for every request, so it reads four fields by hand; what only the provider
 * understands is left to the provider.
 */
export const head = (body: Body): RequestHead | PublicError => {
  const said = Heads.ofMessages(body, "openai/gpt-4o-mini")
  if (said instanceof PublicError) return said
  const options = body["stream_options"]
  const wanted = Json.isRecord(options) ? options["include_usage"] : undefined
  if ((options !== undefined && options !== null && !Json.isRecord(options)) || (wanted !== undefined && wanted !== null && typeof wanted !== "boolean")) {
    return invalid("stream_options", "Field 'stream_options' must be an object such as {\"include_usage\": true}.")
  }
  return { model: said.model, stream: said.stream === true, wantsUsage: wanted === true }
}

/** The target's model id, the cap under the name that the model takes, and usage asked for in every stream so that the ledger has it. */
export const passThroughEdits = (body: Body, traits: TargetTraits): ReadonlyArray<Splice.Edit> => {
  const named = body["model"] === traits.model ? none : modelEdits(traits.model)
  const model = body["max_tokens"] === undefined ? named : withCap(named, body, traits.model)
  if (!traits.stream || !traits.streamOptions) return model
  const given = body["stream_options"]
  if (!Json.isRecord(given)) return [...model, { key: "stream_options", value: '{"include_usage":true}' }]
  return given["include_usage"] === true ? model : [...model, { key: "stream_options", value: JSON.stringify({ ...given, include_usage: true }) }]
}

/** Older clients cap the answer by a name that the vendor's newer models refuse. Who says both names is told so by the upstream. */
const withCap = (edits: ReadonlyArray<Splice.Edit>, body: Body, model: string): ReadonlyArray<Splice.Edit> => {
  const cap = body["max_tokens"]
  return typeof cap === "number" && body["max_completion_tokens"] === undefined && wantsNewLimit(model)
    ? [...edits, { key: "max_tokens", as: "max_completion_tokens", value: String(cap) }]
    : edits
}

const none: ReadonlyArray<Splice.Edit> = []

/** Edits of the models that are asked, which are few. */
const edits = new Map<string, ReadonlyArray<Splice.Edit>>()
const keptEdits = 1_000

const modelEdits = (model: string): ReadonlyArray<Splice.Edit> => {
  const known = edits.get(model)
  if (known !== undefined) return known
  const made = [{ key: "model", value: JSON.stringify(model) }]
  if (edits.size < keptEdits) edits.set(model, made)
  return made
}
