/** POST /v1/embeddings, as an operation of the lane. */
import * as Effect from "effect/Effect"
import type { PublicError } from "#schemas/errors.ts"
import * as Lane from "#src/inference/lane/Lane.ts"
import * as OneShot from "#src/inference/lane/oneShot/oneShot.ts"
import * as Paths from "#src/inference/lane/paths.ts"
import { Inference, type Mounted } from "#src/inference/lane/services/Inference.ts"
import { unknownProvider } from "#src/routing/oneShot.ts"
import { codec } from "#src/wire/embeddings/codec.ts"
import type { EmbeddingHead } from "#src/wire/embeddings/request.ts"

export const operation: OneShot.OneShotOperation<EmbeddingHead> = OneShot.make({
  kind: "embeddings", codec, endpoint: "/v1/embeddings", category: "embeddings"
})

/** The provider stands in the path. */
const ofProvider: OneShot.OneShotOperation<EmbeddingHead> = {
  ...operation,
  endpoint: "/v1/providers/embeddings",
  fromPath: (path, body, aliasOf): Readonly<Record<string, unknown>> | PublicError => {
    const provider = Paths.segment(path, 3) ?? ""
    return aliasOf(provider) === null ? unknownProvider("embeddings", provider) : Paths.ofProvider(path, body, aliasOf)
  }
}

export const routes = Effect.map(Inference, (services): ReadonlyArray<Mounted> => [
  { method: "POST", path: "/v1/embeddings", route: Lane.route(services, operation) },
  { method: "POST", path: "/v1/providers/:provider/embeddings", route: Lane.route(services, ofProvider) }
])
