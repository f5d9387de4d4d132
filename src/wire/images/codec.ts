/** Requests for images, in the formats of all servers that make them. */
import type { OneShotCodec } from "#src/wire/oneShot/OneShotCodec.ts"
import * as Dialects from "#src/wire/dialects.ts"
import * as Answer from "./answer.ts"
import * as Request from "./request.ts"

export const codec: OneShotCodec<Request.ImageHead> = {
  head: Request.head,
  encode: Request.encode,
  media: Request.media,
  read: (family, bytes, { now }) => Answer.read(family, bytes, now),
  readError: (family, body) => Dialects.readError(Answer.errorsOf(family), body)
}
