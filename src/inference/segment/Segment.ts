/** POST /v1/segment, as an operation of the lane. */
import * as OneShot from "#src/inference/lane/oneShot/oneShot.ts"
import { codec } from "#src/wire/segment/codec.ts"

/** Longest wait for an answer, ms. */
const answerMs = 30_000

export const { endpoints, routes } = OneShot.listed([
  OneShot.serve("/v1/segment", OneShot.make({ kind: "segment", codec, endpoint: "/v1/segment", category: "segment", answerMs }))
])
