/** Requests that have a text spoken, in the vendor's public format. Pure. */
import type { PublicError } from "#schemas/errors.ts"
import type { Units } from "#schemas/records/Units.ts"
import * as Json from "#src/wire/json/json.ts"
import { invalid } from "#src/wire/neutral/settings.ts"
import * as OneShotJson from "#src/wire/oneShot/json.ts"
import type { OneShotCodec } from "#src/wire/oneShot/OneShotCodec.ts"
import type { RequestHead } from "#src/wire/WireFormat.ts"

type Body = Readonly<Record<string, unknown>>

const isAbsent = (value: unknown): boolean => value === undefined || value === null

/** A name, or a voice of the client's own by its id. */
const voiceRefusal = (voice: unknown): PublicError | null =>
  (typeof voice === "string" && voice !== "") || (Json.isRecord(voice) && typeof voice["id"] === "string")
    ? null
    : invalid("voice", "Field 'voice' is required: the name of a voice, or an object with its 'id'.")

const speedRefusal = (speed: unknown): PublicError | null =>
  isAbsent(speed) || (typeof speed === "number" && speed >= 0.25 && speed <= 4) ? null : invalid("speed", "Field 'speed' must be a number from 0.25 to 4.")

const formatRefusal = (body: Body): PublicError | null => {
  for (const name of ["response_format", "stream_format", "language", "instructions"] as const) {
    if (!isAbsent(body[name]) && typeof body[name] !== "string") return invalid(name, `Field '${name}' must be a string.`)
  }
  return null
}

/** Characters that are spoken. */
export const units = (_head: RequestHead, { input }: Body): Units => ({ character: typeof input === "string" ? [...input].length : 0 })

export const codec: OneShotCodec<RequestHead> = {
  head: (body) =>
    OneShotJson.modelRefusal(body["model"], "openai/gpt-4o-mini-tts") ?? OneShotJson.textRefusal(body, "input") ?? voiceRefusal(body["voice"]) ??
    speedRefusal(body["speed"]) ?? formatRefusal(body) ?? { model: body["model"] as string, stream: true, wantsUsage: false },
  encode: (_family, { bytes, model, parsed }) => ({ body: OneShotJson.named(bytes, parsed, model), omitted: OneShotJson.nothing, note: null }),
  // Speech comes as a stream of bytes: a document in its place is an error, or nothing that can be heard.
  read: (_family, bytes) => OneShotJson.errorOr(bytes, OneShotJson.recordOf(bytes)),
  readError: (_family, body) => OneShotJson.readError(body)
}
