/** POST /v1/embeddings and Google's `:embedContent` and `:batchEmbedContents`, as operations of the lane. */
import * as Effect from "effect/Effect"
import * as Lane from "#src/inference/lane/Lane.ts"
import * as OneShot from "#src/inference/lane/oneShot/oneShot.ts"
import * as Endpoint from "#src/inference/lane/services/Endpoint.ts"
import { Inference } from "#src/inference/lane/services/Inference.ts"
import { codec } from "#src/wire/embeddings/codec.ts"
import { codec as contents } from "#src/wire/embeddings/contents.ts"
import { client as generateContent } from "#src/wire/generateContent/index.ts"
import * as EmbedPaths from "./embedPaths.ts"

/** Bytes of a body: 16 MiB of media as base64, and what stands around it. */
export const BODY_BYTES = 22 * 1024 * 1024

export const operation = OneShot.make({ kind: "embeddings", codec, endpoint: "/v1/embeddings", category: "embeddings", leastBodyLimit: BODY_BYTES })

/** The same for Google's clients: model and method stand in the path, errors are written in their format. */
const ofContents = {
  ...OneShot.make({
    kind: "embeddings", codec: contents, codecName: "embed-contents", errorBody: generateContent.errorBody, endpoint: "/v1beta/models", category: "embeddings", leastBodyLimit: BODY_BYTES
  }),
  format: undefined, modelInPath: true, fromPath: EmbedPaths.ofPath
}

const listed = OneShot.listed([
  OneShot.serve("/v1/embeddings", operation),
  OneShot.serve("/v1/providers/:provider/embeddings", OneShot.ofProvider(operation, "embeddings", "/v1/providers/embeddings"))
])

export const { endpoints } = listed

/** The paths of conversations in the same format are the same patterns: the method at the end tells them apart. */
const methodPaths = ["/v1beta/models/:path", "/v1/models/:path"]

export const routes = Effect.gen(function*() {
  const services = yield* Inference
  const route = Lane.route(services, ofContents)
  return [
    ...(yield* listed.routes),
    ...methodPaths.map((path): Endpoint.Mounted => ({ endpoint: Endpoint.make("POST", path, "embeddings"), route, takes: EmbedPaths.isEmbedding }))
  ]
})
