/** POST /v1/moderations, as an operation of the lane. It costs nothing, whatever price its model has. */
import type { Route } from "#src/routing/Router.ts"
import * as OneShot from "#src/inference/lane/oneShot/oneShot.ts"
import { codec } from "#src/wire/moderations/codec.ts"
import type { RequestHead } from "#src/wire/WireFormat.ts"

/** Longest wait for an answer, ms. */
const answerMs = 30_000

const free = (route: Route): Route => ({ ...route, targets: route.targets.map((target) => ({ ...target, price: null })) })

const operation: OneShot.OneShotOperation<RequestHead> = {
  ...OneShot.make({ kind: "moderations", codec, endpoint: "/v1/moderations", category: "moderations", answerMs }), place: free
}

export const { endpoints, routes } = OneShot.listed([OneShot.serve("/v1/moderations", operation)])
