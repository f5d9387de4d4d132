/** One request without a conversation, in the words of each target that is tried. */
import * as Crypto from "node:crypto"
import * as Effect from "effect/Effect"
import type { Body } from "#actors/request/ports/Body.ts"
import type { Dialect } from "#actors/request/ports/Face.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import * as Errors from "#schemas/errors.ts"
import { PublicError } from "#schemas/errors.ts"
import type { TargetFamily } from "#schemas/wire/formats.ts"
import * as Answers from "#src/inference/lane/bodies/answers.ts"
import type { BodyWorkers } from "#src/inference/lane/bodies/BodyWorkers.ts"
import type { Kind } from "#src/inference/lane/bodies/jobs.ts"
import * as InMemory from "#src/inference/lane/forms/inMemory.ts"
import type { Prompt } from "#src/inference/lane/bodies/Prompt.ts"
import type { Encoding } from "#src/inference/lane/Operation.ts"
import type { LaneServices } from "#src/inference/lane/services/LaneServices.ts"
import type { Form } from "#src/wire/form/Form.ts"
import type { CodecName } from "#src/wire/oneShot/codecs.ts"
import type { Encoded, FetchedMedium, MediaWish, OneShotCodec, Wanted } from "#src/wire/oneShot/OneShotCodec.ts"
import type { RequestHead } from "#src/wire/WireFormat.ts"
import type { MediaFetch } from "#src/platform/media/MediaFetch.ts"
import type { Encode, Wants } from "./encodeJob.ts"
import * as Media from "./media.ts"
import * as Reading from "./reading.ts"
import type { Read } from "./readJob.ts"

const nothingGrown = {}

/** Bytes of a body that its request may keep. */
const SMALL_BYTES = 4 * 1024

const encodeJob: Kind<Encode, Encoded<unknown> | Wants> = { module: new URL("./encodeJob.ts", import.meta.url).href }

const readJob: Kind<Read, Answers.Said> = { module: new URL("./readJob.ts", import.meta.url).href }

const nothing: ReadonlyArray<string> = []

export class OneShotEncoding<Head extends RequestHead, Note> implements Encoding {
  readonly #kind: CodecName
  readonly #codec: OneShotCodec<Head, Note>
  readonly #head: Head
  readonly #prompt: Prompt
  /** The body that was made last. */
  #encoded: Encoded<Note> | null = null
  /** A large body by its target, made by a thread of its own. */
  #prepared: Map<Target, Encoded<Note> | PublicError> | null = null

  /** When it was planned, ms since the epoch. */
  readonly #since: number

  /** What was fetched, or why it was not. */
  #media: ReadonlyArray<FetchedMedium> | PublicError | null = null

  /** The form with its files in memory, or why they are not. */
  #form: Form | PublicError | null = null

  /** How long vectors are where the request does not say it; null = as the model makes them. */
  readonly #dimensions: number | null

  constructor(kind: CodecName, codec: OneShotCodec<Head, Note>, head: Head, prompt: Prompt, now: number, dimensions: number | null) {
    this.#dimensions = dimensions
    this.#since = now
    this.#kind = kind
    this.#codec = codec
    this.#head = head
    this.#prompt = prompt
  }

  get prepares(): boolean {
    return this.#codec.media !== undefined || this.#codec.takesFilesInside !== undefined
  }

  prepare(workers: BodyWorkers, target: Target, _continues: string | null, media: MediaFetch["Service"]): Effect.Effect<void> | null {
    const { body, form, large, parsed } = this.#prompt
    const { model, wireFormat: family } = target
    const modalities = target.inputModalities ?? null
    const job: Encode = { id: large?.id ?? workers.nextId(), bytes: body, grown: large?.grown ?? nothingGrown, kind: this.#kind, family, model, modalities, dimensions: this.#dimensions, now: this.#since }
    if (form !== null) return this.#form === null && this.#codec.takesFilesInside?.(family) === true && InMemory.isNeeded(form) ? this.#loading(form) : null
    if (large !== null) return this.#making(workers, media, target, job)
    const wants = this.#codec.media?.(family, { bytes: body, parsed, form: null, model, modalities })
    // What is refused here is refused again where the body is made.
    return wants === undefined || wants instanceof PublicError || wants.remote.length === 0 ? null : this.#fetching(workers, media, target, job, wants)
  }

  #loading(form: Form): Effect.Effect<void> {
    return Effect.map(InMemory.of(form), (found) => {
      this.#form = found
    })
  }

  #making(workers: BodyWorkers, media: MediaFetch["Service"], target: Target, job: Encode): Effect.Effect<void> {
    const made = Effect.callback<Encoded<unknown> | Wants | PublicError>((resume) => workers.ask(encodeJob, job, (said) => resume(Effect.succeed(said))))
    return Effect.flatMap(made, (said) => {
      if (!(said instanceof PublicError) && "wants" in said) return this.#fetching(workers, media, target, job, said.wants)
      this.#prepared ??= new Map()
      // The job asks the codec of this kind.
      this.#prepared.set(target, said as Encoded<Note> | PublicError)
      return Effect.void
    })
  }

  /** Fetches once for all targets that take the same media. */
  #fetching(workers: BodyWorkers, media: MediaFetch["Service"], target: Target, job: Encode, wants: MediaWish): Effect.Effect<void> {
    const known = this.#media
    return Effect.flatMap(known === null ? Media.collect(media, wants) : Effect.succeed(known), (found) => {
      this.#media = found
      if (!(found instanceof PublicError)) return this.#making(workers, media, target, { ...job, media: found })
      this.#prepared ??= new Map()
      this.#prepared.set(target, found)
      return Effect.void
    })
  }

  bodyFor(target: Target): Body | PublicError {
    const { body, parsed } = this.#prompt
    const form = this.#codec.takesFilesInside?.(target.wireFormat) === true ? this.#form ?? this.#prompt.form : this.#prompt.form
    if (form instanceof PublicError) return form
    const prepared = this.#prepared?.get(target)
    this.#prepared?.delete(target)
    const made = prepared ?? this.#codec.encode(target.wireFormat, { bytes: body, parsed, form, model: target.model, modalities: target.inputModalities ?? null, dimensions: this.#dimensions, now: this.#since })
    if (made instanceof PublicError) return made
    this.#encoded = made
    return made.body
  }

  contentTypeFor(): string | null {
    return this.#encoded?.contentType ?? null
  }

  askedBy(): string | null {
    return this.#encoded?.query ?? null
  }

  extraHeaders(): ReadonlyArray<string> {
    return this.#encoded?.headers ?? nothing
  }

  continuationFor(): PublicError {
    return Errors.make("internal_server_error", "Only conversations are continued.")
  }

  omittedFor(): ReadonlyArray<string> {
    return this.#encoded?.omitted ?? nothing
  }

  effortFor(): null {
    return null
  }

  release(): void {
    this.#prepared = null
    this.#media = null
    this.#form = null
    const encoded = this.#encoded
    // A small body may live as long as its request: to release it costs more than it holds.
    if (encoded !== null && !(encoded.body instanceof Uint8Array && encoded.body.byteLength <= SMALL_BYTES)) this.#encoded = { ...encoded, body: noBytes }
  }

  dialectFor(target: Target, { bodies, request: { accounting, now } }: Pick<LaneServices, "bodies" | "request">): Dialect {
    const family: TargetFamily = target.wireFormat
    const encoded = this.#encoded
    // A dialect is asked for after its body was made.
    if (encoded === null) throw new Error(`no body was made for ${target.publicModel}`)
    const calledAt = now()
    const wanted: Wanted<Head, Note> = {
      head: this.#head, note: encoded.note, model: target.publicModel, now: Math.floor(calledAt / 1000), makeId: Crypto.randomUUID, price: target.price,
      estimate: () => accounting.estimate(this.#prompt.text()),
      elapsed: () => ({ requestMs: now() - this.#since, callMs: now() - calledAt })
    }
    return Reading.dialectOf(this.#codec, family, wanted, (question, done) => Answers.ask(bodies, readJob, question, (common) => {
      const { elapsed, estimate, makeId: _, ...told } = wanted
      return { ...common, kind: this.#kind, family, wanted: told, estimated: estimate(), elapsed: elapsed() }
    }, ignored, done))
  }
}

const noBytes = new Uint8Array(0)

const ignored = (): void => undefined
