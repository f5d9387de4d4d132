/** GET /metrics: Prometheus text, for loopback scrapers unless GATEWAY_METRICS_ACCESS=all (deny by default). */
import * as IpRange from "#src/stages/ipRange.ts"
import type { Telemetry } from "#actors/ports/Telemetry.ts"
import * as Errors from "#schemas/errors.ts"
import { version } from "#schemas/version.ts"
import type { DirectRoute } from "#src/server/Exchange.ts"
import { errorBody } from "#src/wire/chatCompletions/errors.ts"

const loopback: ReadonlyArray<string> = ["127.0.0.0/8", "::1"]

export const route = (telemetry: Telemetry["Service"], access: "loopback" | "all"): DirectRoute => (exchange) => {
  if (access === "all" || IpRange.contains(loopback, exchange.remoteAddress)) {
    exchange.respond(200, ["Content-Type", "text/plain; version=0.0.4; charset=utf-8"], telemetry.render())
    return
  }
  const error = Errors.make("insufficient_permissions", "Metrics are for loopback clients; GATEWAY_METRICS_ACCESS=all opens them.")
  exchange.respond(error.status, ["Content-Type", "application/json", "X-Gateway-Version", version], errorBody(error))
}
