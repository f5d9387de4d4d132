/** Forms with audio to be written down, or translated to English, in the vendor's public format. Pure. */
import type { AnswerFacts } from "#actors/request/ports/Face.ts"
import * as Errors from "#schemas/errors.ts"
import type { PublicError } from "#schemas/errors.ts"
import type { Units } from "#schemas/records/Units.ts"
import * as Form from "#src/wire/form/Form.ts"
import * as Json from "#src/wire/json/json.ts"
import { invalid } from "#src/wire/neutral/settings.ts"
import * as OneShotJson from "#src/wire/oneShot/json.ts"
import type { OneShotCodec } from "#src/wire/oneShot/OneShotCodec.ts"
import type { RequestHead } from "#src/wire/WireFormat.ts"

type Body = Readonly<Record<string, unknown>>

/** Answers that are no JSON. */
const texts: ReadonlySet<string> = new Set(["text", "srt", "vtt"])
const formats: ReadonlyArray<string> = ["json", "text", "srt", "verbose_json", "vtt", "diarized_json"]

const fileRefusal = (file: unknown): PublicError | null => {
  if (!Form.isFile(file)) return invalid("file", "Field 'file' is required: one audio file with a file name.")
  if (file.bytes === 0) return invalid("file", "Field 'file' is empty.")
  const type = file.contentType ?? ""
  // Only what is surely no sound: clients name types in many ways.
  return /^(?:image|text)\//i.test(type) || /^application\/(?:json|pdf|zip)/i.test(type) ? invalid("file", `Field 'file' is ${type.slice(0, 60)} and no audio.`) : null
}

const formatRefusal = (format: unknown): PublicError | null =>
  format === undefined || (typeof format === "string" && formats.includes(format)) ? null : invalid("response_format", `Field 'response_format' must be one of ${formats.join(", ")}.`)

const temperatureRefusal = (temperature: unknown): PublicError | null =>
  temperature === undefined || (typeof temperature === "string" && temperature.trim() !== "" && Number.isFinite(Number(temperature)))
    ? null
    : invalid("temperature", "Field 'temperature' must be a number.")

const head = (body: Body): RequestHead | PublicError =>
  OneShotJson.modelRefusal(body["model"], "openai/whisper-1") ?? fileRefusal(body["file"]) ?? formatRefusal(body["response_format"]) ??
  temperatureRefusal(body["temperature"]) ?? { model: body["model"] as string, stream: isTrue(body["stream"]), wantsUsage: false }

/** Clients write a truth of a form in many ways, and servers read them all. */
const isTrue = (value: unknown): boolean => typeof value === "string" && /^(?:true|1|yes|on)$/i.test(value.trim())

const numberAt = (record: unknown, name: string): number | null =>
  Json.isRecord(record) && typeof record[name] === "number" && record[name] >= 0 ? record[name] : null

/** Seconds of sound, where the server says them. */
const unitsIn = (parsed: Body): Units | null => {
  const second = numberAt(parsed["usage"], "seconds") ?? numberAt(parsed, "duration")
  return second === null ? null : { second }
}

const textType = "text/plain; charset=utf-8"

/** Texts are not marked as such: a page, or JSON of a server that knows no other answer, may stand in their place. */
const readText = (bytes: Uint8Array, note: string): AnswerFacts | null => {
  const start = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, longestMark)).toString("latin1").trimStart()
  if (/^<(?:!doctype html|html)\b/i.test(start)) return null
  const parsed = start.startsWith("{") ? OneShotJson.recordOf(bytes) : null
  if (parsed === null) return { ...OneShotJson.answered(bytes, { usage: null, units: null }), contentType: textType }
  const { text } = parsed
  if (note !== "text" || typeof text !== "string") return OneShotJson.errorOr(bytes, parsed)
  return { ...OneShotJson.answered(Buffer.from(`${text}\n`), { usage: OneShotJson.usageIn(parsed), units: unitsIn(parsed) }), contentType: textType }
}

/** Bytes of a text that say what it is. */
const longestMark = 64

/** `note`: the format that the client wants. */
const read = (bytes: Uint8Array, note: string): AnswerFacts | null => {
  if (texts.has(note)) return readText(bytes, note)
  const parsed = OneShotJson.recordOf(bytes)
  return parsed !== null && typeof parsed["text"] === "string"
    ? OneShotJson.answered(bytes, { usage: OneShotJson.usageIn(parsed), units: unitsIn(parsed) })
    : OneShotJson.errorOr(bytes, parsed)
}

export const codec: OneShotCodec<RequestHead, string> = {
  head,
  encode: (_family, { bytes, form, model, parsed }) => form === null
    ? Errors.make("unsupported_media_type", "Audio is sent as multipart/form-data.")
    : {
      body: Form.withFields(bytes, form, { model }), contentType: Form.contentTypeOf(form), omitted: OneShotJson.nothing,
      note: typeof parsed["response_format"] === "string" ? parsed["response_format"] : "json"
    },
  read: (_family, bytes, { note }) => read(bytes, note),
  readError: (_family, body) => OneShotJson.readError(body)
}
