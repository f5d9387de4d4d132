/** What a chat-completions body needs to be forwarded as it came: its head read, its model and usage wish edited by bytes. */
import type { PublicError } from "#schemas/errors.ts"
import * as Json from "#src/wire/json.ts"
import { invalid } from "#src/wire/neutral/settings.ts"
import type * as Splice from "#src/wire/splice.ts"
import type { Json as Body, RequestHead, TargetTraits } from "#src/wire/WireFormat.ts"

/**
 * Model, stream flag and usage wish. Called for every request, so it reads four fields by hand; what only the provider
 * understands is left to the provider.
 */
export const head = (body: Body): RequestHead | PublicError => {
  const { messages, model, stream } = body
  if (typeof model !== "string" || model === "") return invalid("model", "Field 'model' must be a non-empty string such as 'openai/gpt-4o-mini'.")
  if (!Array.isArray(messages) || messages.length === 0) return invalid("messages", "Field 'messages' must be a non-empty array.")
  for (let i = 0; i < messages.length; i++) {
    const message: unknown = messages[i]
    if (!Json.isRecord(message) || typeof message["role"] !== "string") {
      return invalid(`messages[${i}]`, `Field 'messages[${i}]' must be an object with a string 'role'.`)
    }
  }
  if (stream !== undefined && stream !== null && typeof stream !== "boolean") return invalid("stream", "Field 'stream' must be a boolean.")
  const options = body["stream_options"]
  const wanted = Json.isRecord(options) ? options["include_usage"] : undefined
  if ((options !== undefined && options !== null && !Json.isRecord(options)) || (wanted !== undefined && wanted !== null && typeof wanted !== "boolean")) {
    return invalid("stream_options", "Field 'stream_options' must be an object such as {\"include_usage\": true}.")
  }
  return { model, stream: stream === true, wantsUsage: wanted === true }
}

/** The target's model id, and usage asked for in every stream so that the ledger has it (decisions 10). */
export const passThroughEdits = (body: Body, traits: TargetTraits): ReadonlyArray<Splice.Edit> => {
  const edits: Array<Splice.Edit> = []
  if (body["model"] !== traits.model) edits.push({ key: "model", value: JSON.stringify(traits.model) })
  if (traits.stream && traits.streamOptions) {
    const given = body["stream_options"]
    if (!Json.isRecord(given)) edits.push({ key: "stream_options", value: '{"include_usage":true}' })
    else if (given["include_usage"] !== true) {
      edits.push({ key: "stream_options", value: JSON.stringify({ ...given, include_usage: true }) })
    }
  }
  return edits
}
