/** POST /v1/embeddings, as an operation of the lane. */
import * as OneShot from "#src/inference/lane/oneShot/oneShot.ts"
import { codec } from "#src/wire/embeddings/codec.ts"

export const operation = OneShot.make({ kind: "embeddings", codec, endpoint: "/v1/embeddings", category: "embeddings" })

export const { endpoints, routes } = OneShot.listed([
  OneShot.serve("/v1/embeddings", operation),
  OneShot.serve("/v1/providers/:provider/embeddings", OneShot.ofProvider(operation, "embeddings", "/v1/providers/embeddings"))
])
