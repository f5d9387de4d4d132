/**
 * Transcriptions by jobs: `POST /v2/upload` takes a sound and names its address, `POST /v2/transcript` orders the job, and
 * `GET /v2/transcript/{id}` tells its state. Half a second later it says how many bytes were heard.
 */
import * as Predicate from "effect/Predicate"
import { HEADER, RATE } from "#src/simulator/formats/audio.ts"
import { Bad, invalidType, missing, optionalBoolean, optionalString, refuseUnknown, strictly } from "#src/simulator/formats/chatRequest.ts"
import { chatStreamError } from "#src/simulator/formats/errors.ts"
import type { Body, Format, Reply, SimulatedCall, SimulatedRefusal } from "#src/simulator/formats/Format.ts"
import { oneShotCall } from "#src/simulator/formats/oneShotCall.ts"
import * as Jobs from "./jobs.ts"

const json = (value: unknown): Reply => ({ type: "application/json", pieces: [Buffer.from(JSON.stringify(value))] })

const common = { events: () => [], body: () => "", streamError: chatStreamError, renderError: ({ message }: SimulatedRefusal) => JSON.stringify({ error: message }) }

const addressOf = (bytes: number): string => `https://cdn.simulator.example/upload/${bytes}`

export const uploads: Format = {
  ...common, name: "uploads", isRaw: true, matches: (path) => path === "/v2/upload", identify: () => ({ model: null, stream: false }),
  read: strictly(({ bytes, contentType }): SimulatedCall => {
    if (contentType !== "application/octet-stream") throw new Bad("Upload failed, please send the file as application/octet-stream", null)
    if (Number(bytes) === 0) throw new Bad("Upload failed, the file is empty", null)
    return oneShotCall("", 0, () => json({ upload_url: addressOf(Number(bytes)) }))
  })
}

const known: ReadonlySet<string> = new Set(["audio_url", "speech_models", "language_code", "language_detection", "prompt", "punctuate", "format_text"])
const postPath = "/v2/transcript"
const jobPath = /^\/v2\/transcript\/([\w-]+)$/

const modelIn = ({ speech_models: models }: Body): string | null => Array.isArray(models) && Predicate.isString(models[0]) ? models[0] : null

const order = (body: Body): SimulatedCall => {
  refuseUnknown(body, known, "")
  const model = modelIn(body)
  if (model === null) throw invalidType("speech_models", "an array of strings", body["speech_models"])
  const { audio_url: url } = body
  if (!Predicate.isString(url)) throw missing("audio_url")
  const detects = optionalBoolean(body, "language_detection")
  const language = optionalString(body, "language_code")
  if (detects && language !== null) throw new Bad("language_code and language_detection exclude each other", "language_code")
  optionalString(body, "prompt")
  const bytes = Number(/\/upload\/(\d+)$/.exec(url)?.[1] ?? 0)
  const id = Jobs.begin(model, String(bytes), Math.max(0, bytes - HEADER) / RATE)
  return oneShotCall(model, 0, () => json({ id, status: "queued", audio_url: url, text: null, words: null, error: null }))
}

const look = (path: string): SimulatedCall => {
  const job = Jobs.read(jobPath.exec(path)?.[1] ?? "")
  if (job === null) throw new Bad("Transcript lookup error, transcript id not found", null, null, 404)
  const { mark, model, seconds } = job
  const text = `Heard ${mark} bytes.`
  const words = text.split(" ").map((word, i) => ({ text: word, start: i * 250, end: (i + 1) * 250, confidence: 0.9 }))
  const id = jobPath.exec(path)?.[1] ?? ""
  return oneShotCall(model, 0, () => json(Jobs.isDone(job)
    ? { id, status: "completed", text, words, audio_duration: seconds, language_code: "en", speech_model_used: model, error: null }
    : { id, status: "processing", text: null, words: null, error: null }))
}

export const transcripts: Format = {
  ...common, name: "transcripts", methods: ["GET"], matches: (path) => path === postPath || jobPath.test(path),
  identify: (path, body) => ({ model: path === postPath ? modelIn(body) : Jobs.read(jobPath.exec(path)?.[1] ?? "")?.model ?? null, stream: false }),
  read: strictly((body, { path }): SimulatedCall => path === postPath ? order(body) : look(path))
}
