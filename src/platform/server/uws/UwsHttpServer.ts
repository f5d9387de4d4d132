/**
 * uWebSockets as effect's `HttpServer`, beside direct routes for the few hot endpoints.
 *
 * The port is open before the application is: until `serve` runs, and again while draining, `notReady` answers. One
 * native catch-all route hands each request to a direct route by exact path, or to the served effect.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as HttpServer from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import * as NetAddress from "effect/net/NetAddress"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import * as Supervisor from "#actors/Supervisor.ts"
import { makeDrain } from "#src/platform/server/Drain.ts"
import type { ExchangeGuard } from "#src/platform/server/Exchange.ts"
import { FrontEnd } from "#src/platform/server/FrontEnd.ts"
import { listen, ListenError, open, resolve } from "#src/platform/server/Listener.ts"
import { defaults, notReady, type ServerOptions } from "#src/platform/server/ServerOptions.ts"
import { RouteTable } from "#src/platform/server/RouteTable.ts"
import type { FramedExchange } from "#src/platform/server/sockets/FramedExchange.ts"
import * as RequestFibers from "./requestFibers.ts"
import { type ExchangeHost, makeHost } from "./ExchangeHost.ts"
import type { NativeRequest, NativeResponse } from "./native.ts"
import { nativeCalls } from "./nativeCalls.ts"
import { INTERNAL_ERROR, JSON_HEADERS, UwsExchange } from "./UwsExchange.ts"
import { NativeSockets, type Shake } from "./NativeSockets.ts"
import { webSocketLimits } from "./UwsSocket.ts"

/** Opens the port and answers both services; the server lives as long as the scope. */
export const make = Effect.fnUntraced(function*(options: ServerOptions) {
  const scope = yield* Effect.scope
  const logContext = yield* Effect.context<never>()
  const hostName = options.host ?? defaults.host
  const maxBodyBytes = options.maxBodyBytes ?? defaults.maxBodyBytes
  const answerNotReady = options.notReady ?? notReady
  const runLog = Effect.runForkWith(logContext)

  const host = makeHost(options, yield* Supervisor.ticker("slow clients"), runLog)
  settleShape(host)
  const origin = { scheme: options.tls === undefined ? "http" : "https", maxBodyBytes } as const
  const sockets = new NativeSockets(host, {
    limits: webSocketLimits(options.webSocket),
    onDefect: (error) => void runLog(Effect.logError("A socket route failed", error))
  })
  const fibers = new Set<Fiber.Fiber<void>>()
  const table = new RouteTable()
  const guards: Array<ExchangeGuard> = options.guard === undefined ? [] : [options.guard]
  let handler: RequestFibers.Handler | undefined
  let connections = 0

  const dispatch = (exchange: UwsExchange, shake: Shake | undefined): void => {
    nativeCalls.running = true
    try {
      if (exchange.fault !== undefined) return exchange.respond(400, TEXT, `${exchange.fault}\n`)
      if (shake !== undefined && exchange.declared !== 0) {
        exchange.closeConnection = true
        return exchange.respond(400, TEXT, "A request for an upgrade has no body\n")
      }
      if (isAnswered(guards, exchange)) {
        // By a guard.
      } else if (handler === undefined || host.draining) {
        answerNotReady(exchange)
      } else if (!sockets.serve(exchange, shake)) {
        const route = table.find(exchange.method, exchange.path)
        if (route !== undefined) route(exchange)
        else handler(exchange, sockets.upgradeOf(shake))
      }
    } catch (error) {
      exchange.defect(error)
    } finally {
      exchange.keepBody()
      nativeCalls.running = false
    }
  }

  const serveFramed = (exchange: FramedExchange): void => {
    const route = table.find(exchange.method, exchange.path)
    if (route === undefined) throw new Error(`No direct route serves ${exchange.method} ${exchange.path}`)
    try {
      if (host.draining) answerNotReady(exchange)
      else route(exchange)
    } catch (error) {
      host.onDefect(error, exchange)
      if (exchange.isOpen) exchange.respond(500, JSON_HEADERS, INTERNAL_ERROR)
      else exchange.close()
    }
  }

  const app = yield* open(hostName, options.port, options.tls)
  app.filter((_, change) => {
    connections += change
  })
  sockets.mount(app, dispatch)
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
    sockets: sockets.live,
    fibers,
    listening: () => listening,
    connections: () => connections,
    gracefulShutdownTimeout: options.gracefulShutdownTimeout ?? defaults.gracefulShutdownTimeout,
    refuse: answerNotReady
  })
  yield* Scope.addFinalizer(scope, drain)

  const server = RequestFibers.serverOf({
    address, origin, host, fibers, drain,
    attach: (own) => {
      handler = own
    },
    detach: (own) => {
      if (handler === own) handler = undefined
    }
  })

  const frontEnd = FrontEnd.of({
    direct: (method, path, route) => table.add(method, path, route),
    socket: (path, route) => sockets.route(path, route),
    serveFramed,
    guard: (guard) => void guards.push(guard),
    open: Effect.suspend(() => listening !== null || host.draining ? Effect.void : Effect.map(begin, (now) => {
      listening = now
    })),
    address,
    port,
    heldBodies: host.heldBytes,
    get liveExchanges() {
      return host.live.size + sockets.live.size
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

const TEXT = ["Content-Type", "text/plain"]

/**
 * Makes V8 decide at the start how many fields its objects have room for. It decides when the seventh object of a class is made, by the shapes
 * that are known then, and a full collection after the sixth forgets them: all later objects of that process would keep their fields
 * outside, in lists that grow by three (2.5 kB a request). Six answers to health checks and a collection at the end of the start are enough.
 */
const settleShape = (host: ExchangeHost): void => {
  for (let made = 0; made < SETTLED_OBJECTS; made++) new UwsExchange(noResponse, noRequest, host).close()
}

const SETTLED_OBJECTS = 8
const ignore = (): void => {}
const noRequest: NativeRequest = { getCaseSensitiveMethod: () => "GET", getHeader: () => "", getQuery: () => "", getUrl: () => "/", forEach: ignore }
const noResponse: NativeResponse = {
  writeStatus: ignore, writeHeader: ignore, write: () => true, end: ignore, endWithoutBody: ignore, tryEnd: () => [true, true], getWriteOffset: () => 0,
  onWritable: ignore, onAborted: ignore, onData: ignore, pause: ignore, resume: ignore, close: ignore, cork: ignore,
  getRemoteAddressAsText: () => new ArrayBuffer(0), upgrade: ignore
}
