/** The codec of each kind of request without a conversation. */
import type { OneShotKind } from "#schemas/wire/formats.ts"
import { codec as embeddings } from "#src/wire/embeddings/codec.ts"
import { codec as images } from "#src/wire/images/codec.ts"
import type { RequestHead } from "#src/wire/WireFormat.ts"
import type { OneShotCodec } from "./OneShotCodec.ts"

/** Its head and note are its own: whoever reads an answer gives back what the same codec made. */
type AnyCodec = Pick<OneShotCodec<RequestHead, unknown>, "head" | "encode" | "readError">

const codecs: Partial<Readonly<Record<OneShotKind, AnyCodec>>> = { embeddings, images }

export const of = (kind: OneShotKind): AnyCodec => {
  const found = codecs[kind]
  if (found === undefined) throw new Error(`no codec of ${kind}`)
  return found
}
