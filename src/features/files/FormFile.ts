/**
 * A multipart form with one file, read as it arrives: plain fields are kept, the file is handed on as a stream that is pulled no faster
 * than its consumer takes it. The stream fails, and does not end, when the form breaks off in it.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type { HttpServerError } from "effect/http/HttpServerError"
import type * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as Pull from "effect/Pull"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Errors from "#schemas/errors.ts"
import type { PublicError } from "#schemas/errors.ts"
import { BodyUnread } from "#src/platform/server/Exchange.ts"
import * as FormReader from "#src/wire/form/FormReader.ts"

/** Bytes that boundaries, headers and fields may add to the file. */
const AROUND_BYTES = 1024 * 1024
const MOST_PARTS = 32
const MOST_FIELD_BYTES = 64 * 1024

/** `malformed`: the body is not such a form, or breaks off. */
export class FormError extends Schema.TaggedError<FormError>()("FormError", {
  reason: Schema.Literals([
    "not-a-form", "malformed", "file-too-large", "field-too-large", "too-many-parts", "second-file", "aborted", "timeout", "coding", "no-room"
  ])
}) {}

interface FileHead {
  /** Name of the field. */
  readonly field: string
  readonly filename: string
  readonly contentType: string
}

export interface FormFile extends FileHead {
  /** Borrowed bytes, until the next ones are asked for: copy them to keep them. */
  readonly content: Stream.Stream<Uint8Array, FormError>
}

export interface FileLimits {
  readonly fileBytes: number
}

type Fields = ReadonlyMap<string, string>

type Arrived =
  | { readonly _tag: "Field"; readonly name: string; readonly value: string }
  | { readonly _tag: "File"; readonly head: FileHead }
  | { readonly _tag: "Bytes"; readonly bytes: Uint8Array }
  | { readonly _tag: "FileEnd" }

/** Ends the reader; the caller reads the failure that stands beside it. */
const refused: PublicError = Errors.make("bad_request", "The form is refused.")

/** What has come of a form and was not taken yet: at most what one read of the body brought. */
class Arrivals {
  readonly #reader: FormReader.FormReader
  readonly #limits: FileLimits
  readonly #waiting: Array<Arrived> = []
  #failure: FormError | null = null
  #bytes = 0
  #parts = 0

  constructor(boundary: string, limits: FileLimits) {
    this.#limits = limits
    this.#reader = new FormReader.FormReader(boundary, (head) => this.#begin(head), { parts: Infinity, field: Infinity, fields: Infinity, preamble: AROUND_BYTES })
  }

  /** What came next; null when more of the body is needed for it. */
  take(): Arrived | null {
    return this.#waiting.shift() ?? null
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0
  }

  /** What arrived before a failure can be taken first. */
  get failure(): FormError | null {
    return this.#failure
  }

  push(bytes: Uint8Array): void {
    if (this.#failure !== null) return
    this.#bytes += bytes.byteLength
    if (this.#bytes > this.#limits.fileBytes + AROUND_BYTES) this.#fail("file-too-large")
    else if (this.#reader.push(bytes) !== null) this.#fail("malformed")
  }

  end(): void {
    if (this.#reader.end() !== null) this.#fail("malformed")
  }

  #fail(reason: FormError["reason"]): PublicError {
    this.#failure ??= new FormError({ reason })
    return refused
  }

  #begin({ contentType, filename, name }: FormReader.PartHead): FormReader.PartSink | PublicError {
    if (++this.#parts > MOST_PARTS) return this.#fail("too-many-parts")
    if (name === "") return this.#fail("malformed")
    // A part with a file name is a file, whatever its type.
    return filename === null ? this.#field(name) : this.#file({ field: name, filename, contentType: contentType ?? "application/octet-stream" })
  }

  #field(name: string): FormReader.PartSink {
    const pieces: Array<Buffer> = []
    let length = 0
    return {
      push: (bytes) => {
        length += bytes.byteLength
        if (length > MOST_FIELD_BYTES) return this.#fail("field-too-large")
        pieces.push(Buffer.from(bytes))
        return null
      },
      end: () => {
        this.#waiting.push({ _tag: "Field", name, value: Buffer.concat(pieces).toString("utf8") })
        return null
      }
    }
  }

  #file(head: FileHead): FormReader.PartSink {
    this.#waiting.push({ _tag: "File", head })
    let length = 0
    return {
      push: (bytes) => {
        length += bytes.byteLength
        if (length > this.#limits.fileBytes) return this.#fail("file-too-large")
        this.#waiting.push({ _tag: "Bytes", bytes })
        return null
      },
      end: () => {
        this.#waiting.push({ _tag: "FileEnd" })
        return null
      }
    }
  }
}

/** Smaller ones may share their memory. */
const LEAST_FREED_BYTES = 64 * 1024

/**
 * Frees the memory of bytes that were read. The collector would, but late where other processes take the cores, and a file
 * that comes fast would stand in memory meanwhile.
 */
const free = ({ buffer, byteLength }: Uint8Array): void => {
  if (byteLength >= LEAST_FREED_BYTES && byteLength === buffer.byteLength && buffer instanceof ArrayBuffer) buffer.transfer(0)
}

/**
 * Reads the whole form. `store` is run once, with the file and the fields that came before it; what it answers is null when there was no
 * file. A field that comes again is refused, as is a second file.
 */
export const read = <A, E, R>(
  request: HttpServerRequest.HttpServerRequest,
  limits: FileLimits,
  store: (file: FormFile, before: Fields) => Effect.Effect<A, E, R>
): Effect.Effect<{ readonly fields: Fields; readonly file: A | null }, E | FormError, R> => Effect.scoped(Effect.gen(function*() {
  const boundary = FormReader.boundaryOf(request.headers["content-type"])
  if (boundary === null) return yield* new FormError({ reason: "not-a-form" })
  if ((request.headers["content-encoding"] ?? "identity").toLowerCase() !== "identity") return yield* new FormError({ reason: "coding" })
  if (Number(request.headers["content-length"] ?? 0) > limits.fileBytes + AROUND_BYTES) return yield* new FormError({ reason: "file-too-large" })
  const arrivals = new Arrivals(boundary, limits)
  const body = yield* Stream.toPull(Stream.mapError(request.stream, failureOf))
  let isOver = false
  let before: ReadonlyArray<Uint8Array> = []

  const come = Effect.map(body, (chunks) => {
    before.forEach(free)
    before = chunks
    chunks.forEach((chunk) => arrivals.push(chunk))
  })
  const more = Pull.catchDone(come, () => Effect.sync(() => {
    isOver = true
    arrivals.end()
  }))

  /** Reads until something can be taken; succeeds with nothing to take at the end of the form. */
  const arrived: Effect.Effect<void, FormError> = Effect.suspend(() => {
    if (!arrivals.isEmpty) return Effect.void
    if (arrivals.failure !== null) return Effect.fail(arrivals.failure)
    return isOver ? Effect.void : Effect.andThen(more, arrived)
  })

  /** The file has ended well only when its form goes on or ends behind it. */
  const content = Stream.fromPull(Effect.succeed(Effect.flatMap(arrived, (): Effect.Effect<readonly [Uint8Array], FormError | Cause.Done> => {
    const next = arrivals.take()
    return next?._tag === "Bytes" ? Effect.succeed([next.bytes]) : Effect.andThen(arrived, Cause.done())
  })))

  const fields = new Map<string, string>()
  let stored: { readonly value: A } | null = null
  for (;;) {
    yield* arrived
    const next = arrivals.take()
    if (next === null) break
    if (next._tag === "Field") {
      if (fields.has(next.name)) return yield* new FormError({ reason: "malformed" })
      fields.set(next.name, next.value)
    } else if (next._tag === "File") {
      if (stored !== null) return yield* new FormError({ reason: "second-file" })
      stored = { value: yield* store({ ...next.head, content }, fields) }
    }
  }
  return { fields, file: stored === null ? null : stored.value }
}))

const failureOf = ({ reason }: HttpServerError): FormError => {
  const cause = reason.cause
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
