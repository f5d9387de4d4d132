/** POST /v1/images/generations, as an operation of the lane. */
import * as Effect from "effect/Effect"
import type { PublicError } from "#schemas/errors.ts"
import * as Lane from "#src/inference/lane/Lane.ts"
import * as OneShot from "#src/inference/lane/oneShot/oneShot.ts"
import * as Paths from "#src/inference/lane/paths.ts"
import { Inference, type Mounted } from "#src/inference/lane/services/Inference.ts"
import { unknownProvider } from "#src/routing/oneShot.ts"
import { codec } from "#src/wire/images/codec.ts"
import type { ImageHead } from "#src/wire/images/request.ts"

/** Longest wait for images, ms. */
const answerMs = 120_000

const operation: OneShot.OneShotOperation<ImageHead> = OneShot.make({
  kind: "images", codec, endpoint: "/v1/images/generations", category: "images", answerMs, units: ({ count }) => ({ image: count })
})

/** The provider stands in the path. */
const ofProvider: OneShot.OneShotOperation<ImageHead> = {
  ...operation,
  endpoint: "/v1/providers/images/generations",
  fromPath: (path, body, aliasOf): Readonly<Record<string, unknown>> | PublicError => {
    const provider = Paths.segment(path, 3) ?? ""
    return aliasOf(provider) === null ? unknownProvider("images", provider) : Paths.ofProvider(path, body, aliasOf)
  }
}

export const routes = Effect.map(Inference, (services): ReadonlyArray<Mounted> => [
  { method: "POST", path: "/v1/images/generations", route: Lane.route(services, operation) },
  { method: "POST", path: "/v1/providers/:provider/images/generations", route: Lane.route(services, ofProvider) }
])
