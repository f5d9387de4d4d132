/**
 * Music: `POST /v1/music/generations` of servers of the clients' own format, `/v1/music` of one vendor, whose answer is the sound, and
 * `/v1/music_generation` of another, with hex digits or an address. The music of a prompt is its tone, as a WAV file whatever is asked for.
 */
import * as Predicate from "effect/Predicate"
import { countTokens } from "#src/simulator/text.ts"
import { piecesOf, RATE, toneOf } from "#src/simulator/formats/audio.ts"
import { Bad, invalidType, missing, optionalBoolean, optionalNumber, optionalString, refuseUnknown, requiredModel, strictly } from "#src/simulator/formats/chatRequest.ts"
import { chatStreamError, renderChatError } from "#src/simulator/formats/errors.ts"
import type { Body, Format, Reply, SimulatedCall, SimulatedRefusal } from "#src/simulator/formats/Format.ts"
import { oneShotCall } from "#src/simulator/formats/oneShotCall.ts"
import { markOf } from "./mp4.ts"

const HEADER = 44

const json = (value: unknown): Reply => ({ type: "application/json", pieces: [Buffer.from(JSON.stringify(value))] })

const secondsOf = (sound: Buffer): number => (sound.length - HEADER) / RATE

const promptIn = ({ prompt }: Body): string => {
  if (prompt === undefined) throw missing("prompt")
  if (!Predicate.isString(prompt) || prompt === "") throw invalidType("prompt", "a string", prompt)
  return prompt
}

const addressOf = (prompt: string): string => `https://music.simulator.example/${markOf(prompt)}.mp3`

const common = { events: () => [], body: () => "", renderError: renderChatError, streamError: chatStreamError }

// ---- the clients' own format ----------------------------------------------------------------------------------------------------------

const ownFields: ReadonlySet<string> = new Set(["model", "prompt", "duration", "lyrics", "format", "response_format", "seed"])

export const music: Format = {
  ...common, name: "music", matches: (path) => path === "/v1/music/generations",
  read: strictly((body): SimulatedCall => {
    refuseUnknown(body, ownFields, "")
    const model = requiredModel(body)
    const prompt = promptIn(body)
    optionalNumber(body, "duration", 1, 600)
    const format = optionalString(body, "format") ?? "mp3"
    const sound = toneOf(prompt)
    const item = optionalString(body, "response_format", ["url", "b64_json"]) === "url" ? { url: addressOf(prompt) } : { b64_json: sound.toString("base64") }
    return oneShotCall(model, countTokens(prompt), ({ created }) => json({ created, data: [{ ...item, format, duration: secondsOf(sound) }] }))
  })
}

// ---- the sound itself -----------------------------------------------------------------------------------------------------------------

const composeFields: ReadonlySet<string> = new Set(["prompt", "composition_plan", "music_length_ms", "model_id", "force_instrumental", "seed", "lyrics_text"])
const outputs: Readonly<Record<string, string>> = { mp3_44100_128: "audio/mpeg", opus_48000_128: "audio/opus", pcm_44100: "audio/pcm" }

export const compose: Format = {
  ...common, name: "compose", matches: (path) => path === "/v1/music",
  renderError: ({ code, message }: SimulatedRefusal) => JSON.stringify({ detail: { status: code ?? "invalid_request", message } }),
  identify: (_path, body) => ({ model: Predicate.isString(body["model_id"]) ? body["model_id"] : null, stream: false }),
  read: strictly((body, { query }): SimulatedCall => {
    refuseUnknown(body, composeFields, "")
    const prompt = promptIn(body)
    optionalNumber(body, "music_length_ms", 3_000, 600_000, true)
    optionalBoolean(body, "force_instrumental")
    const type = outputs[new URLSearchParams(query).get("output_format") ?? "mp3_44100_128"]
    if (type === undefined) throw new Bad("Invalid output_format", "output_format")
    return oneShotCall(optionalString(body, "model_id") ?? "music_v1", countTokens(prompt), () => ({ type, pieces: piecesOf(toneOf(prompt)) }))
  })
}

// ---- hex digits -----------------------------------------------------------------------------------------------------------------------

const songFields: ReadonlySet<string> = new Set(["model", "prompt", "lyrics", "stream", "output_format", "audio_setting", "aigc_watermark", "lyrics_optimizer", "is_instrumental"])

export const song: Format = {
  ...common, name: "song", matches: (path) => path === "/v1/music_generation",
  read: strictly((body): SimulatedCall => {
    refuseUnknown(body, songFields, "")
    const model = requiredModel(body)
    const prompt = promptIn(body)
    if (optionalString(body, "lyrics") === null && !optionalBoolean(body, "is_instrumental") && !optionalBoolean(body, "lyrics_optimizer")) throw new Bad("invalid params, lyrics is required", "lyrics")
    const { audio_setting: setting } = body
    if (setting !== undefined) {
      if (!Predicate.isObject(setting)) throw invalidType("audio_setting", "an object", setting)
      optionalString(setting as Body, "format", ["mp3", "wav", "pcm"])
    }
    const sound = toneOf(prompt)
    const audio = optionalString(body, "output_format", ["url", "hex"]) === "url" ? addressOf(prompt) : sound.toString("hex")
    return oneShotCall(model, countTokens(prompt), ({ id }) => json({
      data: { audio, status: 2 }, trace_id: id, extra_info: { music_duration: secondsOf(sound) * 1_000, music_sample_rate: RATE, music_channel: 1, bitrate: 256_000, music_size: sound.length },
      analysis_info: null, base_resp: { status_code: 0, status_msg: "success" }
    }))
  })
}
