/** Requests for music: the clients' format, and those of the vendors that make it. Pure. */
import type { AnswerFacts } from "#actors/request/ports/Face.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import { PublicError } from "#schemas/errors.ts"
import type { Units } from "#schemas/records/Units.ts"
import type { TargetFamily } from "#schemas/wire/formats.ts"
import * as Json from "#src/wire/json/json.ts"
import * as Job from "#src/wire/oneShot/job.ts"
import * as OneShotJson from "#src/wire/oneShot/oneShotJson.ts"
import * as GeneratedMedia from "#src/wire/oneShot/generatedMedia.ts"
import type { MadeHead } from "#src/wire/oneShot/generatedMedia.ts"
import type { OneShotCodec, Wanted } from "#src/wire/oneShot/OneShotCodec.ts"
import type { Json as Body } from "#src/wire/WireFormat.ts"
import type { MusicVendor } from "./MusicVendor.ts"
import { elevenLabs, placedFor } from "./elevenLabs.ts"
import { minimax } from "./minimax.ts"
import { predict } from "./predict.ts"

export interface Note {
  /** The sound's format, as the client says it. */
  readonly format: string
  /** Seconds that the client asks for; null when it does not say. */
  readonly seconds: number | null
}

/** Longest piece, s. */
const mostSeconds = 600
/** What is reserved of a piece whose length the request does not say, s. */
const usualSeconds = 60
/** Longest time for one job, ms. */
const limitMs = 300_000
const usualFormat = "mp3"

const vendors: Partial<Record<TargetFamily, MusicVendor>> = { "music/elevenlabs": elevenLabs, "music/minimax": minimax, "music/predict": predict }

const head = (body: Body): MadeHead | PublicError =>
  OneShotJson.modelRefusal(body["model"], "elevenlabs/music_v1") ?? OneShotJson.textRefusal(body, "prompt") ?? GeneratedMedia.secondsRefusal(body["duration"], mostSeconds) ??
  GeneratedMedia.textsRefusal(body, ["lyrics", "format"]) ?? GeneratedMedia.formatRefusal(body) ??
  { model: body["model"] as string, stream: false, wantsUsage: false, seconds: (body["duration"] ?? null) as number | null, count: 1 }

/** What a request is expected to use. */
export const units = ({ seconds }: Pick<MadeHead, "seconds">): Units => ({ second: seconds ?? usualSeconds })

const noteOf = ({ duration, format }: Body): Note => ({ format: typeof format === "string" ? format : usualFormat, seconds: typeof duration === "number" ? duration : null })

/** A server of the clients' own format: it answers at once, or with a job beside the path. */
const readOwn = (bytes: Uint8Array, { format, seconds }: Note, now: number): AnswerFacts | null => {
  const answer = OneShotJson.recordOf(bytes)
  const items = answer === null ? null : GeneratedMedia.itemsIn(answer)
  if (answer === null || items === null) return OneShotJson.errorOr(bytes, answer)
  const created = typeof answer["created"] === "number" ? answer["created"] : now
  return GeneratedMedia.answered(created, items.map((item) => ({ format, ...item })), GeneratedMedia.secondsIn(items) ?? (seconds === null ? null : { second: seconds }))
}

const ownState = (state: Body): Job.State => {
  if (GeneratedMedia.itemsIn(state) !== null || Json.isRecord(state["error"])) return "over"
  const { status } = state
  return typeof status === "string" && /^(?:queued|pending|processing|in_progress|running)$/i.test(status) ? Job.running(Job.idOf(state["request_id"] ?? state["id"])) : "over"
}

/** The target at the path of this request. */
export const placed = <T extends Pick<Target, "path" | "streamPath" | "wireFormat">>(target: T, body: Body): T =>
  target.wireFormat === "music/elevenlabs" ? placedFor(target, body) : target

export const codec: OneShotCodec<MadeHead, Note> = {
  head,
  units: (body) => {
    const said = head(body)
    return said instanceof PublicError ? {} : units(said)
  },
  encode: (family, asked) => {
    const vendor = vendors[family]
    const made = vendor === undefined
      ? { body: OneShotJson.named(asked.bytes, asked.parsed, asked.model), omitted: OneShotJson.nothing }
      : vendor.encode(asked)
    return made instanceof PublicError ? made : { ...made, note: noteOf(asked.parsed) }
  },
  read: (family, bytes, { note, now }: Wanted<MadeHead, Note>) => {
    const vendor = vendors[family]
    return vendor === undefined ? readOwn(bytes, note, now) : vendor.read(bytes, note, now)
  },
  readError: (family, body) => vendors[family]?.readError(body) ?? OneShotJson.readError(body),
  pollOf: (family, reply) => vendors[family] === undefined ? Job.next(reply, "music", limitMs, ownState) : null
}
