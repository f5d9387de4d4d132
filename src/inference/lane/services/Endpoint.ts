/** An inference endpoint: as the route table lists it, and as the front end serves it. Each kind of request lists its own. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Access from "#schemas/api/Access.ts"
import type { RouteRule } from "#schemas/api/RouteTable.ts"
import type { DirectRoute } from "#src/platform/server/Exchange.ts"
import { FrontEnd } from "#src/platform/server/FrontEnd.ts"

export interface Endpoint extends RouteRule {
  readonly method: "GET" | "POST"
}

/** Open to API keys; `kind` groups the endpoints of one kind of request. */
export const make = (method: Endpoint["method"], path: string, kind: string): Endpoint =>
  ({ method, path, group: "inference", endpoint: kind, access: Access.clientApi })

/** An endpoint with the route that serves it. */
export interface Mounted {
  readonly endpoint: Endpoint
  readonly route: DirectRoute
}

/** A last `:path` stands for everything that follows, slashes too; a model's name may hold some. */
const patternOf = ({ path }: Endpoint): string => path.replace(/:path$/, "*")

/** Mounts endpoints on the front end. */
export const layer = <E, R>(routes: Effect.Effect<ReadonlyArray<ReadonlyArray<Mounted>>, E, R>) => Layer.effectDiscard(Effect.gen(function*() {
  const frontEnd = yield* FrontEnd
  for (const { endpoint, route } of (yield* routes).flat()) frontEnd.direct(endpoint.method, patternOf(endpoint), route)
}))
