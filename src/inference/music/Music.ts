/** POST /v1/music/generations, as an operation of the lane. */
import * as OneShot from "#src/inference/lane/oneShot/oneShot.ts"
import { codec, placed, units } from "#src/wire/music/codec.ts"
import type { Route } from "#src/routing/Router.ts"

/** Longest wait for one reply of a server, ms. */
const answerMs = 300_000

/** One vendor has the format of the sound in its path. */
const place = (route: Route, body: Readonly<Record<string, unknown>>): Route => ({ ...route, targets: route.targets.map((target) => placed(target, body)) })

export const { endpoints, routes } = OneShot.listed([
  OneShot.serve("/v1/music/generations", {
    ...OneShot.make({ kind: "music", codec, endpoint: "/v1/music/generations", category: "music", answerMs, units }), place
  })
])
