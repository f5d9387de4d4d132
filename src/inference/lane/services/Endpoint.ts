/** An inference endpoint: as the route table lists it, and as the front end serves it. Each kind of request lists its own. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Access from "#schemas/api/Access.ts"
import type { RouteRule } from "#schemas/api/RouteTable.ts"
import type { DirectRoute, Exchange } from "#src/platform/server/Exchange.ts"
import { FrontEnd } from "#src/platform/server/FrontEnd.ts"
import type { SocketRoute } from "#src/platform/server/sockets/ServerSocket.ts"

export interface Endpoint extends RouteRule {
  readonly method: "GET" | "POST" | "DELETE"
}

/** Open to API keys; `kind` groups the endpoints of one kind of request. A last `:path` stands for everything that follows. */
export const make = (method: Endpoint["method"], path: string, kind: string): Endpoint =>
  ({ method, path, group: "inference", endpoint: kind, access: Access.clientApi, isOpen: path.endsWith("/:path") })

/** An endpoint with the route that serves its requests. */
export interface MountedRoute {
  readonly endpoint: Endpoint
  readonly route: DirectRoute
  /** Set where the pattern is another endpoint's, too: the paths that are this one's. */
  readonly takes?: (path: string) => boolean
}

/** An endpoint with the route that serves it: its requests, or its WebSockets. */
export type Mounted = MountedRoute | { readonly endpoint: Endpoint; readonly socket: SocketRoute }

const patternOf = ({ isOpen, path }: Endpoint): string => isOpen === true ? path.replace(/:\w+$/, "*") : path

/** Mounts endpoints on the front end. */
export const layer = <E, R>(routes: Effect.Effect<ReadonlyArray<ReadonlyArray<Mounted>>, E, R>) => Layer.effectDiscard(Effect.gen(function*() {
  const frontEnd = yield* FrontEnd
  const all = (yield* routes).flat()
  const chosen = all.filter((one): one is MountedRoute => "takes" in one)
  for (const mounted of all) {
    const { endpoint } = mounted
    if ("socket" in mounted) {
      frontEnd.socket(endpoint.path, mounted.socket)
      continue
    }
    if (mounted.takes !== undefined) continue
    const { route } = mounted
    const others = chosen.filter((one) => one.endpoint.method === endpoint.method && one.endpoint.path === endpoint.path)
    const routeOf = (path: string): DirectRoute => others.find(({ takes }) => takes?.(path) === true)?.route ?? route
    const served = others.length === 0 ? route : (exchange: Exchange) => routeOf(exchange.path)(exchange)
    frontEnd.direct(endpoint.method, patternOf(endpoint), served)
    // The server leaves the body out.
    if (endpoint.method === "GET") frontEnd.direct("HEAD", patternOf(endpoint), served)
  }
}))
