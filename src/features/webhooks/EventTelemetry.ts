/**
 * Tells webhooks of requests that failed without a row that says so (no target could be tried, or none was the last one), beside
 * the metrics; of all others the ledger's rows tell, and they know the target.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Configuration, shownProvider } from "#actors/ports/Configuration.ts"
import { Events } from "#actors/webhook/Events.ts"
import { Telemetry } from "#actors/request/ports/Telemetry.ts"
import * as Payloads from "#actors/webhook/payloads.ts"

/** Failed requests between their last row and their end; a request that never ends must not fill it. */
const maxEnding = 10_000

export const layer: Layer.Layer<Telemetry, never, Configuration | Telemetry | Events> = Layer.effect(Telemetry, Effect.gen(function*() {
  const configuration = yield* Configuration
  const telemetry = yield* Telemetry
  const events = yield* Events
  const ending = new Set<string>()
  return Telemetry.of({
    ...telemetry,
    attemptSettled: (row) => {
      telemetry.attemptSettled(row)
      if (!row.final || row.outcome === "completed" || !events.wants("request.failed")) return
      if (ending.size >= maxEnding) ending.clear()
      ending.add(row.requestId)
    },
    requestSettled: (summary) => {
      telemetry.requestSettled(summary)
      if (summary.outcome === "completed" || !events.wants("request.failed")) return
      if (ending.delete(summary.requestId)) return
      const event = Payloads.ofSummary(summary, (provider) => shownProvider(configuration.current(), provider))
      if (event !== null) events.publish(event)
    }
  })
}))
