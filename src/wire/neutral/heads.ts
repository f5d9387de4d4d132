/** The beginning of a request that formats with `messages` share; called for every request, so it reads by hand. */
import type { PublicError } from "#schemas/errors.ts"
import { LONGEST_MODEL_ID } from "#schemas/wire/modelId.ts"
import * as Json from "#src/wire/json/json.ts"
import { invalid } from "#src/wire/neutral/settings.ts"
import type { Json as Body } from "#src/wire/WireFormat.ts"

const longModel = invalid("model", `Field 'model' must have at most ${LONGEST_MODEL_ID} characters: call a longer id by an alias or a combo.`)

/** Why the model id is refused, whatever the format; null for one that may be looked up. */
export const modelRefusal = (model: string): PublicError | null => model.length > LONGEST_MODEL_ID ? longModel : null

/** Model and stream flag (null when not said); `example` is a model id the format's users know. */
export const ofMessages = (body: Body, example: string): { readonly model: string; readonly stream: boolean | null } | PublicError => {
  const { messages, model, stream } = body
  if (typeof model !== "string" || model === "") return invalid("model", `Field 'model' must be a non-empty string such as '${example}'.`)
  if (!Array.isArray(messages) || messages.length === 0) return invalid("messages", "Field 'messages' must be a non-empty array.")
  for (let i = 0; i < messages.length; i++) {
    const message: unknown = messages[i]
    if (!Json.isRecord(message) || typeof message["role"] !== "string") {
      return invalid(`messages[${i}]`, `Field 'messages[${i}]' must be an object with a string 'role'.`)
    }
  }
  if (stream !== undefined && stream !== null && typeof stream !== "boolean") return invalid("stream", "Field 'stream' must be a boolean.")
  return { model, stream: stream ?? null }
}
