/** POST /v1/images/generations with its twin below a provider, /v1/images/edits and Google's `:predict`, as operations of the lane. */
import * as Effect from "effect/Effect"
import * as Lane from "#src/inference/lane/Lane.ts"
import * as OneShot from "#src/inference/lane/oneShot/oneShot.ts"
import * as Endpoint from "#src/inference/lane/services/Endpoint.ts"
import { Inference } from "#src/inference/lane/services/Inference.ts"
import { client as generateContent } from "#src/wire/generateContent/index.ts"
import { codec as edits } from "#src/wire/images/edits.ts"
import { codec } from "#src/wire/images/codec.ts"
import { codec as predictions } from "#src/wire/images/predictions.ts"
import type { ImageHead } from "#src/wire/images/request.ts"
import * as PredictPaths from "./predictPaths.ts"

/** Longest wait for images, ms. */
const answerMs = 120_000

const units = ({ count }: ImageHead) => ({ image: count })

const operation = OneShot.make({ kind: "images", codec, endpoint: "/v1/images/generations", category: "images", answerMs, units })

const editing = OneShot.make({ kind: "image-edits", codec: edits, endpoint: "/v1/images/edits", category: "images", answerMs, isForm: true, units })

/** For Google's clients: model and method stand in the path, errors are written in their format. */
const predicting = {
  ...OneShot.make({
    kind: "images", codec: predictions, codecName: "predict-images", errorBody: generateContent.errorBody, endpoint: "/v1beta/models", category: "images", answerMs, units
  }),
  format: undefined, modelInPath: true, fromPath: PredictPaths.ofPath
}

const listed = OneShot.listed([
  OneShot.serve("/v1/images/generations", operation),
  OneShot.serve("/v1/providers/:provider/images/generations", OneShot.ofProvider(operation, "images", "/v1/providers/images/generations")),
  OneShot.serve("/v1/images/edits", editing)
])

export const { endpoints } = listed

/** The paths of conversations in the same format are the same patterns: the method at the end tells them apart. */
const methodPaths = ["/v1beta/models/:path", "/v1/models/:path"]

export const routes = Effect.gen(function*() {
  const services = yield* Inference
  const route = Lane.route(services, predicting)
  return [
    ...(yield* listed.routes),
    ...methodPaths.map((path): Endpoint.Mounted => ({ endpoint: Endpoint.make("POST", path, "images"), route, takes: PredictPaths.isPredict }))
  ]
})
