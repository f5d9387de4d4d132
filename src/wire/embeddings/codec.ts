/** Requests for embeddings, in the formats of all servers that make them. */
import * as Dialects from "#src/wire/dialect.ts"
import type { OneShotCodec } from "#src/wire/oneShot/OneShotCodec.ts"
import type { EmbeddingFamily, TargetFamily } from "#schemas/wire/formats.ts"
import * as Answer from "./answer.ts"
import * as Request from "./request.ts"

/** The planner gives a request for embeddings targets of these families only. */
const familyOf = (family: TargetFamily): EmbeddingFamily => {
  if (family === "embeddings" || family === "batchEmbedContents" || family === "predict") return family
  throw new Error(`${family} is no format of embeddings`)
}

/** The note: how many vectors the body asks for. */
export const codec: OneShotCodec<Request.EmbeddingHead, number> = {
  head: Request.head,
  encode: (family, { bytes, model, parsed }) => Request.encode(familyOf(family), bytes, parsed, model),
  read: (family, bytes, { estimate, head: { encoding }, model, note }) => Answer.read(familyOf(family), bytes, { model, encoding, count: note, estimate }),
  readError: (family, body) => Dialects.readError(Answer.errorsOf(familyOf(family)), body)
}
