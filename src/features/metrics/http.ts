/** GET /metrics: Prometheus text, for scrapers on this machine unless GATEWAY_METRICS_ACCESS=all (deny by default). */
import * as Effect from "effect/Effect"
import { Telemetry } from "#actors/request/ports/Telemetry.ts"
import * as Errors from "#schemas/errors.ts"
import { loopback } from "#schemas/api/Access.ts"
import { version } from "#schemas/version.ts"
import type { Endpoint, Mounted } from "#src/inference/lane/services/Endpoint.ts"
import { isLocal } from "#src/platform/gate/loopback.ts"
import type { DirectRoute, Exchange } from "#src/platform/server/Exchange.ts"
import { errorBody } from "#src/wire/chatCompletions/errors.ts"

export const route = (telemetry: Telemetry["Service"], access: "loopback" | "all"): DirectRoute => (exchange) => {
  if (access === "all" || isLocal(exchange.peerAddress, exchange.remoteAddress, (name) => exchange.header(name))) {
    if (telemetry.scrape === undefined) return show(exchange, telemetry.render())
    // The other workers are asked; a client that has left in the meantime gets nothing.
    exchange.onAbort(() => {})
    return telemetry.scrape((text) => {
      if (exchange.closed) return
      if (text === null) refuse(exchange, Errors.make("service_unavailable", "The metrics of all workers cannot be read now."))
      else show(exchange, text)
    })
  }
  refuse(exchange, Errors.make("insufficient_permissions", "Metrics are for clients on this machine, not for those behind a proxy; GATEWAY_METRICS_ACCESS=all opens them."))
}

const scrape: Endpoint = { method: "GET", path: "/metrics", group: "telemetry", endpoint: "metrics", access: loopback }

export const endpoints: ReadonlyArray<Endpoint> = [scrape]

export const routes = (access: "loopback" | "all") => Effect.map(Telemetry, (telemetry): ReadonlyArray<Mounted> =>
  [{ endpoint: scrape, route: route(telemetry, access) }])

const show = (exchange: Exchange, text: string): void =>
  exchange.respond(200, ["Content-Type", "text/plain; version=0.0.4; charset=utf-8"], text)

const refuse = (exchange: Exchange, error: ReturnType<typeof Errors.make>): void =>
  exchange.respond(error.status, ["Content-Type", "application/json", "X-Gateway-Version", version], errorBody(error))
