/** Forms with audio to be written down, or translated to English, in the vendor's public format. Pure. */
import type { AnswerFacts } from "#actors/request/ports/Face.ts"
import * as Errors from "#schemas/errors.ts"
import { PublicError } from "#schemas/errors.ts"
import type { Units } from "#schemas/records/Units.ts"
import type { TargetFamily } from "#schemas/wire/formats.ts"
import * as Form from "#src/wire/form/Form.ts"
import type { Meter } from "#src/wire/form/Form.ts"
import type { PartHead } from "#src/wire/form/FormReader.ts"
import * as Json from "#src/wire/json/json.ts"
import { invalid } from "#src/wire/neutral/settings.ts"
import * as Job from "#src/wire/oneShot/job.ts"
import * as OneShotJson from "#src/wire/oneShot/oneShotJson.ts"
import type { Asked, Encoded, OneShotCodec, Sent } from "#src/wire/oneShot/OneShotCodec.ts"
import type { RequestHead } from "#src/wire/WireFormat.ts"
import { type Heard, type JobAsked, textOf } from "./AudioVendor.ts"
import * as Cues from "./cues.ts"
import { SoundLength } from "./soundLength.ts"
import { errorOf, vendorOf } from "./vendors.ts"

type Body = Readonly<Record<string, unknown>>

/** Longest time for one job, ms. */
const limitMs = 120_000

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

/** Seconds of the sent sound, where its header says them. */
const lengthOf = ({ form }: Sent): number | null => form === null ? null : Form.fileOf(form, "file")?.measured ?? null

/** Reads how long the sound is, while it passes. */
export const meterOf = ({ filename, name }: PartHead): Meter | null => name === "file" && filename !== null ? new SoundLength() : null

/** What is paid for unless the answer says otherwise. */
export const units = (_head: RequestHead, _body: Body, sent: Sent): Units | null => {
  const second = lengthOf(sent)
  return second === null ? null : { second }
}

/** What reading the answer needs. */
export interface Note {
  /** The format that the client wants. */
  readonly format: string
  /** The sent sound says how long it is. */
  readonly isMeasured: boolean
  /** Of a vendor that answers with jobs. */
  readonly asked?: JobAsked
}

/** A text says no seconds, and subtitles end with the last word: the header of the sound knows its whole length. */
const unitsOfText = (text: string, { format, isMeasured }: Note): Units | null => {
  const second = isMeasured || format === "text" ? null : Cues.endOf(text)
  return second === null ? null : { second }
}

/** Texts are not marked as such: a page, or JSON of a server that knows no other answer, may stand in their place. */
const readText = (bytes: Uint8Array, note: Note): AnswerFacts | null => {
  const start = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, longestMark)).toString("latin1").trimStart()
  if (/^<(?:!doctype html|html)\b/i.test(start)) return null
  const parsed = start.startsWith("{") ? OneShotJson.recordOf(bytes) : null
  if (parsed === null) {
    const text = note.format === "text" ? "" : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8")
    return { ...OneShotJson.answered(bytes, { usage: null, units: unitsOfText(text, note) }), contentType: textType }
  }
  const { text } = parsed
  if (note.format !== "text" || typeof text !== "string") return OneShotJson.errorOr(bytes, parsed)
  return { ...OneShotJson.answered(Buffer.from(`${text}\n`), { usage: OneShotJson.usageIn(parsed), units: unitsIn(parsed) }), contentType: textType }
}

/** Bytes of a text that say what it is. */
const longestMark = 64

const read = (bytes: Uint8Array, note: Note): AnswerFacts | null => {
  if (texts.has(note.format)) return readText(bytes, note)
  const parsed = OneShotJson.recordOf(bytes)
  return parsed !== null && typeof parsed["text"] === "string"
    ? OneShotJson.answered(bytes, { usage: OneShotJson.usageIn(parsed), units: unitsIn(parsed) })
    : OneShotJson.errorOr(bytes, parsed)
}

const noteOf = (asked: Asked): Note => ({
  format: typeof asked.parsed["response_format"] === "string" ? asked.parsed["response_format"] : "json", isMeasured: lengthOf(asked) !== null
})

/** A vendor's transcription in the format that the client wants. */
const written = ({ language, seconds, text, words }: Heard, { format, isMeasured }: Note): AnswerFacts => {
  const end = words.at(-1)?.end ?? null
  const paid = seconds ?? (isMeasured ? null : end)
  const facts = { usage: null, units: paid === null ? null : { second: paid } }
  if (format === "srt" || format === "vtt") return { ...OneShotJson.answered(Buffer.from(Cues.write(format, words)), facts), contentType: textType }
  if (format === "text") return { ...OneShotJson.answered(Buffer.from(`${text}\n`), facts), contentType: textType }
  const duration = seconds ?? end
  return OneShotJson.answered(Buffer.from(JSON.stringify({
    text, task: "transcribe", ...language === null ? {} : { language }, ...duration === null ? {} : { duration },
    ...format === "verbose_json"
      ? {
        segments: Cues.segmentsOf(words).map(({ end, start, text: said }, id) => ({ id, start, end, text: said })),
        words: words.map(({ end, start, text: word }) => ({ word, start, end }))
      }
      : {}
  })), facts)
}

const readHeard = (family: TargetFamily, bytes: Uint8Array, note: Note): AnswerFacts | null => {
  const vendor = vendorOf(family)
  const parsed = OneShotJson.recordOf(bytes)
  if (vendor === null || parsed === null) return null
  const error = vendor.error(parsed)
  if (error !== null) return { usage: null, error, body: bytes, outputText: () => "" }
  const heard = vendor.heard(parsed)
  return heard === null ? OneShotJson.errorOr(bytes, parsed) : written(heard, note)
}

/** What the clients' format says and no vendor's other one does. */
const refusalOfVendor = ({ response_format: format, stream }: Body): PublicError | null =>
  isTrue(stream) ? invalid("stream", "This model answers with whole transcriptions only.")
    : format === "diarized_json" ? invalid("response_format", "This model does not answer in 'diarized_json'.") : null

const encoded = (family: TargetFamily, asked: Asked): Encoded<Note> | PublicError => {
  const { form, model, parsed } = asked
  if (form === null) return Errors.make("unsupported_media_type", "Audio is sent as multipart/form-data.")
  const vendor = vendorOf(family)
  if (vendor === null) return { body: Form.withFields(form, { model }), contentType: Form.contentTypeOf(form), omitted: OneShotJson.nothing, note: noteOf(asked) }
  const made = refusalOfVendor(parsed) ?? vendor.transcription(asked)
  if (made instanceof PublicError) return made
  const note = noteOf(asked)
  return { ...made, note: vendor.stateOf === undefined ? note : { ...note, asked: { model, language: textOf(parsed["language"]), prompt: textOf(parsed["prompt"]) } } }
}

export const codec: OneShotCodec<RequestHead, Note> = {
  head,
  encode: encoded,
  read: (family, bytes, { note }) => vendorOf(family) === null ? read(bytes, note) : readHeard(family, bytes, note),
  readError: (family, body) => errorOf(family, body),
  pollOf: (family, reply, { note: { asked } }) => {
    const stateOf = vendorOf(family)?.stateOf
    return stateOf === undefined || asked === undefined ? null : Job.next(reply, "transcription", limitMs, (state) => stateOf(state, reply.polls, asked))
  }
}
