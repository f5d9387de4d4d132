/** The options of a front end, with their defaults. */
import { getHeapStatistics } from "node:v8"
import type * as Duration from "effect/Duration"
import type { DirectRoute, Exchange, ExchangeGuard } from "./Exchange.ts"
import type { WebSocketOptions } from "#src/platform/server/uws/UwsSocket.ts"

export interface TlsOptions {
  /** PEM files. */
  readonly keyFile: string
  readonly certFile: string
  readonly passphrase?: string | undefined
}

export type ClientAddress = (peer: string, header: (lowerCaseName: string) => string | undefined) => string

export interface ServerOptions {
  /** IP address or host name to listen on. Default `127.0.0.1`. */
  readonly host?: string | undefined
  /** 0 picks a free port; `address` reports it. */
  readonly port: number
  readonly tls?: TlsOptions | undefined
  /** Lets several processes listen on one port. Default false: a second process fails with `ListenError`. */
  readonly reusePort?: boolean | undefined
  /** Listens only when `FrontEnd.open` is run, so that a process that shares its port takes no connection before it can serve. */
  readonly openLater?: boolean | undefined
  /** Bytes of request body accepted on the effect lane unless `MaxBodySize` is set. Default 32 MiB. */
  readonly maxBodyBytes?: number | undefined
  /** Bytes of request bodies that are held at once. Default: a quarter of the heap that V8 may use. */
  readonly heldBodyBytes?: number | undefined
  /** Where the rest of a body waits that comes faster than it is taken by chunks. Default: in memory. */
  readonly overflowDirectory?: string | undefined
  /** Bytes a producer may write ahead of its client before the exchange is cut as a slow reader. Default 16 MiB. */
  readonly maxPendingBytes?: number | undefined
  /** Time without progress while the client's socket is full, after which it is cut. Default 30 seconds. */
  readonly slowReaderTimeout?: Duration.Input | undefined
  /** Time in which a request body has to arrive; a silent client is cut after about 10 seconds anyway. Default 5 minutes. */
  readonly bodyTimeout?: Duration.Input | undefined
  /** Time that live exchanges get to end by themselves at shutdown. Default 20 seconds. */
  readonly gracefulShutdownTimeout?: Duration.Input | undefined
  /**
   * Answers everything, direct routes included, while nothing is served yet and while the server drains: liveness
   * probes too, if it looks at the path. Default: 503 with Retry-After: 1.
   */
  readonly notReady?: DirectRoute | undefined
  /** Sees every request first, WebSocket handshakes included; true when it has answered. Default: none. */
  readonly guard?: ExchangeGuard | undefined
  /** The client's address by the transport peer and the head; empty when it is not known. Default: the peer. */
  readonly clientAddress?: ClientAddress | undefined
  readonly webSocket?: WebSocketOptions | undefined
  /** Called with the exception of a route. Default: logged as an error. */
  readonly onDefect?: ((error: unknown, exchange: Exchange) => void) | undefined
}

export const defaults = {
  host: "127.0.0.1",
  maxBodyBytes: 32 * 1024 * 1024,
  heldBodyBytes: () => Math.floor(getHeapStatistics().heap_size_limit / 4),
  maxPendingBytes: 16 * 1024 * 1024,
  slowReaderTimeout: "30 seconds",
  bodyTimeout: "5 minutes",
  gracefulShutdownTimeout: "20 seconds"
} as const

/**
 * For `HttpRouter.serve({ routerConfig })`: by default effect's router ignores case, doubled and trailing slashes. It
 * still decodes, so that `/%61` reaches `/a` there; direct routes do not.
 */
export const exactPaths = { caseSensitive: true, ignoreDuplicateSlashes: false, ignoreTrailingSlash: false } as const

const NOT_READY_BODY = JSON.stringify({
  error: { message: "The server is starting or shutting down: retry in a second", type: "server_error", code: "not_ready" }
})

export const notReady: DirectRoute = (exchange) =>
  exchange.respond(503, ["Content-Type", "application/json", "Retry-After", "1"], NOT_READY_BODY)
