/** The end of a server, bounded at every step: stop listening, wait, interrupt, wait a little, cut. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type { DirectRoute } from "./Exchange.ts"
import type { Listening } from "./Listener.ts"
import { native, type NativeApp } from "#src/platform/server/uws/native.ts"
import type { ExchangeHost } from "#src/platform/server/uws/ExchangeHost.ts"
import type { SocketOwner } from "#src/platform/server/uws/SocketOwner.ts"

/** What interrupted requests get to run their finalizers and answer. */
const INTERRUPTED_MILLIS = 2_000
/** What the kernel gets to take the last bytes of responses that are already over. */
const LINGER_MILLIS = 250
/** Between two looks whether it has. */
const LOOK_MILLIS = 5

export interface DrainParts {
  readonly app: NativeApp
  readonly host: ExchangeHost
  readonly sockets: Set<SocketOwner>
  /** Request fibers, which may outlive their exchange by their finalizers. */
  readonly fibers: Set<Fiber.Fiber<void>>
  /** Null while it does not listen yet. */
  readonly listening: () => Listening | null
  readonly connections: () => number
  readonly gracefulShutdownTimeout: Duration.Input
  /** Answers a request that will not be served. */
  readonly refuse: DirectRoute
}

export const makeDrain = Effect.fnUntraced(function*(parts: DrainParts) {
  const { app, fibers, host, sockets } = parts
  const listeners = new Set<() => void>()

  const busy = () => host.live.size + sockets.size + fibers.size
  const idle = Effect.callback<void>((resume) => {
    if (busy() === 0) return resume(Effect.void)
    host.onSettled = () => {
      if (busy() === 0) resume(Effect.void)
    }
    return Effect.sync(() => {
      host.onSettled = undefined
    })
  })

  const disconnected = Effect.gen(function*() {
    while (parts.connections() > 0) yield* Effect.sleep(LOOK_MILLIS)
  })

  const begin = Effect.gen(function*() {
    host.draining = true
    const listening = parts.listening()
    if (listening !== null) native.us_listen_socket_close(listening.socket)
    for (const socket of sockets) socket.leave()
    for (const listener of listeners) {
      yield* Effect.catchDefect(Effect.sync(listener), (error) => Effect.logError("A drain listener failed", error))
    }
  })

  const drain = yield* Effect.cached(Effect.gen(function*() {
    yield* begin
    if (busy() > 0) {
      yield* Effect.logInfo(`stopping: ${busy()} live requests and sockets get up to ${Duration.format(Duration.fromInputUnsafe(parts.gracefulShutdownTimeout))} to end`)
    }
    yield* Effect.timeoutOption(idle, parts.gracefulShutdownTimeout)
    for (const exchange of host.live) exchange.stop(parts.refuse)
    for (const socket of sockets) socket.shutdown()
    for (const fiber of fibers) fiber.interruptUnsafe()
    yield* Effect.timeoutOption(idle, INTERRUPTED_MILLIS)
    for (const exchange of host.live) exchange.abort("shutdown")
    if (fibers.size > 0) {
      yield* Effect.logWarning(`${fibers.size} requests did not end within ${INTERRUPTED_MILLIS} ms of their interruption and are left behind`)
    }
    yield* Effect.timeoutOption(disconnected, LINGER_MILLIS)
    app.close()
    host.watch.stop()
  }))

  return {
    drain,
    onDrain: (listener: () => void) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    }
  }
})
