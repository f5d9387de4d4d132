/**
 * Videos of OpenRouter (https://openrouter.ai/docs/api_reference/videos): a job below the path. Its addresses are signed; where a client wants
 * bytes, or there is no signed address, the file is downloaded with the same key.
 */
import * as Json from "#src/wire/json/json.ts"
import * as Job from "#src/wire/oneShot/job.ts"
import * as OneShotJson from "#src/wire/oneShot/oneShotJson.ts"
import * as GeneratedMedia from "#src/wire/oneShot/generatedMedia.ts"
import { isVideo, type VideoVendor } from "./VideoVendor.ts"

/** Members of the clients' format that the vendor says otherwise, or not at all. */
const own: ReadonlySet<string> = new Set(["model", "image", "n", "response_format"])

const signedIn = ({ urls }: Readonly<Record<string, unknown>>): string | null => {
  const [first]: ReadonlyArray<unknown> = Array.isArray(urls) ? urls : []
  return typeof first === "string" ? first : null
}

export const openRouter: VideoVendor = {
  inlines: false,
  encode: ({ model, parsed }, image) => GeneratedMedia.onlyOne(parsed, "video") ?? {
    body: Buffer.from(JSON.stringify({
      ...Object.fromEntries(Object.entries(parsed).filter(([name]) => !own.has(name))), model,
      ...(image === null ? {} : { frame_images: [{ type: "image_url", image_url: { url: image }, frame_type: "first_frame" }] })
    })),
    omitted: OneShotJson.nothing
  },
  stateOf: (state, wantsBytes) => {
    const { id, status } = state
    const name = Job.idOf(id)
    if (name === null) return "over"
    if (status === "pending" || status === "in_progress") return { ask: `videos/${name}` }
    return status === "completed" && (wantsBytes || signedIn(state) === null) ? { ask: `${name}/content?index=0`, moves: true, atOnce: true } : "over"
  },
  read: (bytes, now, seconds) => {
    const units = seconds === null ? null : { second: seconds }
    if (isVideo(bytes)) return GeneratedMedia.answered(now, [{ b64_json: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64") }], units)
    const answer = OneShotJson.recordOf(bytes)
    if (answer === null) return null
    const { error, status } = answer
    const url = signedIn(answer)
    if (status === "completed" && url !== null) return GeneratedMedia.answered(now, [{ url, ...(seconds === null ? {} : { duration: seconds }) }], units)
    if (typeof error === "string" || status === "failed" || status === "cancelled" || status === "expired") {
      return GeneratedMedia.failed(bytes, GeneratedMedia.failure(typeof error === "string" ? error : `The provider's job ended as ${String(status)}.`, `job_${String(status)}`))
    }
    return Json.isRecord(error) ? OneShotJson.errorOr(bytes, answer) : null
  }
}
