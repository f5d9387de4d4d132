/** One request without a conversation, in the words of each target that is tried. */
import * as Effect from "effect/Effect"
import type { Dialect } from "#actors/request/ports/Face.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import * as Errors from "#schemas/errors.ts"
import { PublicError } from "#schemas/errors.ts"
import type { OneShotKind, TargetFamily } from "#schemas/wire/formats.ts"
import * as Answers from "#src/inference/lane/bodies/answers.ts"
import type { BodyWorkers } from "#src/inference/lane/bodies/BodyWorkers.ts"
import type { Kind } from "#src/inference/lane/bodies/jobs.ts"
import type { Prompt } from "#src/inference/lane/bodies/Prompt.ts"
import type { Encoding } from "#src/inference/lane/Operation.ts"
import type { LaneServices } from "#src/inference/lane/services/LaneServices.ts"
import type { Encoded, OneShotCodec } from "#src/wire/oneShot/OneShotCodec.ts"
import type { RequestHead } from "#src/wire/WireFormat.ts"
import type { Encode } from "./encodeJob.ts"
import * as Reading from "./reading.ts"
import type { Read } from "./readJob.ts"

const encodeJob: Kind<Encode, Encoded<unknown>> = { module: new URL("./encodeJob.ts", import.meta.url).href }

const readJob: Kind<Read, Answers.Said> = { module: new URL("./readJob.ts", import.meta.url).href }

const nothing: ReadonlyArray<string> = []

export class OneShotEncoding<Head extends RequestHead, Note> implements Encoding {
  readonly #kind: OneShotKind
  readonly #codec: OneShotCodec<Head, Note>
  readonly #head: Head
  readonly #prompt: Prompt
  /** The body that was made last. */
  #encoded: Encoded<Note> | null = null
  /** A large body by its target, made by a thread of its own. */
  #prepared: Map<Target, Encoded<Note> | PublicError> | null = null

  constructor(kind: OneShotKind, codec: OneShotCodec<Head, Note>, head: Head, prompt: Prompt) {
    this.#kind = kind
    this.#codec = codec
    this.#head = head
    this.#prompt = prompt
  }

  prepare(workers: BodyWorkers, target: Target): Effect.Effect<void> | null {
    const { body, large } = this.#prompt
    return large === null ? null : Effect.callback<void>((resume) =>
      workers.ask(encodeJob, { id: large.id, bytes: body, grown: large.grown, kind: this.#kind, family: target.wireFormat, model: target.model }, (made) => {
        this.#prepared ??= new Map()
        // The job asks the codec of this kind.
        this.#prepared.set(target, made as Encoded<Note> | PublicError)
        resume(Effect.void)
      }))
  }

  bodyFor(target: Target): Uint8Array | PublicError {
    const { body, form, parsed } = this.#prompt
    const prepared = this.#prepared?.get(target)
    this.#prepared?.delete(target)
    const made = prepared ?? this.#codec.encode(target.wireFormat, { bytes: body, parsed, form, model: target.model })
    if (made instanceof PublicError) return made
    this.#encoded = made
    return made.body
  }

  contentTypeFor(): string | null {
    return this.#encoded?.contentType ?? null
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
    if (this.#encoded !== null) this.#encoded = { ...this.#encoded, body: noBytes }
  }

  dialectFor(target: Target, { bodies, request: { accounting, now } }: Pick<LaneServices, "bodies" | "request">): Dialect {
    const family: TargetFamily = target.wireFormat
    const encoded = this.#encoded
    // A dialect is asked for after its body was made.
    if (encoded === null) throw new Error(`no body was made for ${target.publicModel}`)
    const wanted = { head: this.#head, note: encoded.note, model: target.publicModel, now: Math.floor(now() / 1000) }
    const estimate = (): number => accounting.estimate(this.#prompt.text())
    return {
      ...Reading.dialectOf(this.#codec, family, { ...wanted, estimate }),
      readElsewhere: (question, done) =>
        Answers.ask(bodies, readJob, question, (common) => ({ ...common, kind: this.#kind, family, wanted, estimated: estimate() }), ignored, done)
    }
  }
}

const noBytes = new Uint8Array(0)

const ignored = (): void => undefined
