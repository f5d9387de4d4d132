/** Every kind of request without a conversation that the assemblies serve: a new kind is one line here. */
import * as Effect from "effect/Effect"
import * as Audio from "#src/inference/audio/Audio.ts"
import * as Classify from "#src/inference/classify/Classify.ts"
import * as Embeddings from "#src/inference/embeddings/Embeddings.ts"
import * as Images from "#src/inference/images/Images.ts"
import * as Moderations from "#src/inference/moderations/Moderations.ts"
import * as Music from "#src/inference/music/Music.ts"
import * as Ocr from "#src/inference/ocr/Ocr.ts"
import * as Rerank from "#src/inference/rerank/Rerank.ts"
import * as Segment from "#src/inference/segment/Segment.ts"
import * as Videos from "#src/inference/videos/Videos.ts"
import * as Search from "#src/inference/search/Search.ts"
import * as WebFetch from "#src/inference/webFetch/WebFetch.ts"

const kinds = [
  Audio,
  Classify,
  Embeddings,
  Images,
  Moderations,
  Music,
  Ocr,
  Rerank,
  Segment,
  Videos,
  Search,
  WebFetch
]

/** The endpoints of all kinds with their access. */
export const endpoints = kinds.flatMap((kind) => kind.endpoints)

/** The routes of all kinds. */
export const routes = Effect.map(Effect.all(kinds.map((kind) => kind.routes)), (mounted) => mounted.flat())
