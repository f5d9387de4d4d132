/**
 * A multipart form with one file, read as it arrives: plain fields are kept, the file is handed on as a stream that is pulled no faster
 * than its consumer takes it. The stream fails, and does not end, when the form breaks off in it.
 */
import * as ByteSize from "effect/ByteSize"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import { isHttpServerError } from "effect/http/HttpServerError"
import * as HttpIncomingMessage from "effect/http/HttpIncomingMessage"
import type * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as Multipart from "effect/http/Multipart"
import * as Pull from "effect/Pull"
import * as Stream from "effect/Stream"
import { type BodyFailure, BodyUnread } from "#src/platform/server/Exchange.ts"

/** Bytes that boundaries, headers and fields may add to the file. */
const AROUND_BYTES = 1024 * 1024
const MOST_PARTS = 32
const MOST_FIELD_BYTES = 64 * 1024

/** `malformed`: the body is not such a form, or breaks off. */
export class FormError extends Data.TaggedError("FormError")<{
  readonly reason: "not-a-form" | "malformed" | "file-too-large" | "field-too-large" | "too-many-parts" | "second-file" | Exclude<BodyFailure, "too-large" | "undecodable">
}> {}

export interface FormFile {
  /** Name of the field. */
  readonly field: string
  readonly filename: string
  readonly contentType: string
  readonly content: Stream.Stream<Uint8Array, FormError>
}

export interface FormLimits {
  readonly fileBytes: number
}

type Fields = ReadonlyMap<string, string>

/** True for a Content-Type that names a form and its boundary. */
const isForm = (contentType: string | undefined): boolean => contentType !== undefined && /^\s*multipart\/form-data\s*;(?:.*;)?\s*boundary=[^\s;]/i.test(contentType)

/**
 * Reads the whole form. `store` is run once, with the file and the fields that came before it; what it answers is null when there was no
 * file. A field that comes again is refused, as is a second file.
 */
export const read = <A, E, R>(
  request: HttpServerRequest.HttpServerRequest,
  limits: FormLimits,
  store: (file: FormFile, before: Fields) => Effect.Effect<A, E, R>
): Effect.Effect<{ readonly fields: Fields; readonly file: A | null }, E | FormError, R> => Effect.scoped(Effect.gen(function*() {
  if (!isForm(request.headers["content-type"])) return yield* new FormError({ reason: "not-a-form" })
  if ((request.headers["content-encoding"] ?? "identity").toLowerCase() !== "identity") return yield* new FormError({ reason: "coding" })
  const most = limits.fileBytes + AROUND_BYTES
  if (Number(request.headers["content-length"] ?? 0) > most) return yield* new FormError({ reason: "file-too-large" })
  const fields = new Map<string, string>()
  const waiting: Array<Multipart.Part> = []
  let isOver = false
  let stored: { readonly value: A } | null = null

  const parts = yield* Stream.toPull(Stream.mapError(request.multipartStream, failureOf))
  const more = Effect.suspend(() => isOver ? Effect.void : Pull.catchDone(Effect.map(parts, (next) => {
    waiting.push(...next)
  }), () => Effect.sync(() => {
    isOver = true
  })))

  /** The parser ends a file also where the form broke off or passed a limit; that shows only when it is asked for what follows. */
  const whole = (part: Multipart.File): Stream.Stream<Uint8Array, FormError> => {
    let bytes = 0
    return part.content.pipe(
      Stream.mapError(failureOf),
      Stream.tap((chunk) => {
        bytes += chunk.byteLength
        return bytes > limits.fileBytes ? Effect.fail(new FormError({ reason: "file-too-large" })) : Effect.void
      }),
      Stream.concat(Stream.drain(Stream.fromEffect(Effect.suspend(() => waiting.length === 0 ? more : Effect.void))))
    )
  }

  for (;;) {
    if (waiting.length === 0) yield* more
    const part = waiting.shift()
    if (part === undefined) {
      if (isOver) break
      continue
    }
    if (part.key === "") return yield* new FormError({ reason: "malformed" })
    if (part._tag === "Field") {
      if (fields.has(part.key)) return yield* new FormError({ reason: "malformed" })
      fields.set(part.key, part.value)
      continue
    }
    if (stored !== null) return yield* new FormError({ reason: "second-file" })
    stored = { value: yield* store({ field: part.key, filename: plain(part.name), contentType: part.contentType, content: whole(part) }, fields) }
  }
  return { fields, file: stored === null ? null : stored.value }
})).pipe(
  Effect.provideService(Multipart.MaxParts, MOST_PARTS),
  Effect.provideService(Multipart.MaxFieldSize, ByteSize.bytes(MOST_FIELD_BYTES)),
  // A part with a file name is a file, whatever its type.
  Effect.provideService(Multipart.FieldMimeTypes, []),
  Effect.provideService(HttpIncomingMessage.MaxBodySize, ByteSize.bytes(limits.fileBytes + AROUND_BYTES))
)

/** As browsers write a quotation mark and line ends in a name. */
const plain = (name: string): string => name.replace(/%22/g, "\"").replace(/%0D/gi, "\r").replace(/%0A/gi, "\n")

const failureOf = (error: unknown): FormError => {
  if (error instanceof FormError) return error
  if (error instanceof Multipart.MultipartError) {
    switch (error.reason._tag) {
      case "FileTooLarge":
      case "BodyTooLarge":
        return new FormError({ reason: "file-too-large" })
      case "FieldTooLarge":
        return new FormError({ reason: "field-too-large" })
      case "TooManyParts":
        return new FormError({ reason: "too-many-parts" })
      case "Parse":
        return new FormError({ reason: "malformed" })
      case "InternalError":
        return failureOf(error.reason.cause)
    }
  }
  const cause = isHttpServerError(error) ? error.reason.cause : null
  if (!(cause instanceof BodyUnread)) return new FormError({ reason: "malformed" })
  switch (cause.failure) {
    case "too-large":
      return new FormError({ reason: "file-too-large" })
    case "undecodable":
      return new FormError({ reason: "malformed" })
    default:
      return new FormError({ reason: cause.failure })
  }
}
