/** How answers with embeddings are read: whole, because nothing of them is streamed. */
import type { Dialect } from "#actors/request/ports/Face.ts"
import type { EmbeddingFamily } from "#schemas/wire/formats.ts"
import * as Dialects from "#src/wire/dialect.ts"
import * as Answer from "#src/wire/embeddings/answer.ts"
import * as Json from "#src/wire/json/json.ts"

export const dialectOf = (family: EmbeddingFamily, wanted: Answer.Wanted): Dialect => ({
  ...unstreamed,
  readAnswer: (body) => Answer.read(family, body, wanted),
  readError: (body) => Dialects.readError(Answer.errorsOf(family), body)
})

const never = (): never => {
  throw new Error("embeddings are not streamed")
}

const unstreamed: Omit<Dialect, "readAnswer" | "readError"> = {
  makeTap: never, makeRecoverableTap: never, continueTap: never, replayAnswer: never, makeReader: never,
  // A combo's rules on texts do not see vectors.
  viewAnswer: (body) => ({
    content: "", calls: false, empty: false, document: () => Json.parseRecord(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("utf8"))
  })
}
