/** POST /v1/images/generations and its twin below a provider, as an operation of the lane. */
import * as OneShot from "#src/inference/lane/oneShot/oneShot.ts"
import { codec } from "#src/wire/images/codec.ts"

/** Longest wait for images, ms. */
const answerMs = 120_000

const operation = OneShot.make({
  kind: "images", codec, endpoint: "/v1/images/generations", category: "images", answerMs, units: ({ count }) => ({ image: count })
})

export const { endpoints, routes } = OneShot.listed([
  OneShot.serve("/v1/images/generations", operation),
  OneShot.serve("/v1/providers/:provider/images/generations", OneShot.ofProvider(operation, "images", "/v1/providers/images/generations"))
])
