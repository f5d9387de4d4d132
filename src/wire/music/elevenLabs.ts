/** Music of ElevenLabs (https://elevenlabs.io/docs/api-reference/music/compose): the answer is the sound; its format stands in the query. */
import type { Target } from "#actors/request/ports/Target.ts"
import { elevenLabs as vendor } from "#src/wire/audio/elevenLabs.ts"
import * as SoundLength from "#src/wire/audio/soundLength.ts"
import * as Json from "#src/wire/json/json.ts"
import { invalid } from "#src/wire/neutral/settings.ts"
import * as OneShotJson from "#src/wire/oneShot/oneShotJson.ts"
import * as GeneratedMedia from "#src/wire/oneShot/generatedMedia.ts"
import type { Json as Body } from "#src/wire/WireFormat.ts"
import type { MusicVendor } from "./MusicVendor.ts"

/** The vendor's names of the formats that it makes. */
const formats: Readonly<Record<string, string>> = { mp3: "mp3_44100_128", opus: "opus_48000_128", pcm: "pcm_44100" }

const formatOf = ({ format }: Body): string | undefined => Json.ownValue(formats, typeof format === "string" ? format : "mp3")

/** Members that are sent under their own names. */
const same = ["prompt", "force_instrumental", "seed", "composition_plan"] as const
const understood: ReadonlySet<string> = new Set([...same, "model", "duration", "lyrics", "format", "response_format"])

export const placedFor = <T extends Pick<Target, "path" | "streamPath">>(target: T, body: Body): T => {
  const path = `${target.path}?output_format=${formatOf(body) ?? ""}`
  return { ...target, path, streamPath: path }
}

const errorIn = (body: Uint8Array) => {
  const parsed = OneShotJson.recordOf(body)
  return parsed === null ? null : vendor.error(parsed)
}

/** What begins a document or a page, and no sound. */
const isText = (bytes: Uint8Array): boolean => /^\s*[{[<]/.test(Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, 64)).toString("latin1"))

export const elevenLabs: MusicVendor = {
  encode: ({ model, parsed }) => {
    const { duration, lyrics } = parsed
    if (formatOf(parsed) === undefined) return invalid("format", `This model makes ${Object.keys(formats).join(", ")} only.`)
    return GeneratedMedia.onlyBytes(parsed) ?? {
      body: Buffer.from(JSON.stringify({
        ...GeneratedMedia.kept(parsed, same), model_id: model, ...(typeof duration === "number" ? { music_length_ms: Math.round(duration * 1_000) } : {}),
        ...(GeneratedMedia.isAbsent(lyrics) ? {} : { lyrics_text: lyrics })
      })),
      omitted: GeneratedMedia.omitted(parsed, understood)
    }
  },
  read: (bytes, { format, seconds }, now) => {
    if (bytes.byteLength === 0 || isText(bytes)) {
      const error = errorIn(bytes)
      return error === null ? OneShotJson.errorOr(bytes, OneShotJson.recordOf(bytes)) : GeneratedMedia.failed(bytes, error)
    }
    const sound = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    const second = SoundLength.secondsOf(sound) ?? seconds
    return GeneratedMedia.answered(now, [{ b64_json: sound.toString("base64"), format }], second === null ? null : { second })
  },
  readError: errorIn
}
