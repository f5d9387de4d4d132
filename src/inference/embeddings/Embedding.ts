/** One request for embeddings in the words of each target that is tried. */
import * as Effect from "effect/Effect"
import type { Dialect } from "#actors/request/ports/Face.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import * as Errors from "#schemas/errors.ts"
import { PublicError } from "#schemas/errors.ts"
import type { EmbeddingFamily } from "#schemas/wire/formats.ts"
import * as Answers from "#src/inference/lane/bodies/answers.ts"
import type { BodyWorkers } from "#src/inference/lane/bodies/BodyWorkers.ts"
import type { Kind } from "#src/inference/lane/bodies/jobs.ts"
import type { Prompt } from "#src/inference/lane/bodies/Prompt.ts"
import type { Encoding } from "#src/inference/lane/Operation.ts"
import type { LaneServices } from "#src/inference/lane/services/LaneServices.ts"
import * as Request from "#src/wire/embeddings/request.ts"
import type { EmbedAnswer } from "./embedAnswer.ts"
import type { Embed } from "./embedJob.ts"
import { dialectOf } from "./reading.ts"

const embedJob: Kind<Embed, Request.Encoded> = { module: new URL("./embedJob.ts", import.meta.url).href }

const answerJob: Kind<EmbedAnswer, Answers.Said> = { module: new URL("./embedAnswer.ts", import.meta.url).href }

const nothing: ReadonlyArray<string> = []

/** The planner gives a request for embeddings targets of these families only. */
const familyOf = ({ wireFormat }: Target): EmbeddingFamily => {
  if (wireFormat === "embeddings" || wireFormat === "batchEmbedContents" || wireFormat === "predict") return wireFormat
  throw new Error(`${wireFormat} is no format of embeddings`)
}

export class Embedding implements Encoding {
  readonly #head: Request.EmbeddingHead
  readonly #prompt: Prompt
  /** Vectors that the newest body asks for: an outline does not say how many there are. */
  #count = 0
  #omitted: ReadonlyArray<string> = nothing
  /** A large body by its target, made by a thread of its own. */
  #prepared: Map<Target, Request.Encoded | PublicError> | null = null

  constructor(head: Request.EmbeddingHead, prompt: Prompt) {
    this.#head = head
    this.#prompt = prompt
  }

  prepare(workers: BodyWorkers, target: Target): Effect.Effect<void> | null {
    const { body, large } = this.#prompt
    return large === null ? null : Effect.callback<void>((resume) =>
      workers.ask(embedJob, { id: large.id, bytes: body, grown: large.grown, family: familyOf(target), model: target.model }, (made) => {
        this.#prepared ??= new Map()
        this.#prepared.set(target, made)
        resume(Effect.void)
      }))
  }

  bodyFor(target: Target): Uint8Array | PublicError {
    const { body, parsed } = this.#prompt
    const prepared = this.#prepared?.get(target)
    this.#prepared?.delete(target)
    const made = prepared ?? Request.encode(familyOf(target), body, parsed, target.model)
    if (made instanceof PublicError) return made
    this.#count = made.count
    this.#omitted = made.omitted
    return made.body
  }

  /** Nothing is streamed, so nothing breaks off. */
  continuationFor(): PublicError {
    return Errors.make("internal_server_error", "Embeddings are not continued.")
  }

  omittedFor(): ReadonlyArray<string> {
    return this.#omitted
  }

  effortFor(): null {
    return null
  }

  release(): void {
    this.#prepared = null
  }

  dialectFor(target: Target, { bodies, request: { accounting } }: Pick<LaneServices, "bodies" | "request">): Dialect {
    const family = familyOf(target)
    const wanted = { model: target.publicModel, encoding: this.#head.encoding, count: this.#count }
    const estimate = (): number => accounting.estimate(this.#prompt.text())
    return {
      ...dialectOf(family, { ...wanted, estimate }),
      readElsewhere: (question, done) => Answers.ask(bodies, answerJob, question, (common) => ({ ...common, family, wanted, estimated: estimate() }), ignored, done)
    }
  }
}

const ignored = (): void => undefined
