/** POST /v1/videos/generations, as an operation of the lane. */
import * as OneShot from "#src/inference/lane/oneShot/oneShot.ts"
import { codec, units } from "#src/wire/videos/codec.ts"

/** Longest wait for one reply of a server, ms; a job takes several. */
const answerMs = 600_000

export const { endpoints, routes } = OneShot.listed([
  OneShot.serve("/v1/videos/generations", OneShot.make({ kind: "videos", codec, endpoint: "/v1/videos/generations", category: "videos", answerMs, units }))
])
