/**
 * The format of ElevenLabs (https://elevenlabs.io/docs/api-reference): the voice stands in the path, the format of the sound in the query;
 * transcriptions are forms with fields of other names.
 */
import type { UpstreamErrorBody } from "#actors/request/ports/Face.ts"
import * as Errors from "#schemas/errors.ts"
import * as Form from "#src/wire/form/Form.ts"
import * as Json from "#src/wire/json/json.ts"
import { invalid } from "#src/wire/neutral/settings.ts"
import { type AudioVendor, omitted, textOf, voiceOf, wordsOf } from "./AudioVendor.ts"

/** The vendor's names of the formats that it makes. */
const formats: Readonly<Record<string, string>> = { mp3: "mp3_44100_128", opus: "opus_48000_128", pcm: "pcm_24000", wav: "wav_24000" }

const formatOf = (wanted: unknown): string | undefined => Json.ownValue(formats, textOf(wanted) ?? "mp3")

const spoken: ReadonlySet<string> = new Set(["model", "input", "voice", "response_format", "language", "speed", "voice_settings", "seed", "previous_text", "next_text"])

/** Fields of the clients' format that the vendor's forms do not have. */
const renamed: ReadonlyArray<string> = ["model", "language", "response_format", "stream", "prompt", "timestamp_granularities", "timestamp_granularities[]", "include", "include[]", "chunking_strategy"]
const unsaid: ReadonlyArray<string> = ["prompt", "include", "chunking_strategy"]

const error = ({ detail }: Readonly<Record<string, unknown>>): UpstreamErrorBody | null => {
  const said: unknown = Array.isArray(detail) ? detail[0] : detail
  if (!Json.isRecord(said)) return null
  const message = textOf(said["message"]) ?? textOf(said["msg"])
  return message === null ? null : { message, type: null, code: textOf(said["code"]) ?? textOf(said["status"]), status: null }
}

export const elevenLabs: AudioVendor = {
  speechPath: (path, _model, body) => `${path}/${encodeURIComponent(voiceOf(body))}?output_format=${formatOf(body["response_format"]) ?? ""}`,
  speech: ({ model, parsed }) => {
    const { input, language, speed, voice_settings: settings, ...others } = parsed
    if (formatOf(parsed["response_format"]) === undefined) return invalid("response_format", `This model makes ${Object.keys(formats).join(", ")} only.`)
    const own = Json.isRecord(settings) ? settings : {}
    const voice = typeof speed === "number" ? { ...own, speed } : own
    const body = {
      ...Object.fromEntries(["seed", "previous_text", "next_text"].flatMap((name) => others[name] === undefined ? [] : [[name, others[name]]])),
      text: input, model_id: model, ...textOf(language) === null ? {} : { language_code: language }, ...Object.keys(voice).length === 0 ? {} : { voice_settings: voice }
    }
    return { body: Buffer.from(JSON.stringify(body)), omitted: omitted(parsed, spoken) }
  },
  transcriptionPath: (path) => path,
  transcription: ({ form, model, parsed }) => {
    if (form === null) return Errors.make("unsupported_media_type", "Audio is sent as multipart/form-data.")
    const body = Form.withFields(form, {
      ...Object.fromEntries(renamed.map((name) => [name, null])), model_id: model, language_code: textOf(parsed["language"]), timestamps_granularity: "word"
    })
    return { body, contentType: Form.contentTypeOf(form), omitted: unsaid.filter((name) => parsed[name] !== undefined) }
  },
  heard: ({ audio_duration_secs: seconds, language_code: language, text, words }) => typeof text === "string"
    ? { text, language: textOf(language), seconds: typeof seconds === "number" && seconds >= 0 ? seconds : null, words: wordsOf(words, "text") }
    : null,
  error
}
