/**
 * Tells webhooks of requests that failed without a row that says so (no target could be tried, or none was the last one), and of those that
 * the cache answered, beside the metrics; of all others the ledger's rows tell, and they know the target.
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
      const nameOf = (provider: string): string => shownProvider(configuration.current(), provider)
      if (summary.outcome === "completed") {
        const hit = summary.cache === "hit" && events.wants("request.completed") ? Payloads.ofCacheHit(summary, nameOf) : null
        if (hit !== null) events.publish(hit)
        return
      }
      if (!events.wants("request.failed")) return
      if (ending.delete(summary.requestId)) return
      const event = Payloads.ofSummary(summary, nameOf)
      if (event !== null) events.publish(event)
    }
  })
}))
