/** How answers without a conversation are read for the client: whole, or passed on as they come. */
import type { Dialect } from "#actors/request/ports/Face.ts"
import type { TargetFamily } from "#schemas/wire/formats.ts"
import * as Json from "#src/wire/json/json.ts"
import type { OneShotCodec, Wanted } from "#src/wire/oneShot/OneShotCodec.ts"
import { OpaqueTap } from "#src/wire/oneShot/OpaqueTap.ts"
import type { RequestHead } from "#src/wire/WireFormat.ts"

export const dialectOf = <Head extends RequestHead, Note>(codec: OneShotCodec<Head, Note>, family: TargetFamily, wanted: Wanted<Head, Note>): Dialect => {
  const read: Dialect["readAnswer"] = (body) => codec.read(family, body, wanted)
  const readError: Dialect["readError"] = (body) => codec.readError(family, body)
  const makeTap = () => new OpaqueTap(readError)
  const { pollOf } = codec
  return {
    ...opaque, readAnswer: read, replayAnswer: read, readError, makeTap, makeRecoverableTap: makeTap,
    ...(pollOf === undefined ? none : { pollOf: (reply) => pollOf(family, reply, wanted) })
  }
}

const none: Pick<Dialect, "pollOf"> = {}

const never = (): never => {
  throw new Error("only conversations are continued")
}

const opaque: Pick<Dialect, "continueTap" | "makeReader" | "viewAnswer"> = {
  continueTap: never,
  makeReader: never,
  // A combo's rules on texts see no such answers.
  viewAnswer: (body) => ({
    content: "", calls: false, empty: false, document: () => Json.parseRecord(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("utf8"))
  })
}
