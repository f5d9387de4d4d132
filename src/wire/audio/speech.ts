/** Requests that have a text spoken, in the vendor's public format. Pure. */
import { PublicError } from "#schemas/errors.ts"
import type { Units } from "#schemas/records/Units.ts"
import * as Json from "#src/wire/json/json.ts"
import { invalid } from "#src/wire/neutral/settings.ts"
import * as OneShotJson from "#src/wire/oneShot/oneShotJson.ts"
import type { OneShotCodec } from "#src/wire/oneShot/OneShotCodec.ts"
import type { RequestHead } from "#src/wire/WireFormat.ts"
import { errorOf, vendorOf } from "./vendors.ts"

type Body = Readonly<Record<string, unknown>>

const isAbsent = (value: unknown): boolean => value === undefined || value === null

/** Longest name of a voice, characters. */
const longestVoice = 512

/** A name, or a voice of the client's own by its id. It may stand in a path, where dots alone mean another one. */
const voiceRefusal = (voice: unknown): PublicError | null => {
  const name = Json.isRecord(voice) ? voice["id"] : voice
  return typeof name === "string" && name !== "" && name.length <= longestVoice && !/^\.+$/.test(name)
    ? null
    : invalid("voice", "Field 'voice' is required: the name of a voice, or an object with its 'id'.")
}

const speedRefusal = (speed: unknown): PublicError | null =>
  isAbsent(speed) || (typeof speed === "number" && speed >= 0.25 && speed <= 4) ? null : invalid("speed", "Field 'speed' must be a number from 0.25 to 4.")

const formatRefusal = (body: Body): PublicError | null => {
  for (const name of ["response_format", "stream_format", "language", "instructions"] as const) {
    if (!isAbsent(body[name]) && typeof body[name] !== "string") return invalid(name, `Field '${name}' must be a string.`)
  }
  return null
}

const asksEvents = ({ stream_format: format }: Body): boolean => typeof format === "string" && format.toLowerCase() === "sse"

/** Vendors of other formats send the sound itself, in which a reader of events finds nothing. */
const eventsRefusal = (body: Body): PublicError | null =>
  asksEvents(body) ? invalid("stream_format", "This model sends the sound alone: set 'stream_format' to 'audio'.") : null

/** Characters that are spoken. */
export const unitsOf = ({ input }: Body): Units => ({ character: typeof input === "string" ? [...input].length : 0 })

export const units = (_head: RequestHead, body: Body): Units => unitsOf(body)

export const codec: OneShotCodec<RequestHead> = {
  head: (body) =>
    OneShotJson.modelRefusal(body["model"], "openai/gpt-4o-mini-tts") ?? OneShotJson.textRefusal(body, "input") ?? voiceRefusal(body["voice"]) ??
    speedRefusal(body["speed"]) ?? formatRefusal(body) ?? { model: body["model"] as string, stream: true, wantsUsage: false, isFile: !asksEvents(body) },
  units: unitsOf,
  encode: (family, asked) => {
    const vendor = vendorOf(family)
    const made = (vendor === null ? null : eventsRefusal(asked.parsed) ?? vendor.speech(asked)) ?? { body: OneShotJson.named(asked.bytes, asked.parsed, asked.model), omitted: OneShotJson.nothing }
    return made instanceof PublicError ? made : { ...made, note: null }
  },
  // Speech comes as a stream of bytes: a document in its place is an error, or nothing that can be heard.
  read: (family, bytes) => {
    const parsed = OneShotJson.recordOf(bytes)
    const error = parsed === null ? null : vendorOf(family)?.error(parsed) ?? null
    return error === null ? OneShotJson.errorOr(bytes, parsed) : { usage: null, error, body: bytes, outputText: () => "" }
  },
  readError: (family, body) => errorOf(family, body)
}
