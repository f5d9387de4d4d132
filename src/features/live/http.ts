/** GET /api/live on the port of the API, and the same on LIVE_WS_PORT: who may open a socket of live events. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import { randomUUID } from "node:crypto"
import { Flags } from "#actors/ports/Flags.ts"
import { reads } from "#schemas/api/Access.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import type { RouteRule } from "#schemas/api/RouteTable.ts"
import * as StatusReason from "#schemas/statusReason.ts"
import { version } from "#schemas/version.ts"
import type { Presented } from "#src/management/authentication/Callers.ts"
import { COOKIE } from "#src/management/authentication/Sessions.ts"
import type { Exchange, ExchangeGuard } from "#src/platform/server/Exchange.ts"
import { FrontEnd } from "#src/platform/server/FrontEnd.ts"
import type { ServerSocket, SocketRoute } from "#src/platform/server/sockets/ServerSocket.ts"
import { LiveHub } from "./LiveHub.ts"
import { LiveOptions } from "./LiveOptions.ts"
import { LiveSocket } from "./LiveSocket.ts"
import * as MayListen from "./MayListen.ts"
import { openPort } from "./livePort.ts"

export const path = "/api/live"

export const routes: ReadonlyArray<RouteRule> = [{ method: "GET", path, group: "live", endpoint: "socket", access: reads }]

/** Sockets at once. */
const MOST_CLIENTS = 500
const options = { maxMessageBytes: 64 * 1024, pingMillis: 15_000, silentMillis: 35_000 }

const presentedBy = (exchange: Exchange): Presented => {
  const headers: Record<string, string | undefined> = {}
  for (let i = 0; i < exchange.headers.length; i += 2) headers[exchange.headers[i]!] ??= exchange.headers[i + 1]
  const token = headers["x-live-ws-token"]
  if (token !== undefined && headers["authorization"] === undefined) headers["authorization"] = `Bearer ${token}`
  const cookies = Object.fromEntries((headers["cookie"] ?? "").split(";").map((pair) => pair.trim().split("=", 2)).filter(([name]) => name === COOKIE))
  return { method: "GET", headers, cookies, peerAddress: exchange.peerAddress, remoteAddress: exchange.remoteAddress }
}

export const layer = Layer.effectDiscard(Effect.gen(function*() {
  const clock = yield* Clock.Clock
  const flags = yield* Flags
  const frontEnd = yield* FrontEnd
  const hub = yield* LiveHub
  const own = yield* LiveOptions
  const run = Effect.runForkWith(yield* Effect.context<never>())
  const { addresses, mayListen } = yield* MayListen.make(own.allowedOrigins)
  let open = 0

  const ask = (presented: Presented, done: (refusal: Refusal.Refusal | null) => void): void => {
    run(mayListen(presented)).addObserver((exit) => done(Exit.isSuccess(exit) ? null : refusalOf(exit)))
  }

  const route: SocketRoute = (exchange, accept) => {
    exchange.onAbort(() => undefined)
    const presented = presentedBy(exchange)
    if (accept === null) {
      return ask(presented, (refusal) => {
        if (!exchange.closed) refuse(exchange, refusal ?? upgradeRequired)
      })
    }
    if (!flags.isOn("GATEWAY_ENABLE_LIVE_WS")) return refuse(exchange, switchedOff)
    accept(options, (socket) => {
      // While the records cannot be read, an open socket stays.
      const recheck = (): void => ask(presented, (refusal) => {
        if (refusal !== null && !StatusReason.isServers(refusal.status)) closeWith(refusal, socket)
      })
      const live = new LiveSocket(socket, {
        hub, now: () => clock.currentTimeMillisUnsafe(), makeId: randomUUID, recheck, over: () => open--
      })
      if (++open > MOST_CLIENTS) socket.close(1013, "SERVER_FULL")
      else {
        ask(presented, (refusal) => {
          if (refusal === null) live.admit()
          else closeWith(refusal, socket)
        })
      }
      return live
    })
  }

  frontEnd.socket(path, route)
  if (flags.isOn("GATEWAY_ENABLE_LIVE_WS") && own.port !== 0) {
    const guard: ExchangeGuard = (exchange) => own.guard(exchange) || addresses.guard(exchange)
    yield* openPort({ ...own, guard }, [path, "/"], route)
  }
}))

const closeWith = (refusal: Refusal.Refusal, socket: ServerSocket): void => {
  if (StatusReason.isServers(refusal.status)) socket.close(1013, "TRY_AGAIN_LATER")
  else if (refusal === MayListen.foreign) socket.close(4003, "FORBIDDEN_ORIGIN")
  else socket.close(4001, "UNAUTHORIZED")
}

const refusalOf = (exit: Exit.Failure<unknown, Refusal.Refusal>): Refusal.Refusal => {
  const [reason] = exit.cause.reasons
  return reason !== undefined && reason._tag === "Fail" ? reason.error : Refusal.internal()
}

const upgradeRequired = new Refusal.Refusal(426, "invalid_request", "upgrade_required", "This path takes WebSockets: connect with ws:// or wss://")
const switchedOff = Refusal.unavailable("Live events are switched off (GATEWAY_ENABLE_LIVE_WS)")

const refuse = (exchange: Exchange, refusal: Refusal.Refusal): void => {
  const requestId = randomUUID()
  exchange.respond(refusal.status, ["Content-Type", "application/json", "X-Request-Id", requestId, "X-Gateway-Version", version, "Cache-Control", "no-store"],
    JSON.stringify({ error: { ...refusal.error, ...refusal.errorExtra }, ...refusal.extra, requestId }))
}
