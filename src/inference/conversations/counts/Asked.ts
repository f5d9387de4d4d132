/** One token count in the words of the provider that is asked for it. */
import * as Effect from "effect/Effect"
import type { Dialect } from "#actors/request/ports/Face.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import * as Errors from "#schemas/errors.ts"
import { PublicError } from "#schemas/errors.ts"
import type { BodyWorkers } from "#src/inference/lane/bodies/BodyWorkers.ts"
import type { Prompt } from "#src/inference/lane/bodies/Prompt.ts"
import type { Encoding } from "#src/inference/lane/Operation.ts"
import type { SystemPrompt } from "#src/inference/conversations/words/systemPrompt.ts"
import type { LaneServices } from "#src/inference/lane/services/LaneServices.ts"
import * as Dialects from "#src/wire/dialects.ts"
import * as Formats from "#src/wire/formats.ts"
import * as Json from "#src/wire/json/json.ts"
import type { ClientCodec } from "#src/wire/WireFormat.ts"
import * as CountJobs from "./countJobs.ts"
import * as Counting from "./counting.ts"

/** What one format says about counting. */
export interface Words {
  readonly codec: ClientCodec
  readonly format: Counting.CountingFormat
  /** The reply for the client; null when the provider's names no count. */
  readonly providerReply: (reply: Readonly<Record<string, unknown>>, target: Target) => string | null
  readonly estimatedReply: (tokens: number) => string
}

/** A count is a few numbers, bytes. */
const longestCount = 64 * 1024

const nothing: ReadonlyArray<string> = []

export class Asked implements Encoding {
  readonly tokenless = true
  readonly #words: Words
  readonly #prompt: Prompt
  readonly #systemPrompt: SystemPrompt | null
  /** A large body, made by a thread of its own. */
  #prepared: Uint8Array | PublicError | null = null

  /** `systemPrompt`: the gateway's own words. */
  constructor(words: Words, prompt: Prompt, systemPrompt: SystemPrompt | null) {
    this.#words = words
    this.#systemPrompt = systemPrompt
    this.#prompt = prompt
  }

  prepare(workers: BodyWorkers, target: Target): Effect.Effect<void> | null {
    const { body, large } = this.#prompt
    return large === null ? null : Effect.callback<void>((resume) =>
      workers.ask(CountJobs.counter, { id: large.id, bytes: body, format: this.#words.format, model: target.model, systemPrompt: this.#systemPrompt }, (made) => {
        this.#prepared = made
        resume(Effect.void)
      }))
  }

  bodyFor(target: Target): Uint8Array | PublicError {
    return this.#prepared ?? Counting.counterBody(this.#words.format, this.#prompt.parsed, target.model, this.#systemPrompt)
  }

  /** Nothing is streamed, so nothing breaks off. */
  continuationFor(): PublicError {
    return Errors.make("internal_server_error", "Counts are not continued.")
  }

  omittedFor(): ReadonlyArray<string> {
    return nothing
  }

  effortFor(): null {
    return null
  }

  release(): void {
    this.#prepared = null
  }

  dialectFor(target: Target, { makeResponseId, request }: Pick<LaneServices, "makeResponseId" | "request">): Dialect {
    const { codec, providerReply } = this.#words
    const dialect = Formats.dialectOf(codec, Formats.family(target.wireFormat), {
      model: target.publicModel, request: this.#prompt.parsed, makeId: makeResponseId, now: () => Math.floor(request.now() / 1000)
    })
    return Dialects.readingBy(dialect, (answer) => {
      const said = answer.length > longestCount ? null : Json.parseRecord(Buffer.from(answer).toString("utf8"))
      const reply = said === null ? null : providerReply(said, target)
      return reply === null ? null : { usage: null, error: null, body: Buffer.from(reply), outputText: () => "" }
    })
  }
}
