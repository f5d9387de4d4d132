/**
 * The format of Deepgram (https://developers.deepgram.com/reference): all settings stand in the query, a voice is a model, and a sound that
 * is to be written down is the body itself.
 */
import type { UpstreamErrorBody } from "#actors/request/ports/Face.ts"
import * as Errors from "#schemas/errors.ts"
import * as Form from "#src/wire/form/Form.ts"
import * as Json from "#src/wire/json/json.ts"
import { invalid } from "#src/wire/neutral/settings.ts"
import { type AudioVendor, omitted, textOf, wordsOf } from "./AudioVendor.ts"

/** The vendor's words for the formats that it makes. */
const formats: Readonly<Record<string, string>> = {
  mp3: "encoding=mp3", opus: "encoding=opus", aac: "encoding=aac", flac: "encoding=flac", wav: "encoding=linear16&container=wav", pcm: "encoding=linear16&container=none&sample_rate=24000"
}

const formatOf = (wanted: unknown): string | undefined => Json.ownValue(formats, textOf(wanted) ?? "mp3")

const spoken: ReadonlySet<string> = new Set(["model", "input", "response_format"])
const written: ReadonlySet<string> = new Set(["model", "file", "language", "response_format", "timestamp_granularities", "stream"])

const error = (body: Readonly<Record<string, unknown>>): UpstreamErrorBody | null => {
  const { category, details, err_code: code, err_msg: said, message, request_id: id } = body
  const requestId = textOf(id)
  const own = textOf(said)
  const text = own ?? ((category !== undefined || code !== undefined) && textOf(message) !== null ? [message, details].filter((one) => textOf(one) !== null).join(" ") : null)
  return text === null ? null : { message: text, type: null, code: textOf(code) ?? textOf(category), status: null, ...requestId === null ? {} : { requestId } }
}

/** A record in a list, or under a name. */
const at = (value: unknown, ...path: ReadonlyArray<string | number>): unknown =>
  path.reduce((found: unknown, step) => typeof step === "number" ? Array.isArray(found) ? found[step] : undefined : Json.isRecord(found) ? found[step] : undefined, value)

export const deepgram: AudioVendor = {
  speechPath: (path, model, body) => `${path}?model=${encodeURIComponent(model)}&${formatOf(body["response_format"]) ?? ""}`,
  speech: ({ parsed }) => formatOf(parsed["response_format"]) === undefined
    ? invalid("response_format", `This model makes ${Object.keys(formats).join(", ")} only.`)
    : { body: Buffer.from(JSON.stringify({ text: parsed["input"] })), omitted: omitted(parsed, spoken) },
  transcriptionPath: (path, model, body) => {
    const language = textOf(body["language"])
    return `${path}?model=${encodeURIComponent(model)}&smart_format=true&${language === null ? "detect_language=true" : `language=${encodeURIComponent(language)}`}`
  },
  transcription: (asked) => {
    const file = asked.form === null ? null : Form.fileOf(asked.form, "file")
    return file === null
      ? Errors.make("unsupported_media_type", "Audio is sent as multipart/form-data.")
      : { body: Form.bodyOf(file), contentType: /^[\w.+-]+\/[\w.+-]+$/.test(file.contentType ?? "") ? file.contentType as string : "application/octet-stream", omitted: omitted(asked.parsed, written) }
  },
  heard: (answer) => {
    const channel = at(answer, "results", "channels", 0)
    const text = at(channel, "alternatives", 0, "transcript")
    const seconds = at(answer, "metadata", "duration")
    return typeof text === "string"
      ? { text, language: textOf(at(channel, "detected_language")), seconds: typeof seconds === "number" && seconds >= 0 ? seconds : null, words: wordsOf(at(channel, "alternatives", 0, "words"), "word") }
      : null
  },
  error
}
