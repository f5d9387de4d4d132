/**
 * uWebSockets as effect's `HttpServer`, beside direct routes for the few hot endpoints.
 *
 * The port is open before the application is: until `serve` runs, and again while draining, `notReady` answers. One
 * native catch-all route hands each request to a direct route by exact path, or to the served effect.
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as HttpServer from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import * as NetAddress from "effect/net/NetAddress"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import * as Supervisor from "#actors/Supervisor.ts"
import { Arrivals } from "./Arrivals.ts"
import { makeDrain } from "#src/platform/server/Drain.ts"
import type { ExchangeGuard } from "#src/platform/server/Exchange.ts"
import { FrontEnd } from "#src/platform/server/FrontEnd.ts"
import { listen, ListenError, open, resolve } from "#src/platform/server/Listener.ts"
import type { NativeRequest, NativeResponse, NativeUpgradeContext } from "./native.ts"
import { defaults, notReady, type ServerOptions } from "#src/platform/server/ServerOptions.ts"
import { RouteTable } from "#src/platform/server/RouteTable.ts"
import * as RequestFibers from "./requestFibers.ts"
import { type ExchangeHost, UwsExchange } from "./UwsExchange.ts"
import { Upgrade, webSocketLimits } from "./UwsSocket.ts"
import { Watch } from "#src/platform/server/Watch.ts"
import { HeldBytes } from "#src/platform/structures/HeldBytes.ts"
import { Roster } from "#src/platform/structures/Roster.ts"

/** Opens the port and answers both services; the server lives as long as the scope. */
export const make = Effect.fnUntraced(function*(options: ServerOptions) {
  const scope = yield* Effect.scope
  const logContext = yield* Effect.context<never>()
  const hostName = options.host ?? defaults.host
  const slowReaderMillis = Duration.toMillis(options.slowReaderTimeout ?? defaults.slowReaderTimeout)
  const bodyMillis = Duration.toMillis(options.bodyTimeout ?? defaults.bodyTimeout)
  const maxBodyBytes = options.maxBodyBytes ?? defaults.maxBodyBytes
  const webSocket = webSocketLimits(options.webSocket)
  const answerNotReady = options.notReady ?? notReady
  const runLog = Effect.runForkWith(logContext)

  const host: ExchangeHost = {
    maxPendingBytes: options.maxPendingBytes ?? defaults.maxPendingBytes,
    heldBytes: new HeldBytes(options.heldBodyBytes ?? defaults.heldBodyBytes()),
    arrivals: new Arrivals(),
    slowReaderMillis,
    bodyMillis,
    watch: new Watch(Math.max(10, Math.min(1_000, slowReaderMillis / 4, bodyMillis / 4)), yield* Supervisor.ticker("slow clients")),
    live: new Roster(),
    draining: false,
    clientAddress: options.clientAddress ?? ((peer) => peer),
    onDefect: options.onDefect ?? ((error, exchange) => {
      runLog(Effect.logError(`A route failed: ${exchange.method} ${exchange.path}`, error))
    }),
    onSettled: undefined
  }
  const origin = { scheme: options.tls === undefined ? "http" : "https", maxBodyBytes } as const
  const sockets = new Set<Upgrade>()
  const fibers = new Set<Fiber.Fiber<void>>()
  const table = new RouteTable()
  const guards: Array<ExchangeGuard> = options.guard === undefined ? [] : [options.guard]
  let handler: RequestFibers.Handler | undefined
  let connections = 0

  const dispatch = (exchange: UwsExchange, upgrade: Upgrade | undefined): void => {
    try {
      if (exchange.fault !== undefined) return exchange.respond(400, TEXT, `${exchange.fault}\n`)
      if (upgrade !== undefined && exchange.declared !== 0) {
        exchange.closeConnection = true
        return exchange.respond(400, TEXT, "A request for an upgrade has no body\n")
      }
      if (isAnswered(guards, exchange)) {
        // By a guard.
      } else if (handler === undefined || host.draining) {
        answerNotReady(exchange)
      } else {
        const route = table.find(exchange.method, exchange.path)
        if (route !== undefined) route(exchange)
        else handler(exchange, upgrade)
      }
    } catch (error) {
      exchange.defect(error)
    }
    exchange.keepBody()
  }

  const app = yield* open(hostName, options.port, options.tls)
  app.filter((_, change) => {
    connections += change
  })
  app.ws<{ readonly upgrade: Upgrade }>("/*", {
    maxPayloadLength: webSocket.maxPayloadBytes,
    // Bounded by waiting writers, not by dropping: the native limit only catches a broken writer.
    maxBackpressure: webSocket.highWaterBytes + 4 * webSocket.maxPayloadBytes,
    closeOnBackpressureLimit: false,
    idleTimeout: webSocket.idleSeconds,
    sendPingsAutomatically: true,
    upgrade: (res, req, context) => {
      const exchange = new UwsExchange(res, req, host)
      dispatch(exchange, new Upgrade(handshake(exchange, req, context, sockets), webSocket))
    },
    open: (ws) => ws.getUserData().upgrade.opened(ws as never),
    message: (ws, data, isBinary) => ws.getUserData().upgrade.message(data, isBinary),
    drain: (ws) => ws.getUserData().upgrade.drained(),
    close: (ws, code, reason) => {
      const { upgrade } = ws.getUserData()
      sockets.delete(upgrade)
      upgrade.closed(code, textDecoder.decode(reason))
      host.onSettled?.()
    }
  })
  app.any("/*", (res, req) => dispatch(new UwsExchange(res, req, host), undefined))

  const begin = listen(app, hostName, options.port, options.reusePort === true)
  let listening = options.openLater === true ? null : yield* begin
  const { ip, port } = listening ?? { ip: yield* resolve(hostName, options.port), port: options.port }
  const address = yield* Effect.fromResult(Result.mapError(
    NetAddress.inetAddressFromIpString(ip, port),
    (cause) => new ListenError("Unknown", hostName, options.port, cause)
  ))

  const { drain, onDrain } = yield* makeDrain({
    app,
    host,
    sockets,
    fibers,
    listening: () => listening,
    connections: () => connections,
    gracefulShutdownTimeout: options.gracefulShutdownTimeout ?? defaults.gracefulShutdownTimeout
  })
  yield* Scope.addFinalizer(scope, drain)

  const server = RequestFibers.serverOf({
    address, origin, host, fibers, drain,
    logs: options.httpLogger === true,
    attach: (own) => {
      handler = own
    },
    detach: (own) => {
      if (handler === own) handler = undefined
    }
  })

  const frontEnd = FrontEnd.of({
    direct: (method, path, route) => table.add(method, path, route),
    guard: (guard) => void guards.push(guard),
    open: Effect.suspend(() => listening !== null || host.draining ? Effect.void : Effect.map(begin, (now) => {
      listening = now
    })),
    address,
    port,
    heldBodies: host.heldBytes,
    get liveExchanges() {
      return host.live.size + sockets.size
    },
    get connections() {
      return connections
    },
    get draining() {
      return host.draining
    },
    onDrain,
    drain
  })
  return { server, frontEnd }
})

/** Both services as a layer. */
export const layer = (options: ServerOptions): Layer.Layer<HttpServer.HttpServer | FrontEnd, ListenError> =>
  Layer.effectContext(Effect.map(make(options), ({ frontEnd, server }) =>
    Context.make(HttpServer.HttpServer, server).pipe(Context.add(FrontEnd, frontEnd))))

const isAnswered = (guards: ReadonlyArray<ExchangeGuard>, exchange: UwsExchange): boolean => {
  for (const guard of guards) if (guard(exchange)) return true
  return false
}

/** Copies what the handshake needs: the native request is gone when the application asks for it. */
const handshake = (exchange: UwsExchange, req: NativeRequest, context: NativeUpgradeContext, sockets: Set<Upgrade>) => {
  const key = req.getHeader("sec-websocket-key")
  const protocol = req.getHeader("sec-websocket-protocol")
  const extensions = req.getHeader("sec-websocket-extensions")
  return (upgrade: Upgrade): boolean => {
    const res: NativeResponse | null = exchange.upgrade()
    if (res === null) return false
    sockets.add(upgrade)
    res.cork(() => res.upgrade({ upgrade }, key, protocol, extensions, context))
    return true
  }
}

const TEXT = ["Content-Type", "text/plain"]
const textDecoder = new TextDecoder()
