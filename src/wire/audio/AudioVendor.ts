/** What a vendor of sound with a format of its own says in its own way. Pure. */
import type { UpstreamErrorBody } from "#actors/request/ports/Face.ts"
import type { PublicError } from "#schemas/errors.ts"
import type { State } from "#src/wire/oneShot/job.ts"
import type { Asked, Encoded } from "#src/wire/oneShot/OneShotCodec.ts"
import type { Json } from "#src/wire/WireFormat.ts"
import type { Word } from "./cues.ts"

/** A transcription before it is written in the format that the client wants. */
export interface Heard {
  readonly text: string
  readonly language: string | null
  /** Seconds that the vendor counted; null when it did not. */
  readonly seconds: number | null
  readonly words: ReadonlyArray<Word>
}

/** What a job is ordered with after its sound was sent. */
export interface JobAsked {
  readonly model: string
  readonly language: string | null
  readonly prompt: string | null
}

/** A vendor's request, without what reading its answer needs. */
export type Body = Omit<Encoded<null>, "note">

export interface AudioVendor {
  /** Path and query of a request for speech; `path`: the provider's own. */
  readonly speechPath: (path: string, model: string, body: Json) => string
  readonly speech: (asked: Asked) => Body | PublicError
  readonly transcriptionPath: (path: string, model: string, body: Json) => string
  readonly transcription: (asked: Asked) => Body | PublicError
  /** Of a vendor that answers with jobs; `replies`: how many came before this one. */
  readonly stateOf?: (state: Json, replies: number, asked: JobAsked) => State
  /** Null when the answer is no transcription. */
  readonly heard: (answer: Json) => Heard | null
  /** Null when the body is no error of the vendor. */
  readonly error: (body: Json) => UpstreamErrorBody | null
}

/** Names of the fields that are said and not understood. */
export const omitted = (body: Json, understood: ReadonlySet<string>): ReadonlyArray<string> =>
  Object.keys(body).filter((name) => body[name] !== undefined && body[name] !== null && !understood.has(name))

export const textOf = (value: unknown): string | null => typeof value === "string" && value !== "" ? value : null

/** Words of an answer; `name`: the member that holds a word's text; `perSecond`: units of its times in a second. */
export const wordsOf = (list: unknown, name: string, perSecond = 1): ReadonlyArray<Word> =>
  !Array.isArray(list) ? [] : list.flatMap((one: unknown): ReadonlyArray<Word> => {
    if (typeof one !== "object" || one === null) return []
    const word = one as Json
    const { end, start } = word
    const text = word[name]
    return typeof text === "string" && typeof start === "number" && typeof end === "number" && (word["type"] ?? "word") === "word" ? [{ text, start: start / perSecond, end: end / perSecond }] : []
  })

/** The name of a voice, or its id. */
export const voiceOf = ({ voice }: Json): string => typeof voice === "string" ? voice : String((voice as Json)["id"])
