/** Music of Google's Lyria (https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/lyria-music-generation): WAV files of 30 s. */
import * as Dialects from "#src/wire/dialects.ts"
import * as SoundLength from "#src/wire/audio/soundLength.ts"
import { upstream as generateContent } from "#src/wire/generateContent/index.ts"
import * as Json from "#src/wire/json/json.ts"
import { invalid } from "#src/wire/neutral/settings.ts"
import * as OneShotJson from "#src/wire/oneShot/oneShotJson.ts"
import * as GeneratedMedia from "#src/wire/oneShot/generatedMedia.ts"
import type { MusicVendor } from "./MusicVendor.ts"

const understood: ReadonlySet<string> = new Set(["model", "prompt", "negative_prompt", "seed", "format", "response_format"])

export const predict: MusicVendor = {
  encode: ({ parsed }) => {
    const { format } = parsed
    if (!GeneratedMedia.isAbsent(format) && format !== "wav") return invalid("format", "This model makes wav only.")
    return GeneratedMedia.onlyBytes(parsed) ?? {
      body: Buffer.from(JSON.stringify({ instances: [GeneratedMedia.kept(parsed, ["prompt", "negative_prompt", "seed"])], parameters: {} })), omitted: GeneratedMedia.omitted(parsed, understood)
    }
  },
  read: (bytes, _note, now) => {
    const answer = OneShotJson.recordOf(bytes)
    if (answer === null) return null
    const error = generateContent.readError(answer)
    if (error !== null) return GeneratedMedia.failed(bytes, error)
    const predictions: ReadonlyArray<unknown> = Array.isArray(answer["predictions"]) ? answer["predictions"] : []
    const sounds = predictions.flatMap((one) => {
      const base64 = Json.isRecord(one) ? one["audioContent"] ?? one["bytesBase64Encoded"] : undefined
      return typeof base64 === "string" ? [base64] : []
    })
    if (sounds.length === 0) return null
    const lengths = sounds.map((base64) => SoundLength.secondsOf(Buffer.from(base64, "base64")))
    const second = lengths.every((length) => length !== null) ? lengths.reduce((sum, length) => sum + length, 0) : null
    return GeneratedMedia.answered(now, sounds.map((base64) => ({ b64_json: base64, format: "wav" })), second === null ? null : { second })
  },
  readError: (body) => Dialects.readError(generateContent, body)
}
