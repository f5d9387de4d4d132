/** The codec of each kind of request without a conversation. */
import type { OneShotKind } from "#schemas/wire/formats.ts"
import { codec as speech } from "#src/wire/audio/speech.ts"
import { codec as transcriptions } from "#src/wire/audio/transcriptions.ts"
import { codec as classify } from "#src/wire/classify/codec.ts"
import { codec as embeddings } from "#src/wire/embeddings/codec.ts"
import { codec as contents } from "#src/wire/embeddings/contents.ts"
import { codec as edits } from "#src/wire/images/edits.ts"
import { codec as images } from "#src/wire/images/codec.ts"
import { codec as predictions } from "#src/wire/images/predictions.ts"
import { codec as moderations } from "#src/wire/moderations/codec.ts"
import { codec as music } from "#src/wire/music/codec.ts"
import { codec as rerank } from "#src/wire/rerank/codec.ts"
import { codec as webFetch } from "#src/wire/webFetch/codec.ts"
import { codec as ocr } from "#src/wire/ocr/codec.ts"
import { codec as segment } from "#src/wire/segment/codec.ts"
import { codec as videos } from "#src/wire/videos/codec.ts"
import { codec as search } from "#src/wire/search/codec.ts"
import type { RequestHead } from "#src/wire/WireFormat.ts"
import type { OneShotCodec } from "./OneShotCodec.ts"

/** `read` is given back the head and the note that the same codec made. */
type AnyCodec = OneShotCodec<RequestHead, unknown>

const any = <Head extends RequestHead, Note>(codec: OneShotCodec<Head, Note>): AnyCodec => codec as unknown as AnyCodec

/** A kind has one codec for each face of its clients; the common face has the kind's name. */
export type CodecName = OneShotKind | "embed-contents" | "predict-images"

const codecs: Partial<Readonly<Record<CodecName, AnyCodec>>> = {
  classify: any(classify),
  "embed-contents": any(contents),
  embeddings: any(embeddings),
  images: any(images),
  "image-edits": any(edits),
  moderations: any(moderations),
  music: any(music),
  ocr: any(ocr),
  "predict-images": any(predictions),
  rerank: any(rerank),
  segment: any(segment),
  search: any(search),
  speech: any(speech),
  transcriptions: any(transcriptions),
  translations: any(transcriptions),
  videos: any(videos),
  "web-fetch": any(webFetch)
}

export const of = (kind: CodecName): AnyCodec => {
  const found = codecs[kind]
  if (found === undefined) throw new Error(`no codec of ${kind}`)
  return found
}
