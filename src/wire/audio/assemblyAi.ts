/**
 * The format of AssemblyAI (https://www.assemblyai.com/docs/api-reference): the sound is sent first, then a job is ordered for it, which is
 * asked for until it is over. The vendor makes no speech.
 */
import type { UpstreamErrorBody } from "#actors/request/ports/Face.ts"
import * as Errors from "#schemas/errors.ts"
import * as Form from "#src/wire/form/Form.ts"
import * as Job from "#src/wire/oneShot/job.ts"
import { type AudioVendor, omitted, textOf, wordsOf } from "./AudioVendor.ts"

const understood: ReadonlySet<string> = new Set(["model", "file", "language", "prompt", "response_format", "timestamp_granularities", "stream"])

/** Times of words are told in ms. */
const perSecond = 1_000

const error = ({ error: said, message }: Readonly<Record<string, unknown>>): UpstreamErrorBody | null => {
  const text = textOf(said) ?? (said === undefined ? null : textOf(message))
  return text === null ? null : { message: text, type: null, code: null, status: null }
}

const noSpeech = Errors.make("bad_request", "This provider makes no speech.")

export const assemblyAi: AudioVendor = {
  speechPath: (path) => path,
  speech: () => noSpeech,
  transcriptionPath: (path) => path.replace(/\/transcript$/, "/upload"),
  transcription: (asked) => {
    const file = asked.form === null ? null : Form.fileOf(asked.form, "file")
    return file === null
      ? Errors.make("unsupported_media_type", "Audio is sent as multipart/form-data.")
      : { body: Form.bodyOf(file), contentType: "application/octet-stream", omitted: omitted(asked.parsed, understood) }
  },
  stateOf: ({ id, status, upload_url: url }, replies, { language, model, prompt }) => {
    if (replies === 0 && typeof url === "string") {
      const order = {
        audio_url: url, speech_models: [model], ...(language === null ? { language_detection: true } : { language_code: language }), ...(prompt === null ? {} : { prompt })
      }
      return { ask: "transcript", moves: true, atOnce: true, body: Buffer.from(JSON.stringify(order)) }
    }
    if (status !== "queued" && status !== "processing") return "over"
    const name = Job.idOf(id)
    return name === null ? "over" : { ask: `transcript/${name}`, moves: replies === 1 }
  },
  heard: ({ audio_duration: seconds, language_code: language, status, text, words }) => status === "completed" && (typeof text === "string" || text === null)
    ? { text: text ?? "", language: textOf(language), seconds: typeof seconds === "number" && seconds >= 0 ? seconds : null, words: wordsOf(words, "text", perSecond) }
    : null,
  error
}
