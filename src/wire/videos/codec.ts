/** Requests for videos: the clients' format, and those of the vendors that make them. All vendors answer with jobs. Pure. */
import type { AnswerFacts } from "#actors/request/ports/Face.ts"
import { PublicError } from "#schemas/errors.ts"
import type { Units } from "#schemas/records/Units.ts"
import type { TargetFamily } from "#schemas/wire/formats.ts"
import * as Dialects from "#src/wire/dialects.ts"
import { upstream as generateContent } from "#src/wire/generateContent/index.ts"
import * as Json from "#src/wire/json/json.ts"
import { invalid } from "#src/wire/neutral/settings.ts"
import * as InlineImage from "#src/wire/oneShot/inlineImage.ts"
import * as Job from "#src/wire/oneShot/job.ts"
import * as OneShotJson from "#src/wire/oneShot/oneShotJson.ts"
import * as GeneratedMedia from "#src/wire/oneShot/generatedMedia.ts"
import type { MadeHead } from "#src/wire/oneShot/generatedMedia.ts"
import type { Asked, MediaWish, OneShotCodec, Wanted } from "#src/wire/oneShot/OneShotCodec.ts"
import type { VideoVendor } from "./VideoVendor.ts"
import { openRouter } from "./openRouter.ts"
import { predict } from "./predict.ts"
import { xai } from "./xai.ts"
import { zai } from "./zai.ts"

type Body = Readonly<Record<string, unknown>>

export interface Note {
  /** Seconds of all videos of the request, as far as it says them; null: the vendor's usual length. */
  readonly seconds: number | null
  readonly wantsBytes: boolean
}

/** Longest video and most videos of one request. */
const mostSeconds = 60
const mostVideos = 4
/** What is reserved of a video whose length the request does not say, s. */
const usualSeconds = 8
/** Longest time for one job, ms. */
const limitMs = 600_000
/** Largest image that begins a video, bytes. */
const maxImageBytes = 20 * 1024 * 1024

const vendors: Partial<Record<TargetFamily, VideoVendor>> = { "videos/openrouter": openRouter, "videos/predict": predict, "videos/xai": xai, "videos/zai": zai }

const imageRefusal = (image: unknown): PublicError | null =>
  GeneratedMedia.isAbsent(image) || InlineImage.addressOf(image) !== null ? null : invalid("image", "Field 'image' must name an https address or a data: URI of an image.")

const countRefusal = (n: unknown): PublicError | null =>
  GeneratedMedia.isAbsent(n) || (Number.isSafeInteger(n) && (n as number) >= 1 && (n as number) <= mostVideos) ? null : invalid("n", `Field 'n' must be a whole number from 1 to ${mostVideos}.`)

const head = (body: Body): MadeHead | PublicError =>
  OneShotJson.modelRefusal(body["model"], "xai/grok-imagine-video") ?? OneShotJson.textRefusal(body, "prompt") ?? imageRefusal(body["image"]) ??
  GeneratedMedia.secondsRefusal(body["duration"], mostSeconds) ?? GeneratedMedia.textsRefusal(body, ["aspect_ratio", "resolution"]) ?? countRefusal(body["n"]) ?? GeneratedMedia.formatRefusal(body) ??
  { model: body["model"] as string, stream: false, wantsUsage: false, seconds: (body["duration"] ?? null) as number | null, count: (body["n"] ?? 1) as number }

/** What a request is expected to use. */
export const units = ({ count, seconds }: MadeHead): Units => ({ second: count * (seconds ?? usualSeconds) })

const noteOf = ({ duration, n, response_format: format }: Body): Note =>
  ({ seconds: typeof duration === "number" ? duration * (typeof n === "number" ? n : 1) : null, wantsBytes: format === "b64_json" })

const media = (family: TargetFamily, { parsed }: Asked): MediaWish | PublicError => {
  const url = InlineImage.addressOf(parsed["image"])
  const remote = url === null || !/^https:/i.test(url) ? [] : [{ url, at: "image", types: vendors[family]?.inlines === true ? "^image/" : null }]
  return { remote, maxBytes: maxImageBytes, room: maxImageBytes }
}

/** A server of the clients' own format: it answers at once, or with a job beside the path. */
const readOwn = (bytes: Uint8Array, now: number): AnswerFacts | null => {
  const answer = OneShotJson.recordOf(bytes)
  const items = answer === null ? null : GeneratedMedia.itemsIn(answer)
  if (answer === null || items === null) return OneShotJson.errorOr(bytes, answer)
  return GeneratedMedia.answered(typeof answer["created"] === "number" ? answer["created"] : now, items, GeneratedMedia.secondsIn(items))
}

const ownState = (state: Body): Job.State => {
  if (GeneratedMedia.itemsIn(state) !== null || Json.isRecord(state["error"])) return "over"
  const { status } = state
  const id = Job.idOf(state["request_id"] ?? state["id"])
  return typeof status === "string" && /^(?:queued|pending|processing|in_progress|running)$/i.test(status) ? Job.running(id) : "over"
}

export const codec: OneShotCodec<MadeHead, Note> = {
  head,
  units: (body) => {
    const said = head(body)
    return said instanceof PublicError ? {} : units(said)
  },
  media,
  encode: (family, asked) => {
    const vendor = vendors[family]
    const made = vendor === undefined
      ? { body: OneShotJson.named(asked.bytes, asked.parsed, asked.model), omitted: OneShotJson.nothing }
      : vendor.encode(asked, InlineImage.addressOf(asked.parsed["image"]))
    return made instanceof PublicError ? made : { ...made, note: noteOf(asked.parsed) }
  },
  read: (family, bytes, { note: { seconds }, now }: Wanted<MadeHead, Note>) => {
    const vendor = vendors[family]
    return vendor === undefined ? readOwn(bytes, now) : vendor.read(bytes, now, seconds)
  },
  readError: (family, body) => family === "videos/predict" ? Dialects.readError(generateContent, body) : OneShotJson.readError(body),
  pollOf: (family, reply, { note: { wantsBytes } }) => {
    const vendor = vendors[family]
    return Job.next(reply, "video", limitMs, (state) => vendor === undefined ? ownState(state) : vendor.stateOf(state, wantsBytes))
  }
}
