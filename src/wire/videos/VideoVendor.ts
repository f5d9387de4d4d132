/** What a vendor of videos with a format of its own says in its own way. Pure. */
import type { AnswerFacts } from "#actors/request/ports/Face.ts"
import type { PublicError } from "#schemas/errors.ts"
import type { State } from "#src/wire/oneShot/job.ts"
import type { Asked, Encoded } from "#src/wire/oneShot/OneShotCodec.ts"

export interface VideoVendor {
  /** Images that are named by URL are fetched and sent as bytes. */
  readonly inlines: boolean
  /** `image`: its address; null without one. */
  readonly encode: (asked: Asked, image: string | null) => Omit<Encoded<null>, "note"> | PublicError
  /** `wantsBytes`: the client asked for them. */
  readonly stateOf: (state: Readonly<Record<string, unknown>>, wantsBytes: boolean) => State
  /** Null when the bytes are no last reply of a job. `now`: Unix seconds; `seconds`: of the request, null when it does not say. */
  readonly read: (bytes: Uint8Array, now: number, seconds: number | null) => AnswerFacts | null
}

/** The box that every file of this kind begins with. */
export const isVideo = (bytes: Uint8Array): boolean => bytes.length > 12 && Buffer.from(bytes.buffer, bytes.byteOffset + 4, 4).toString("latin1") === "ftyp"
