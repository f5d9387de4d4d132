/** Videos of xAI (https://docs.x.ai/developers/model-capabilities/video/generation): a job beside the path, over when it has an address. */
import * as Json from "#src/wire/json/json.ts"
import * as Job from "#src/wire/oneShot/job.ts"
import * as OneShotJson from "#src/wire/oneShot/oneShotJson.ts"
import * as GeneratedMedia from "#src/wire/oneShot/generatedMedia.ts"
import type { VideoVendor } from "./VideoVendor.ts"

/** Members of the clients' format that the vendor says otherwise, or not at all. */
const own: ReadonlySet<string> = new Set(["model", "image", "n", "response_format"])

export const xai: VideoVendor = {
  inlines: false,
  encode: ({ model, parsed }, image) => GeneratedMedia.onlyOne(parsed, "video") ?? GeneratedMedia.onlyUrls(parsed) ?? {
    body: Buffer.from(JSON.stringify({
      ...Object.fromEntries(Object.entries(parsed).filter(([name]) => !own.has(name))), model, ...(image === null ? {} : { image: { url: image } })
    })),
    omitted: OneShotJson.nothing
  },
  stateOf: ({ error, request_id: id, status, video }) =>
    Json.isRecord(video) || Json.isRecord(error) || (status !== undefined && status !== "pending") ? "over" : Job.running(Job.idOf(id) ?? (status === undefined ? null : ".")),
  read: (bytes, now, seconds) => {
    const answer = OneShotJson.recordOf(bytes)
    if (answer === null) return null
    const { status, video } = answer
    if (Json.isRecord(video) && video["respect_moderation"] === false) return GeneratedMedia.failed(bytes, GeneratedMedia.failure("The video was withheld by the provider's moderation.", "content_policy_violation", 400))
    if (Json.isRecord(video) && typeof video["url"] === "string") {
      const length = typeof video["duration"] === "number" && video["duration"] >= 0 ? video["duration"] : seconds
      return GeneratedMedia.answered(now, [{ url: video["url"], ...(length === null ? {} : { duration: length }) }], length === null ? null : { second: length })
    }
    return OneShotJson.errorOr(bytes, answer) ??
      (status === "failed" || status === "expired" ? GeneratedMedia.failed(bytes, GeneratedMedia.failure(`The provider's job ended as ${status}.`, `job_${status}`)) : null)
  }
}
