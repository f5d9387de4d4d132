/** Moderations in the vendor's public format, which all servers of them share. Pure. */
import type { PublicError } from "#schemas/errors.ts"
import { invalid } from "#src/wire/neutral/settings.ts"
import * as OneShotJson from "#src/wire/oneShot/oneShotJson.ts"
import type { OneShotCodec } from "#src/wire/oneShot/OneShotCodec.ts"
import * as Json from "#src/wire/json/json.ts"
import type { RequestHead } from "#src/wire/WireFormat.ts"

/** What is asked when the client names no model. */
const usualModel = "omni-moderation-latest"

const inputRefusal = (input: unknown): PublicError | null => {
  const message = "Field 'input' is required: a text, a list of texts, or a list of parts with text and image_url."
  if (typeof input === "string") return null
  if (!Array.isArray(input) || input.length === 0) return invalid("input", message)
  return input.every((one) => typeof one === "string") || input.every((one) => Json.isRecord(one) && typeof one["type"] === "string") ? null : invalid("input", message)
}

export const codec: OneShotCodec<RequestHead> = {
  head: ({ input, model = usualModel }) => {
    const refusal = OneShotJson.modelRefusal(model, `openai/${usualModel}`) ?? inputRefusal(input)
    return refusal ?? { model: model as string, stream: false, wantsUsage: false }
  },
  encode: (_family, { bytes, model, parsed }) => ({ body: OneShotJson.named(bytes, parsed, model), omitted: OneShotJson.nothing, note: null }),
  read: (_family, bytes) => {
    const parsed = OneShotJson.recordOf(bytes)
    return parsed !== null && Array.isArray(parsed["results"]) ? OneShotJson.answered(bytes, { usage: OneShotJson.usageIn(parsed), units: null }) : OneShotJson.errorOr(bytes, parsed)
  },
  readError: (_family, body) => OneShotJson.readError(body)
}
