/**
 * Sound in the formats of two vendors: `POST /v1/speak` and `/v1/listen` of one, whose settings stand in the query; `/v1/text-to-speech/{voice}`
 * and `/v1/speech-to-text` of the other. What is spoken and written down is as in `audio.ts`.
 */
import * as Predicate from "effect/Predicate"
import { countTokens } from "#src/simulator/text.ts"
import { HEADER, piecesOf, RATE, toneOf } from "./audio.ts"
import { Bad, refuseUnknown, strictly } from "./chatRequest.ts"
import { chatStreamError } from "./errors.ts"
import type { Body, Format, SimulatedCall, SimulatedRefusal } from "./Format.ts"
import { oneShotCall } from "./oneShotCall.ts"

const json = (value: unknown) => ({ type: "application/json", pieces: [Buffer.from(JSON.stringify(value))] })

const bare = { events: () => [], body: () => "", streamError: chatStreamError }

const asked = (query: string, known: ReadonlyArray<string>): Readonly<Record<string, string>> => {
  const values = Object.fromEntries(new URLSearchParams(query))
  for (const name of Object.keys(values)) if (!known.includes(name)) throw new Bad(`Unknown query parameter: ${name}`, name)
  return values
}

const textIn = (body: Body): string => {
  if (!Predicate.isString(body["text"]) || body["text"] === "") throw new Bad("Json deserialize error: missing field `text`", "text")
  return body["text"]
}

/** A word takes a quarter of a second. */
const wordsOf = (text: string) => text.split(" ").map((word, i) => ({ word, start: i / 4, end: (i + 1) / 4 }))

// ---- settings in the query ------------------------------------------------------------------------------------------------------------

const plain = {
  ...bare, renderError: ({ code, message }: SimulatedRefusal) => JSON.stringify({ err_code: code ?? "Bad Request", err_msg: message, request_id: "req-1" }),
  identify: (_path: string, _body: Body, query: string) => ({ model: new URLSearchParams(query).get("model"), stream: false })
}

const types: Readonly<Record<string, string>> = { mp3: "audio/mpeg", opus: "audio/ogg;codecs=opus", aac: "audio/aac", flac: "audio/flac", linear16: "audio/wav" }

const modelIn = ({ model }: Readonly<Record<string, string>>): string => {
  if (model === undefined) throw new Bad("No such model", "model")
  return model
}

export const speak: Format = {
  ...plain, name: "speak", matches: (path) => path === "/v1/speak",
  read: strictly((body, { query }): SimulatedCall => {
    refuseUnknown(body, new Set(["text"]), "")
    const said = asked(query, ["model", "encoding", "container", "sample_rate"])
    const text = textIn(body)
    const type = types[said["encoding"] ?? "mp3"]
    if (type === undefined) throw new Bad("Unsupported encoding", "encoding")
    return oneShotCall(modelIn(said), countTokens(text), () => ({ type, pieces: piecesOf(toneOf(text)) }))
  })
}

export const listen: Format = {
  ...plain, name: "listen", isRaw: true, matches: (path) => path === "/v1/listen",
  read: strictly((body, { query }): SimulatedCall => {
    const said = asked(query, ["model", "smart_format", "language", "detect_language"])
    const { bytes, contentType } = body
    if (!Predicate.isString(contentType) || /multipart|json/.test(contentType)) throw new Bad("Bad Request: failed to process audio: corrupt or unsupported data", "body")
    const transcript = `Heard ${String(bytes)} bytes.`
    const language = said["language"] === undefined ? { detected_language: "en" } : {}
    return oneShotCall(modelIn(said), 0, ({ id }) => json({
      metadata: { request_id: id, duration: Math.max(0, Number(bytes) - HEADER) / RATE, channels: 1 },
      results: { channels: [{ ...language, alternatives: [{ transcript, confidence: 0.9, words: wordsOf(transcript).map((word) => ({ ...word, confidence: 0.9 })) }] }] }
    }))
  })
}

// ---- the voice in the path ------------------------------------------------------------------------------------------------------------

const named = {
  ...bare, renderError: ({ code, message }: SimulatedRefusal) => JSON.stringify({ detail: { status: code ?? "invalid_request", message } }),
  identify: (_path: string, body: Body) => ({ model: Predicate.isString(body["model_id"]) ? body["model_id"] : null, stream: false })
}

const voicePath = /^\/v1\/text-to-speech\/([^/]+)$/
const outputs: Readonly<Record<string, string>> = { mp3_44100_128: "audio/mpeg", opus_48000_128: "audio/opus", pcm_24000: "audio/pcm", wav_24000: "audio/wav" }

export const textToSpeech: Format = {
  ...named, name: "text-to-speech", matches: (path) => voicePath.test(path),
  read: strictly((body, { query }): SimulatedCall => {
    refuseUnknown(body, new Set(["text", "model_id", "language_code", "voice_settings", "seed", "previous_text", "next_text"]), "")
    const text = textIn(body)
    const type = outputs[asked(query, ["output_format"])["output_format"] ?? "mp3_44100_128"]
    if (type === undefined) throw new Bad("Invalid output_format", "output_format")
    return oneShotCall(String(body["model_id"] ?? "eleven_multilingual_v2"), countTokens(text), () => ({ type, pieces: piecesOf(toneOf(text)) }))
  })
}

export const speechToText: Format = {
  ...named, name: "speech-to-text", isForm: true, matches: (path) => path === "/v1/speech-to-text",
  read: strictly((body): SimulatedCall => {
    refuseUnknown(body, new Set(["model_id", "file", "language_code", "temperature", "timestamps_granularity", "diarize", "num_speakers", "tag_audio_events"]), "")
    const { file, language_code: language, model_id: model } = body
    if (!Predicate.isString(model)) throw new Bad("Field required: model_id", "model_id")
    if (!Predicate.isObject(file) || !("filename" in file)) throw new Bad("Field required: file", "file")
    const text = `Heard ${String(file.filename)}.`
    const words = wordsOf(text).flatMap(({ end, start, word }, i) => [...i === 0 ? [] : [{ text: " ", start, end: start, type: "spacing" }], { text: word, start, end, type: "word" }])
    return oneShotCall(model, 0, () => json({ language_code: language ?? "eng", language_probability: 1, text, words }))
  })
}
