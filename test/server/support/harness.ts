/** Starts front ends for tests and stops them after each test. */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Scope from "effect/Scope"
import { afterEach } from "vitest"
import type { FrontEnd } from "#src/platform/server/FrontEnd.ts"
import type { ServerOptions } from "#src/platform/server/ServerOptions.ts"
import * as UwsHttpServer from "#src/platform/server/uws/UwsHttpServer.ts"
import { RawClient } from "./RawClient.ts"

export type App = Effect.Effect<HttpServerResponse.HttpServerResponse, unknown, HttpServerRequest | Scope.Scope>

export interface TestServer {
  readonly frontEnd: FrontEnd["Service"]
  readonly port: number
  readonly base: string
  readonly defects: Array<unknown>
  /** Closes the serve scope and then the server, like an application that stops. */
  readonly stop: () => Promise<void>
}

const running = new Set<TestServer>()

afterEach(async () => {
  for (const client of RawClient.all) client.destroy()
  for (const server of running) await server.stop()
})

export const nothingServed: App = Effect.succeed(HttpServerResponse.text("unknown", { status: 404 }))

export const start = async (options: Partial<ServerOptions> = {}, app: App | null = nothingServed): Promise<TestServer> => {
  const outer = Scope.makeUnsafe()
  const defects: Array<unknown> = []
  const made = await Effect.runPromise(Scope.provide(UwsHttpServer.make({
    port: 0,
    gracefulShutdownTimeout: "100 millis",
    onDefect: (error) => defects.push(error),
    ...options
  }), outer))
  const serving = Scope.forkUnsafe(outer)
  // A served effect is uninterruptible unless it says otherwise; effect's router says so for every route.
  if (app !== null) await Effect.runPromise(Scope.provide(made.server.serve(Effect.interruptible(app)), serving))
  let stopping: Promise<void> | undefined
  const server: TestServer = {
    frontEnd: made.frontEnd,
    port: made.frontEnd.port,
    base: `http://127.0.0.1:${made.frontEnd.port}`,
    defects,
    stop: () => stopping ??= (async () => {
      await Effect.runPromise(Scope.close(serving, Exit.void))
      await Effect.runPromise(Scope.close(outer, Exit.void))
      running.delete(server)
    })()
  }
  running.add(server)
  return server
}

/** A promise with its resolver: the latch that tests wait on. */
export const latch = <A = void>(): { readonly promise: Promise<A>; readonly open: (value: A) => void } => {
  const { promise, resolve } = Promise.withResolvers<A>()
  return { promise, open: resolve }
}

/** Waits until a fact holds, looking once per turn of the event loop. */
export const eventually = async (what: string, holds: () => boolean, millis = 15_000): Promise<void> => {
  const end = performance.now() + millis
  while (!holds()) {
    if (performance.now() > end) throw new Error(`never held: ${what}`)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** Deterministic randomness; a failing test names its seed. */
export const random = (seed: number): (below: number) => number => {
  let state = seed >>> 0
  return (below) => {
    state = (state + 0x6D2B79F5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) % below
  }
}
