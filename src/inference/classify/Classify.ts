/** POST /v1/classify, as an operation of the lane. */
import * as OneShot from "#src/inference/lane/oneShot/oneShot.ts"
import { codec } from "#src/wire/classify/codec.ts"

/** Longest wait for an answer, ms. */
const answerMs = 30_000

export const { endpoints, routes } = OneShot.listed([
  OneShot.serve("/v1/classify", OneShot.make({ kind: "classify", codec, endpoint: "/v1/classify", category: "classify", answerMs }))
])
