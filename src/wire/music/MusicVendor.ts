/** What a vendor of music with a format of its own says in its own way. Pure. */
import type { AnswerFacts, UpstreamErrorBody } from "#actors/request/ports/Face.ts"
import type { PublicError } from "#schemas/errors.ts"
import type { Asked, Encoded } from "#src/wire/oneShot/OneShotCodec.ts"

export interface MusicVendor {
  readonly encode: (asked: Asked) => Omit<Encoded<null>, "note"> | PublicError
  /** Null when the bytes are no answer. `now`: Unix seconds; `seconds`: of the request, null when it does not say. */
  readonly read: (bytes: Uint8Array, note: { readonly format: string; readonly seconds: number | null }, now: number) => AnswerFacts | null
  /** Null for the form that most vendors share. */
  readonly readError: (body: Uint8Array) => UpstreamErrorBody | null
}
