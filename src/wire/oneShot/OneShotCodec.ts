/** How one kind of request without a conversation is said to servers and read back: one value per kind. Pure. */
import type { AnswerFacts, JobReply, Poll, UpstreamErrorBody } from "#actors/request/ports/Face.ts"
import type { Body } from "#actors/request/ports/Body.ts"
import type { Price } from "#schemas/Provider.ts"
import type { PublicError } from "#schemas/errors.ts"
import type { Units } from "#schemas/records/Units.ts"
import type { TargetFamily } from "#schemas/wire/formats.ts"
import type { Json, RequestHead } from "#src/wire/WireFormat.ts"
import type { Form } from "#src/wire/form/Form.ts"

/** The client's body. */
export interface Sent {
  /** The body as it came; empty where it is a form. */
  readonly bytes: Buffer
  /** Set where the body is a form. */
  readonly form: Form | null
}

/** What the client asked, as far as a server's format needs it. */
export interface Asked extends Sent {
  /** What the bytes say; of a form its fields. */
  readonly parsed: Json
  /** As the server knows it. */
  readonly model: string
  /** When it was asked, ms since the epoch; absent where nothing depends on it. */
  readonly now?: number
  /** What the model reads, as the registry says; absent or null when it says nothing. */
  readonly modalities?: ReadonlyArray<string> | null
  /** How long vectors are where the request does not say it, as its combo says; absent or null: as the model makes them. */
  readonly dimensions?: number | null
  /** The media of `media` that were fetched; absent before. */
  readonly media?: ReadonlyArray<FetchedMedium> | undefined
}

/** A medium that a request names by URL. */
export interface RemoteMedium {
  readonly url: string
  /** Name of the field, for messages. */
  readonly at: string
  /** A pattern of the media types that it may have; null: it is not fetched but named to the provider. */
  readonly types: string | null
}

export interface FetchedMedium {
  readonly url: string
  readonly mediaType: string
  readonly bytes: Uint8Array
}

export interface MediaWish {
  readonly remote: ReadonlyArray<RemoteMedium>
  /** Of one medium. */
  readonly maxBytes: number
  /** Bytes that all of them may have. */
  readonly room: number
}

export interface Encoded<Note> {
  readonly body: Body
  /** The server is asked by GET with these parameters, and without the body. */
  readonly query?: string
  /** Absent: JSON. */
  readonly contentType?: string
  /** Beside those of the target; flat, lower-case names. */
  readonly headers?: ReadonlyArray<string>
  /** Members of the client's body that the family cannot say. */
  readonly omitted: ReadonlyArray<string>
  /** What reading the answer needs of the request; small, because it may cross threads. */
  readonly note: Note
}

/** How long it took so far, ms. */
export interface Elapsed {
  /** Since the request was planned. */
  readonly requestMs: number
  /** Since this server was asked. */
  readonly callMs: number
}

/** What the client wants to be given. */
export interface Wanted<Head, Note> {
  readonly head: Head
  readonly note: Note
  /** The canonical id that the answer names. */
  readonly model: string
  /** Unix seconds. */
  readonly now: number
  /** The unique part of an answer's id. */
  readonly makeId: () => string
  /** What the server's work costs; null = unpriced. */
  readonly price: Price | null
  readonly elapsed: () => Elapsed
  /** Tokens of the prompt, for a server that does not count them. */
  readonly estimate: () => number
}

export interface OneShotCodec<Head extends RequestHead, Note = null> {
  /** Reads what is planned by, and refuses what no server could read. */
  readonly head: (body: Json) => Head | PublicError
  /** What a large body is expected to use, counted where it is read whole; absent: its outline says it. */
  readonly units?: (body: Json) => Units
  /** The request for a server of the family. */
  readonly encode: (family: TargetFamily, asked: Asked) => Encoded<Note> | PublicError
  /** What the request names by URL, or why the target cannot take it; absent: such requests name nothing. */
  readonly media?: (family: TargetFamily, asked: Asked) => MediaWish | PublicError
  /** Servers of the family take a form's files inside of the body, so that they are read into memory; absent: none does. */
  readonly takesFilesInside?: (family: TargetFamily) => boolean
  /** Null when the bytes are no answer of the family. */
  readonly read: (family: TargetFamily, bytes: Uint8Array, wanted: Wanted<Head, Note>) => AnswerFacts | null
  /** Of servers that answer with jobs: as `Dialect.pollOf`. */
  readonly pollOf?: (family: TargetFamily, reply: JobReply, wanted: Wanted<Head, Note>) => Poll | PublicError | null
  /** How the family's servers tell of an error. */
  readonly readError: (family: TargetFamily, body: Uint8Array) => UpstreamErrorBody | null
}
