/** POST /v1/rerank, as an operation of the lane. */
import * as OneShot from "#src/inference/lane/oneShot/oneShot.ts"
import { codec, units } from "#src/wire/rerank/codec.ts"

/** Longest wait for an answer, ms. */
const answerMs = 30_000

export const { endpoints, routes } = OneShot.listed([
  OneShot.serve("/v1/rerank", OneShot.make({ kind: "rerank", codec, endpoint: "/v1/rerank", category: "rerank", answerMs, units }))
])
