/** Videos of Z.ai and Zhipu (https://docs.z.ai/api-reference/video): a job whose result stands at a path of its own. */
import * as Json from "#src/wire/json/json.ts"
import * as Job from "#src/wire/oneShot/job.ts"
import * as OneShotJson from "#src/wire/oneShot/oneShotJson.ts"
import * as GeneratedMedia from "#src/wire/oneShot/generatedMedia.ts"
import type { VideoVendor } from "./VideoVendor.ts"

/** Length of a video unless the request says otherwise, s. */
const usualSeconds = 5

/** Members that are sent under their own names. */
const same = ["prompt", "duration", "quality", "with_audio", "fps", "size", "request_id", "user_id"] as const
const understood: ReadonlySet<string> = new Set([...same, "model", "image", "n", "response_format"])

const sizePattern = /^\d{2,5}x\d{2,5}$/

export const zai: VideoVendor = {
  inlines: false,
  encode: ({ model, parsed }, image) => {
    const { resolution } = parsed
    const isSize = typeof resolution === "string" && sizePattern.test(resolution)
    return GeneratedMedia.onlyOne(parsed, "video") ?? GeneratedMedia.onlyUrls(parsed) ?? {
      body: Buffer.from(JSON.stringify({ model, ...GeneratedMedia.kept(parsed, same), ...(isSize ? { size: resolution } : {}), ...(image === null ? {} : { image_url: image }) })),
      omitted: GeneratedMedia.omitted(parsed, isSize ? new Set([...understood, "resolution"]) : understood)
    }
  },
  stateOf: ({ id, task_status: status }) => status === "PROCESSING" ? Job.running(Job.idOf(id), "../async-result/") : "over",
  read: (bytes, now, seconds) => {
    const answer = OneShotJson.recordOf(bytes)
    if (answer === null) return null
    const { task_status: status, video_result: result } = answer
    const [video]: ReadonlyArray<unknown> = Array.isArray(result) ? result : []
    if (status === "SUCCESS" && Json.isRecord(video) && typeof video["url"] === "string") {
      const cover = video["cover_image_url"]
      return GeneratedMedia.answered(now, [{ url: video["url"], ...(typeof cover === "string" ? { cover_image_url: cover } : {}) }], { second: seconds ?? usualSeconds })
    }
    return OneShotJson.errorOr(bytes, answer) ?? (status === "FAIL" ? GeneratedMedia.failed(bytes, GeneratedMedia.failure("The provider's job failed.", "job_failed")) : null)
  }
}
