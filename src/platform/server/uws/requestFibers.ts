/** The HttpServer service over exchanges: one fiber per request. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as HttpEffect from "effect/http/HttpEffect"
import * as HttpMiddleware from "effect/http/HttpMiddleware"
import * as HttpServer from "effect/http/HttpServer"
import { ClientAbort } from "effect/http/HttpServerError"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as Scope from "effect/Scope"
import { handleResponse } from "./serverResponse.ts"
import type { ExchangeHost } from "./ExchangeHost.ts"
import type { UwsExchange } from "./UwsExchange.ts"
import { type RequestOrigin, UwsServerRequest } from "./UwsServerRequest.ts"
import type { Upgrade } from "./UwsSocket.ts"

export type Handler = (exchange: UwsExchange, upgrade: Upgrade | undefined) => void

export interface Options {
  readonly address: HttpServer.HttpServer["Service"]["address"]
  readonly origin: RequestOrigin
  readonly host: ExchangeHost
  /** The requests that run now. */
  readonly fibers: Set<Fiber.Fiber<void>>
  readonly drain: Effect.Effect<void>
  /** Takes the requests from here on, until it is detached. */
  readonly attach: (handler: Handler) => void
  readonly detach: (handler: Handler) => void
}

export const serverOf = ({ address, attach, detach, drain, fibers, host, origin }: Options) => HttpServer.make({
  address,
  serve: Effect.fnUntraced(function*(httpEffect, middleware) {
    const serveScope = yield* Effect.scope
    // Effect's HTTP logger, which a router adds by default, costs every request; the gateway has lines of its own.
    const handled = HttpEffect.toHandled(httpEffect, handleResponse, middleware === HttpMiddleware.logger ? undefined : middleware)
    const own = yield* makeHandler(handled as Effect.Effect<void, never, HttpServerRequest>, origin, host, fibers)
    attach(own)
    yield* Scope.addFinalizer(serveScope, Effect.andThen(drain, Effect.sync(() => detach(own))))
  })
})

/**
 * One fiber per request, interrupted when its client goes and by the drain. They are not forked into the serve scope,
 * because closing that would wait without bound for a handler that cannot be interrupted.
 */
const makeHandler = (
  handled: Effect.Effect<void, never, HttpServerRequest>,
  origin: RequestOrigin,
  host: ExchangeHost,
  fibers: Set<Fiber.Fiber<void>>
): Effect.Effect<Handler> =>
  Effect.withFiber((parent) => {
    const services = parent.context
    return Effect.succeed((exchange, upgrade) => {
      const request = new UwsServerRequest(exchange, origin, upgrade)
      const fiber = Effect.runForkWith(Context.add(services, HttpServerRequest, request))(handled)
      if (fiber.pollUnsafe() !== undefined) return
      fibers.add(fiber)
      fiber.addObserver(() => {
        fibers.delete(fiber)
        host.onSettled?.()
      })
      exchange.onAbort((reason) => fiber.interruptUnsafe(parent.id, reason === "shutdown" ? undefined : ClientAbort.annotation))
      exchange.onStop(() => fiber.interruptUnsafe(parent.id))
      if (upgrade !== undefined) upgrade.onLost = () => fiber.interruptUnsafe(parent.id, ClientAbort.annotation)
    })
  })
