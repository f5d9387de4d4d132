/** How answers without a conversation are read for the client: whole, or passed on as they come. */
import type { Dialect } from "#actors/request/ports/Face.ts"
import type { TargetFamily } from "#schemas/wire/formats.ts"
import * as Json from "#src/wire/json/json.ts"
import type { OneShotCodec, Wanted } from "#src/wire/oneShot/OneShotCodec.ts"
import { OpaqueTap } from "#src/wire/oneShot/OpaqueTap.ts"
import type { RequestHead } from "#src/wire/WireFormat.ts"

/** `readElsewhere`: of large answers, on the loop. */
export const dialectOf = <Head extends RequestHead, Note>(codec: OneShotCodec<Head, Note>, family: TargetFamily, wanted: Wanted<Head, Note>, readElsewhere?: Dialect["readElsewhere"]): Dialect => {
  const read: Dialect["readAnswer"] = (body) => codec.read(family, body, wanted)
  const readError: Dialect["readError"] = (body) => codec.readError(family, body)
  const makeTap = () => new OpaqueTap(readError)
  const { pollOf } = codec
  return {
    readAnswer: read, replayAnswer: read, readElsewhere, readError, viewAnswer, makeTap, makeRecoverableTap: makeTap, continueTap: never, makeReader: never,
    pollOf: pollOf === undefined ? undefined : (reply) => pollOf(family, reply, wanted)
  }
}

const never = (): never => {
  throw new Error("only conversations are continued")
}

/** A combo's rules on texts see no such answers. */
const viewAnswer: Dialect["viewAnswer"] = (body) => ({
  content: "", calls: false, empty: false, document: () => Json.parseRecord(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("utf8"))
})
