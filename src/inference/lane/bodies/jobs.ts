/**
 * What is done with a large body, away from the loop: functions from its bytes to bytes or to small facts, never to its tree, whose copy
 * would hold the loop as long as the parser does. Each kind of job is a module that exports `run`; `bodyWorker.ts` loads it when it is first asked for.
 */
import { unmarked } from "#actors/request/steps/bytes.ts"
import * as Errors from "#schemas/errors.ts"
import { PublicError } from "#schemas/errors.ts"
import type { CallFormat } from "#schemas/wire/formats.ts"
import type { Units } from "#schemas/records/Units.ts"
import * as JsonBounds from "#src/platform/structures/jsonBounds.ts"
import type { Media } from "#src/routing/capabilities/demands.ts"
import { asBuffer } from "#src/wire/json/asBuffer.ts"
import * as Json from "#src/wire/json/json.ts"

export type Body = Record<string, unknown>

/** A body that another job may be about, too. */
export interface JobSubject {
  /** Of this body in this process. */
  readonly id: number
  readonly bytes: Uint8Array
}

/** Parses bytes within the bounds. */
export type Parse = (subject: JobSubject) => Body | PublicError

/** Does a job in a thread; what it answers is copied to the loop's thread. */
export type RunJob<J extends JobSubject, R extends object> = (job: J, parse: Parse) => R | PublicError

/** A kind of job. The types say what its module's `run` takes and answers. */
export interface Kind<J extends JobSubject, R extends object> {
  /** URL of the module that exports `run`. */
  readonly module: string
  readonly run?: RunJob<J, R>
}

export interface Open extends JobSubject {
  /** The format whose head is checked; null = no format is checked. */
  readonly format: CallFormat | null
  /** Members that the path will say; they are not missed. */
  readonly fromPath: boolean
}

export interface OpenedBody {
  readonly outline: Body
  readonly containers: number
  /** SHA-256 of the bytes, hex. */
  readonly digest: string
  /** SHA-256 of what makes the body the same for the response cache; null when its answer is not kept there. */
  readonly identity: string | null
  /** Tokens that the prompt has at least; 0 where it is no conversation. */
  readonly leastTokens: number
  /** What a request without a conversation is expected to use beside tokens; null where its outline says that, too. */
  readonly units: Units | null
  /** Media of its turns; null where it is no conversation. */
  readonly media: Media | null
}

/** The conversation stood in another format's member: these bytes are the request's. */
export interface MovedBody {
  readonly moved: Uint8Array
}

/** The first job about every large body. */
export const opening: Kind<Open, OpenedBody | MovedBody> = { module: new URL("./open.ts", import.meta.url).href }

/** A request's body as it is read and sent on. */
export const bodyOf = (bytes: Uint8Array): Buffer => asBuffer(unmarked(bytes))

/** A copy in memory that threads share: sending it to one costs nothing. */
export const sharedCopyOf = (bytes: Uint8Array): Buffer => {
  const copy = Buffer.from(new SharedArrayBuffer(bytes.length))
  copy.set(bytes)
  return copy
}

/** The bytes of a job as a buffer over the same memory. */
export const bufferOf = ({ bytes }: JobSubject): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** The JSON object of a text within the bounds, or why there is none. */
export const parseBody = (bytes: Buffer): Body | PublicError => {
  let value: unknown
  try {
    value = JSON.parse(bytes.toString("utf8"))
  } catch (cause) {
    return Errors.make("invalid_json", `The request body is not valid JSON: ${cause instanceof Error ? cause.message.slice(0, 200) : ""}`, { extra: { param: "body" } })
  }
  return Json.isRecord(value) ? value : Errors.make("bad_request", "The request body must be a JSON object.", { extra: { param: "body" } })
}

/** The refusal of a body beyond the bounds of JSON. */
export const refusalOf = (excess: JsonBounds.Excess): PublicError =>
  Errors.make("bad_request", `The request body is refused: ${JsonBounds.describe(excess)}.`, { extra: { param: "body" } })
