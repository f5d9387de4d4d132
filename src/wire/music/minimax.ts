/** Music of MiniMax (https://platform.minimax.io/docs/api-reference/music-generation): one answer, with an address or with bytes as hex digits. */
import type { UpstreamErrorBody } from "#actors/request/ports/Face.ts"
import * as Json from "#src/wire/json/json.ts"
import { invalid } from "#src/wire/neutral/settings.ts"
import * as OneShotJson from "#src/wire/oneShot/oneShotJson.ts"
import * as GeneratedMedia from "#src/wire/oneShot/generatedMedia.ts"
import type { MusicVendor } from "./MusicVendor.ts"

const formats: ReadonlyArray<string> = ["mp3", "wav", "pcm"]
const sampleRate = 44_100
const bitrate = 256_000

/** Members that are sent under their own names. */
const same = ["prompt", "lyrics", "is_instrumental", "lyrics_optimizer", "aigc_watermark"] as const
const understood: ReadonlySet<string> = new Set([...same, "model", "format", "response_format", "audio_setting"])

/** The vendor's codes that stand for a status of HTTP. */
const statuses: Readonly<Record<number, number>> = { 1002: 429, 1004: 401, 1008: 402, 1026: 400, 1027: 400, 2013: 400, 2049: 401 }

const errorOf = (answer: Readonly<Record<string, unknown>>): UpstreamErrorBody | null => {
  const said = answer["base_resp"]
  if (!Json.isRecord(said) || typeof said["status_code"] !== "number" || said["status_code"] === 0) return null
  const code = said["status_code"]
  return GeneratedMedia.failure(typeof said["status_msg"] === "string" ? said["status_msg"] : "The provider made no music.", String(code), statuses[code] ?? null)
}

export const minimax: MusicVendor = {
  encode: ({ model, parsed }) => {
    const { audio_setting: setting, format = "mp3", is_instrumental: instrumental, lyrics, lyrics_optimizer: optimizer, response_format: wanted } = parsed
    if (typeof format === "string" && !formats.includes(format)) return invalid("format", `This model makes ${formats.join(", ")} only.`)
    // Without a text the vendor wants to be told what to sing.
    const words = GeneratedMedia.isAbsent(lyrics) && instrumental !== true && GeneratedMedia.isAbsent(optimizer) ? { lyrics_optimizer: true } : {}
    return {
      body: Buffer.from(JSON.stringify({
        model, ...GeneratedMedia.kept(parsed, same), ...words, output_format: wanted === "url" ? "url" : "hex",
        audio_setting: { sample_rate: sampleRate, bitrate, ...(Json.isRecord(setting) ? setting : {}), format: format ?? "mp3" }
      })),
      omitted: GeneratedMedia.omitted(parsed, understood)
    }
  },
  read: (bytes, { format, seconds }, now) => {
    const answer = OneShotJson.recordOf(bytes)
    if (answer === null) return null
    const error = errorOf(answer)
    if (error !== null) return GeneratedMedia.failed(bytes, error)
    const { data, extra_info: info } = answer
    const audio = Json.isRecord(data) ? data["audio"] : undefined
    if (typeof audio !== "string" || audio === "") return OneShotJson.errorOr(bytes, answer)
    const length = Json.isRecord(info) && typeof info["music_duration"] === "number" && info["music_duration"] >= 0 ? info["music_duration"] / 1_000 : seconds
    const units = length === null ? null : { second: length }
    if (/^https?:\/\//i.test(audio)) return GeneratedMedia.answered(now, [{ url: audio, format }], units)
    const sound = Buffer.from(audio, "hex")
    return sound.length * 2 === audio.length ? GeneratedMedia.answered(now, [{ b64_json: sound.toString("base64"), format }], units) : null
  },
  readError: (body) => {
    const answer = OneShotJson.recordOf(body)
    return answer === null ? null : errorOf(answer)
  }
}
