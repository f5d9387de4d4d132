/** POST /v1/images/generations with its twin below a provider, and /v1/images/edits, as operations of the lane. */
import * as OneShot from "#src/inference/lane/oneShot/oneShot.ts"
import { codec as edits } from "#src/wire/images/edits.ts"
import { codec } from "#src/wire/images/codec.ts"

/** Longest wait for images, ms. */
const answerMs = 120_000

const operation = OneShot.make({
  kind: "images", codec, endpoint: "/v1/images/generations", category: "images", answerMs, units: ({ count }) => ({ image: count })
})

const editing = OneShot.make({
  kind: "image-edits", codec: edits, endpoint: "/v1/images/edits", category: "images", answerMs, isForm: true, units: ({ count }) => ({ image: count })
})

export const { endpoints, routes } = OneShot.listed([
  OneShot.serve("/v1/images/generations", operation),
  OneShot.serve("/v1/providers/:provider/images/generations", OneShot.ofProvider(operation, "images", "/v1/providers/images/generations")),
  OneShot.serve("/v1/images/edits", editing)
])
