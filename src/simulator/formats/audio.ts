/**
 * Sound: `POST /v1/audio/speech`, `/v1/audio/transcriptions` and `/v1/audio/translations`. What is spoken is a tone as long as its text,
 * as a WAV file whatever type is asked for; what is written down says which file was heard.
 */
import * as Predicate from "effect/Predicate"
import { countTokens } from "#src/simulator/text.ts"
import { Bad, invalidValue, missing, optionalNumber, optionalString, refuseUnknown, requiredModel, strictly } from "./chatRequest.ts"
import { chatStreamError, renderChatError } from "./errors.ts"
import type { Body, Format, SimulatedAnswer, SimulatedCall } from "./Format.ts"
import { oneShotCall } from "./oneShotCall.ts"

export const RATE = 8_000
/** Samples of a character. */
const LENGTH = 160
const PIECE = 4_096
const MAX_INPUT = 4_096

const types: Readonly<Record<string, string>> = {
  mp3: "audio/mpeg", opus: "audio/opus", aac: "audio/aac", flac: "audio/flac", wav: "audio/wav", pcm: "audio/pcm"
}

/** One channel of eight bits; the pitch is the text's. */
export const toneOf = (text: string): Buffer => {
  const samples = Buffer.alloc(text.length * LENGTH)
  for (let i = 0; i < samples.length; i++) {
    const pitch = 200 + (text.charCodeAt(Math.floor(i / LENGTH)) % 100) * 5
    samples[i] = 128 + Math.round(100 * Math.sin((2 * Math.PI * pitch * i) / RATE))
  }
  const head = Buffer.alloc(44)
  head.write("RIFF", 0, "latin1")
  head.writeUInt32LE(36 + samples.length, 4)
  head.write("WAVEfmt ", 8, "latin1")
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20)
  head.writeUInt16LE(1, 22)
  head.writeUInt32LE(RATE, 24)
  head.writeUInt32LE(RATE, 28)
  head.writeUInt16LE(1, 32)
  head.writeUInt16LE(8, 34)
  head.write("data", 36, "latin1")
  head.writeUInt32LE(samples.length, 40)
  return Buffer.concat([head, samples])
}

export const piecesOf = (bytes: Buffer): ReadonlyArray<Buffer> =>
  Array.from({ length: Math.ceil(bytes.length / PIECE) }, (_, i) => bytes.subarray(i * PIECE, (i + 1) * PIECE))

const eventOf = (event: unknown): Buffer => Buffer.from(`data: ${JSON.stringify(event)}\n\n`)

const deltaOf = (piece: Buffer): Buffer => eventOf({ type: "speech.audio.delta", audio: piece.toString("base64") })

const doneOf = (usage: SimulatedAnswer["usage"]): Buffer => eventOf({
  type: "speech.audio.done", ...(usage === null ? {} : { usage: { input_tokens: usage.promptTokens, output_tokens: usage.completionTokens, total_tokens: usage.totalTokens } })
})

const spoken = strictly((body): SimulatedCall => {
  const model = requiredModel(body)
  const { input, voice } = body
  if (!Predicate.isString(input) || input === "") throw missing("input")
  if (input.length > MAX_INPUT) throw new Bad(`Invalid 'input': string too long. Expected a string with maximum length ${MAX_INPUT}.`, "input", "string_above_max_length")
  if (!Predicate.isString(voice)) throw missing("voice")
  const format = optionalString(body, "response_format", Object.keys(types)) ?? "mp3"
  optionalNumber(body, "speed", 0.25, 4)
  const pieces = piecesOf(toneOf(input))
  return optionalString(body, "stream_format", ["audio", "sse"]) === "sse"
    ? oneShotCall(model, countTokens(input), ({ usage }) => ({ type: "text/event-stream", pieces: [...pieces.map(deltaOf), doneOf(usage)] }))
    : oneShotCall(model, countTokens(input), () => ({ type: types[format] as string, pieces }))
})

const known: ReadonlySet<string> = new Set(["model", "file", "language", "prompt", "response_format", "temperature", "timestamp_granularities", "stream"])

interface Heard {
  readonly filename: string
  readonly bytes: number
}

const fileOf = (body: Body): Heard => {
  const file = body["file"]
  if (!Predicate.isObject(file) || !("filename" in file) || !("bytes" in file)) throw missing("file")
  return { filename: String(file.filename), bytes: Number(file.bytes) }
}

/** Bytes of a WAV file before its samples. */
export const HEADER = 44

/** Bytes behind the header are samples of the rate above. */
const written = (task: "transcribe" | "translate") => strictly((body): SimulatedCall => {
  refuseUnknown(body, known, "")
  const model = requiredModel(body)
  const { bytes, filename } = fileOf(body)
  const format = optionalString(body, "response_format") ?? "json"
  const text = `Heard ${filename}.`
  const seconds = Math.max(0, bytes - HEADER) / RATE
  const stamp = (mark: string) => `00:00:00${mark}000 --> 00:00:01${mark}000`
  const replies: Readonly<Record<string, readonly [type: string, text: string]>> = {
    json: ["application/json", JSON.stringify({ text, usage: { type: "duration", seconds } })],
    verbose_json: ["application/json", JSON.stringify({ task, language: "english", duration: seconds, text, segments: [{ id: 0, start: 0, end: seconds, text }] })],
    text: ["text/plain; charset=utf-8", `${text}\n`],
    srt: ["text/plain; charset=utf-8", `1\n${stamp(",")}\n${text}\n\n`],
    vtt: ["text/vtt; charset=utf-8", `WEBVTT\n\n${stamp(".")}\n${text}\n\n`]
  }
  const reply = replies[format]
  if (reply === undefined) throw invalidValue("response_format", format, Object.keys(replies))
  if (/^(?:true|1)$/i.test(String(body["stream"]))) {
    const events = [{ type: "transcript.text.delta", delta: text }, { type: "transcript.text.done", text, usage: { type: "duration", seconds } }]
    return oneShotCall(model, 0, () => ({ type: "text/event-stream", pieces: events.map((event) => Buffer.from(`data: ${JSON.stringify(event)}\n\n`)) }))
  }
  return oneShotCall(model, 0, () => ({ type: reply[0], pieces: [Buffer.from(reply[1])] }))
})

const common = { events: () => [], body: () => "", renderError: renderChatError, streamError: chatStreamError }

export const speech: Format = { ...common, name: "speech", matches: (path) => path === "/v1/audio/speech", read: spoken }

export const transcriptions: Format = {
  ...common, name: "transcriptions", isForm: true, matches: (path) => path === "/v1/audio/transcriptions", read: written("transcribe")
}

export const translations: Format = { ...common, name: "translations", isForm: true, matches: (path) => path === "/v1/audio/translations", read: written("translate") }
