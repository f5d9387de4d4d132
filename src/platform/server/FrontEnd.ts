/** What the front end offers beside effect's `HttpServer`: hot routes, liveness and the drain. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { SocketAddress } from "effect/net/NetAddress"
import type { DirectRoute, ExchangeGuard } from "./Exchange.ts"
import type { ListenError } from "./Listener.ts"
import type { FramedExchange } from "./sockets/FramedExchange.ts"
import type { SocketRoute } from "./sockets/ServerSocket.ts"
import type { HeldBytes } from "#src/platform/structures/HeldBytes.ts"

export class FrontEnd extends Context.Service<FrontEnd, {
  /**
   * Registers a route that bypasses effect's router. Paths are matched exactly, or by a pattern (`:name` = one segment, a last
   * `*` = the rest); a path that differs by case, doubled slash or encoding is unknown and goes to the served application.
   * Routes are live from `serve` on.
   */
  readonly direct: (method: string, path: string, route: DirectRoute) => void
  /** Registers a route for WebSockets at an exact path; a plain GET of the path reaches it, too. */
  readonly socket: (path: string, route: SocketRoute) => void
  /** Serves a request that came in a message of a socket by the direct route of its method and path. */
  readonly serveFramed: (exchange: FramedExchange) => void
  /** Registers a guard behind those that are there: it sees each request that they did not answer. */
  readonly guard: (guard: ExchangeGuard) => void
  /** Begins to listen, where `openLater` put it off; else it has been done. */
  readonly open: Effect.Effect<void, ListenError>
  readonly address: SocketAddress
  /** The port in fact listened on. */
  readonly port: number
  /** The bytes of request bodies that this process holds; a new owner of a body keeps counting it here. */
  readonly heldBodies: HeldBytes
  /** Exchanges and WebSockets that are not over. */
  readonly liveExchanges: number
  /** Open connections, idle ones included. */
  readonly connections: number
  readonly draining: boolean
  /**
   * Registers a listener for the moment at which draining begins: an application ends its live streams there with an
   * error in the format of their protocol. Answers the way to unregister.
   */
  readonly onDrain: (listener: () => void) => () => void
  /** Stops listening, lets live exchanges end, interrupts and then cuts the rest. Runs once; later runs wait for it. */
  readonly drain: Effect.Effect<void>
}>()("gateway/server/FrontEnd") {}
