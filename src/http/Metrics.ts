/** GET /metrics: Prometheus text, for loopback scrapers unless GATEWAY_METRICS_ACCESS=all (deny by default). */
import * as IpRange from "#src/stages/ipRange.ts"
import type { Telemetry } from "#actors/ports/Telemetry.ts"
import * as Errors from "#schemas/errors.ts"
import { version } from "#schemas/version.ts"
import type { DirectRoute, Exchange } from "#src/server/Exchange.ts"
import { errorBody } from "#src/wire/chatCompletions/errors.ts"

const loopback: ReadonlyArray<string> = ["127.0.0.0/8", "::1"]

export const route = (telemetry: Telemetry["Service"], access: "loopback" | "all"): DirectRoute => (exchange) => {
  if (access === "all" || IpRange.contains(loopback, exchange.remoteAddress)) {
    if (telemetry.scrape === undefined) return show(exchange, telemetry.render())
    // Others are asked; who has left meanwhile gets nothing.
    exchange.onAbort(() => {})
    return telemetry.scrape((text) => {
      if (exchange.closed) return
      if (text === null) refuse(exchange, Errors.make("service_unavailable", "The metrics of all workers cannot be read now."))
      else show(exchange, text)
    })
  }
  refuse(exchange, Errors.make("insufficient_permissions", "Metrics are for loopback clients; GATEWAY_METRICS_ACCESS=all opens them."))
}

const show = (exchange: Exchange, text: string): void =>
  exchange.respond(200, ["Content-Type", "text/plain; version=0.0.4; charset=utf-8"], text)

const refuse = (exchange: Exchange, error: ReturnType<typeof Errors.make>): void =>
  exchange.respond(error.status, ["Content-Type", "application/json", "X-Gateway-Version", version], errorBody(error))
