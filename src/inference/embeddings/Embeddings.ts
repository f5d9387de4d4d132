/** POST /v1/embeddings, as an operation of the lane. */
import * as Effect from "effect/Effect"
import type { PublicError } from "#schemas/errors.ts"
import * as Lane from "#src/inference/lane/Lane.ts"
import * as OneShot from "#src/inference/lane/oneShot/oneShot.ts"
import * as Paths from "#src/inference/lane/paths.ts"
import * as Endpoint from "#src/inference/lane/services/Endpoint.ts"
import { Inference } from "#src/inference/lane/services/Inference.ts"
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

const served = [
  { endpoint: Endpoint.make("POST", "/v1/embeddings", "embeddings"), operation },
  { endpoint: Endpoint.make("POST", "/v1/providers/:provider/embeddings", "embeddings"), operation: ofProvider }
]

export const endpoints: ReadonlyArray<Endpoint.Endpoint> = served.map(({ endpoint }) => endpoint)

export const routes = Effect.map(Inference, (services) =>
  served.map(({ endpoint, operation: asked }): Endpoint.Mounted => ({ endpoint, route: Lane.route(services, asked) })))
