/** How answers without a conversation are read for the client: whole, or passed on as they come. */
import type { AnswerFacts, AnswerQuestion, AnswerRead, Dialect, StreamTap, UpstreamErrorBody } from "#actors/request/ports/Face.ts"
import type { TargetFamily } from "#schemas/wire/formats.ts"
import * as Json from "#src/wire/json/json.ts"
import type { OneShotCodec, Wanted } from "#src/wire/oneShot/OneShotCodec.ts"
import { OpaqueTap } from "#src/wire/oneShot/OpaqueTap.ts"
import type { RequestHead } from "#src/wire/WireFormat.ts"

/** A class, because each call has a dialect of which it uses two methods. */
class OneShotDialect<Head extends RequestHead, Note> implements Dialect {
  readonly pollOf: Dialect["pollOf"]
  private readonly codec: OneShotCodec<Head, Note>
  private readonly family: TargetFamily
  private readonly wanted: Wanted<Head, Note>
  private readonly elsewhere: Dialect["readElsewhere"]
  readonly continueTap = never
  readonly makeReader = never
  readonly viewAnswer = viewAnswer

  constructor(codec: OneShotCodec<Head, Note>, family: TargetFamily, wanted: Wanted<Head, Note>, elsewhere: Dialect["readElsewhere"]) {
    const { pollOf } = codec
    this.codec = codec
    this.family = family
    this.wanted = wanted
    this.elsewhere = elsewhere
    this.pollOf = pollOf === undefined ? undefined : polling(pollOf, family, wanted)
  }

  readAnswer(body: Uint8Array): AnswerFacts | null {
    return this.codec.read(this.family, body, this.wanted)
  }

  replayAnswer(body: Uint8Array): AnswerFacts | null {
    return this.readAnswer(body)
  }

  readError(body: Uint8Array): UpstreamErrorBody | null {
    return this.codec.readError(this.family, body)
  }

  readElsewhere(question: AnswerQuestion, done: AnswerRead): boolean {
    return this.elsewhere?.(question, done) ?? false
  }

  makeTap(): StreamTap {
    return new OpaqueTap((body) => this.readError(body))
  }

  makeRecoverableTap(): StreamTap {
    return this.makeTap()
  }
}

const polling = <Head extends RequestHead, Note>(
  pollOf: NonNullable<OneShotCodec<Head, Note>["pollOf"]>, family: TargetFamily, wanted: Wanted<Head, Note>
): NonNullable<Dialect["pollOf"]> => (reply) => pollOf(family, reply, wanted)

/** `readElsewhere`: of large answers, on the loop. */
export const dialectOf = <Head extends RequestHead, Note>(codec: OneShotCodec<Head, Note>, family: TargetFamily, wanted: Wanted<Head, Note>, readElsewhere?: Dialect["readElsewhere"]): Dialect =>
  new OneShotDialect(codec, family, wanted, readElsewhere)

const never = (): never => {
  throw new Error("only conversations are continued")
}

/** A combo's rules on texts see no such answers. */
const viewAnswer: Dialect["viewAnswer"] = (body) => ({
  content: "", calls: false, empty: false, document: () => Json.parseRecord(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("utf8"))
})
