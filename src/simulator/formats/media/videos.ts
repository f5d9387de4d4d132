/**
 * Videos: `POST /v1/videos/generations` answers at once as servers of the clients' own format do, and for models `grok-imagine-*` with a job
 * beside it, strictly as that vendor; `/api/paas/v4/videos/generations` with a job at `/async-result`; `/api/v1/videos` with one below it.
 */
import * as Predicate from "effect/Predicate"
import { countTokens } from "#src/simulator/text.ts"
import { Bad, invalidType, invalidValue, missing, optionalBoolean, optionalNumber, optionalString, refuseUnknown, requiredModel, strictly } from "#src/simulator/formats/chatRequest.ts"
import { chatStreamError, renderChatError } from "#src/simulator/formats/errors.ts"
import type { Body, Format, Reply, SimulatedCall } from "#src/simulator/formats/Format.ts"
import { oneShotCall } from "#src/simulator/formats/oneShotCall.ts"
import * as Jobs from "./jobs.ts"
import { markOf, videoOf } from "./mp4.ts"

const json = (value: unknown, status = 200): Reply => ({ status, type: "application/json", pieces: [Buffer.from(JSON.stringify(value))] })

const MAX_SECONDS = 15
const MAX_VIDEOS = 4
const ratios = ["16:9", "9:16", "1:1", "4:3", "3:4", "3:2", "2:3"]
const resolutions = ["480p", "720p", "1080p"]

const promptIn = ({ prompt }: Body): string => {
  if (prompt === undefined) throw missing("prompt")
  if (!Predicate.isString(prompt) || prompt === "") throw invalidType("prompt", "a string", prompt)
  return prompt
}

export const addressOf = (mark: string): string => `https://videos.simulator.example/${mark}.mp4`

// ---- at once --------------------------------------------------------------------------------------------------------------------------

const ownFields: ReadonlySet<string> = new Set(["model", "prompt", "image", "duration", "aspect_ratio", "resolution", "n", "response_format", "seed"])

const own = (body: Body, model: string): SimulatedCall => {
  refuseUnknown(body, ownFields, "")
  const prompt = promptIn(body)
  const seconds = optionalNumber(body, "duration", 1, MAX_SECONDS, true) ?? 5
  optionalString(body, "aspect_ratio", ratios)
  optionalString(body, "resolution", resolutions)
  const isBytes = optionalString(body, "response_format", ["url", "b64_json"]) === "b64_json"
  const item = isBytes ? { b64_json: videoOf(markOf(prompt), seconds).toString("base64") } : { url: addressOf(markOf(prompt)) }
  const data = Array.from({ length: optionalNumber(body, "n", 1, MAX_VIDEOS, true) ?? 1 }, () => ({ ...item, duration: seconds }))
  return oneShotCall(model, countTokens(prompt), ({ created }) => json({ created, data }))
}

// ---- a job beside the path ------------------------------------------------------------------------------------------------------------

const besideFields: ReadonlySet<string> = new Set(["model", "prompt", "image", "duration", "aspect_ratio", "resolution", "user"])

const beside = (body: Body, model: string): SimulatedCall => {
  refuseUnknown(body, besideFields, "")
  const { image } = body
  if (image !== undefined && !(Predicate.isObject(image) && "url" in image && Predicate.isString(image.url))) throw invalidType("image", "an object with 'url'", image)
  const prompt = promptIn(body)
  optionalString(body, "aspect_ratio", ratios)
  optionalString(body, "resolution", resolutions)
  const id = Jobs.begin(model, markOf(prompt), optionalNumber(body, "duration", 1, MAX_SECONDS, true) ?? 8)
  return oneShotCall(model, countTokens(prompt), () => json({ request_id: id }))
}

const jobPath = /^\/v1\/videos\/([\w-]+)$/

const looked = (path: string, pattern: RegExp): Jobs.SimulatedJob => {
  const job = Jobs.read(pattern.exec(path)?.[1] ?? "")
  if (job === null) throw new Bad("The job does not exist.", null, "not_found", 404)
  return job
}

const stateOf = (job: Jobs.SimulatedJob): SimulatedCall => oneShotCall(job.model, 0, () => Jobs.isDone(job)
  ? json({ status: "done", video: { url: addressOf(job.mark), duration: job.seconds, respect_moderation: true }, model: job.model, progress: 100 })
  : json({ status: "pending", progress: 10 }, 202))

const common = { events: () => [], body: () => "", renderError: renderChatError, streamError: chatStreamError, methods: ["GET"] }

const postPath = "/v1/videos/generations"

export const videos: Format = {
  ...common, name: "videos", matches: (path) => path === postPath || jobPath.test(path),
  identify: (path, body) => ({ model: path === postPath ? Predicate.isString(body["model"]) ? body["model"] : null : Jobs.read(jobPath.exec(path)?.[1] ?? "")?.model ?? null, stream: false }),
  read: strictly((body, { path }): SimulatedCall => {
    if (path !== postPath) return stateOf(looked(path, jobPath))
    const model = requiredModel(body)
    return model.startsWith("grok-imagine") ? beside(body, model) : own(body, model)
  })
}

// ---- a job at a path of its own -------------------------------------------------------------------------------------------------------

const taskPost = "/api/paas/v4/videos/generations"
const taskPath = /^\/api\/paas\/v4\/async-result\/([\w-]+)$/
const taskFields: ReadonlySet<string> = new Set(["model", "prompt", "image_url", "duration", "quality", "with_audio", "fps", "size", "request_id", "user_id"])

const task = (body: Body): SimulatedCall => {
  refuseUnknown(body, taskFields, "")
  const model = requiredModel(body)
  const prompt = promptIn(body)
  const seconds = optionalNumber(body, "duration", 1, MAX_SECONDS, true) ?? 5
  if (![5, 10].includes(seconds)) throw invalidValue("duration", seconds, ["5", "10"])
  optionalString(body, "quality", ["speed", "quality"])
  optionalBoolean(body, "with_audio")
  const id = Jobs.begin(model, markOf(prompt), seconds)
  return oneShotCall(model, countTokens(prompt), () => json({ id, model, request_id: id.slice(0, 16), task_status: "PROCESSING" }))
}

const taskState = (job: Jobs.SimulatedJob): SimulatedCall => oneShotCall(job.model, 0, () => Jobs.isDone(job)
  ? json({ model: job.model, task_status: "SUCCESS", video_result: [{ url: addressOf(job.mark), cover_image_url: `${addressOf(job.mark)}.png` }] })
  : json({ model: job.model, task_status: "PROCESSING", id: "as-asked" }))

export const videoTasks: Format = {
  ...common, name: "video-tasks", matches: (path) => path === taskPost || taskPath.test(path),
  identify: (path, body) => ({ model: path === taskPost ? Predicate.isString(body["model"]) ? body["model"] : null : Jobs.read(taskPath.exec(path)?.[1] ?? "")?.model ?? null, stream: false }),
  read: strictly((body, { path }): SimulatedCall => path === taskPost ? task(body) : taskState(looked(path, taskPath)))
}

// ---- a job below the path ---------------------------------------------------------------------------------------------------------------

const belowPost = "/api/v1/videos"
const belowPath = /^\/api\/v1\/videos\/([\w-]+?)(\/content)?$/
const belowFields: ReadonlySet<string> = new Set([
  "model", "prompt", "duration", "resolution", "aspect_ratio", "size", "seed", "generate_audio", "frame_images", "input_references", "callback_url", "provider"
])

const below = (body: Body): SimulatedCall => {
  refuseUnknown(body, belowFields, "")
  const model = requiredModel(body)
  const prompt = promptIn(body)
  optionalString(body, "aspect_ratio", ratios)
  const { frame_images: frames } = body
  if (frames !== undefined && !Array.isArray(frames)) throw invalidType("frame_images", "an array", frames)
  const id = Jobs.begin(model, markOf(prompt), optionalNumber(body, "duration", 1, MAX_SECONDS, true) ?? 5)
  return oneShotCall(model, countTokens(prompt), () => json({ id, polling_url: `${belowPost}/${id}`, status: "pending" }, 202))
}

const belowState = (job: Jobs.SimulatedJob, id: string, isContent: boolean): SimulatedCall => oneShotCall(job.model, 0, () =>
  isContent ? { type: "video/mp4", pieces: [videoOf(job.mark, job.seconds)] }
    : Jobs.isDone(job) ? json({ id, status: "completed", urls: [addressOf(job.mark)], unsigned_urls: [`${belowPost}/${id}/content?index=0`], usage: { cost: 0.5 } })
    : json({ id, polling_url: `${belowPost}/${id}`, status: "in_progress" }))

export const videoJobs: Format = {
  ...common, name: "video-jobs", matches: (path) => path === belowPost || belowPath.test(path),
  identify: (path, body) => ({ model: path === belowPost ? Predicate.isString(body["model"]) ? body["model"] : null : Jobs.read(belowPath.exec(path)?.[1] ?? "")?.model ?? null, stream: false }),
  read: strictly((body, { path }): SimulatedCall => {
    const [, id = "", content] = belowPath.exec(path) ?? []
    return path === belowPost ? below(body) : belowState(looked(path, belowPath), id, content !== undefined)
  })
}
