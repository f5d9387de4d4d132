/** POST /v1/rerank, and /v2/rerank for clients of the vendor that has it, as an operation of the lane. */
import * as OneShot from "#src/inference/lane/oneShot/oneShot.ts"
import type { Route } from "#src/routing/Router.ts"
import { codec, placed, units } from "#src/wire/rerank/codec.ts"

/** Longest wait for an answer, ms. */
const answerMs = 30_000

/** Servers of nodes have the endpoint at one of two paths. */
const place = (route: Route): Route => ({ ...route, targets: route.targets.map(placed) })

const ranking = (endpoint: "/v1/rerank" | "/v2/rerank") =>
  OneShot.serve(endpoint, { ...OneShot.make({ kind: "rerank", codec, endpoint, category: "rerank", answerMs, units }), place })

export const { endpoints, routes } = OneShot.listed([ranking("/v1/rerank"), ranking("/v2/rerank")])
