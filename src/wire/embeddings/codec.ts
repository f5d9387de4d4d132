/** Requests for embeddings, in the formats of all servers that make them. */
import * as Dialects from "#src/wire/dialects.ts"
import type { OneShotCodec } from "#src/wire/oneShot/OneShotCodec.ts"
import type { EmbeddingFamily, TargetFamily } from "#schemas/wire/formats.ts"
import * as Answer from "./answer.ts"
import * as Request from "./request.ts"

/** The planner gives a request for embeddings targets of these families only. */
const familyOf = (family: TargetFamily): EmbeddingFamily => {
  if (family === "batchEmbedContents" || family === "predict" || family.startsWith("embeddings")) return family as EmbeddingFamily
  throw new Error(`${family} is no format of embeddings`)
}

/** The note: how many vectors the body asks for. */
export const codec: OneShotCodec<Request.EmbeddingHead, number> = {
  head: Request.head,
  encode: (family, asked) => Request.encode(familyOf(family), asked),
  media: (family, asked) => Request.media(familyOf(family), asked),
  read: (family, bytes, { estimate, head: { encoding }, model, note }) => Answer.read(familyOf(family), bytes, { model, encoding, count: note, estimate }),
  readError: (family, body) => Dialects.readError(Answer.errorsOf(familyOf(family)), body)
}
