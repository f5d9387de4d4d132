/** GET /v1/search and GET /v1/search/analytics, for the callers of searches. */
import * as Effect from "effect/Effect"
import { Configuration } from "#actors/ports/Configuration.ts"
import { Lifecycle } from "#actors/ports/Lifecycle.ts"
import * as Endpoint from "#src/inference/lane/services/Endpoint.ts"
import { Forks } from "#src/inference/lane/services/Forks.ts"
import * as KeyReads from "#src/inference/lane/services/KeyReads.ts"
import { SearchStatistics } from "./statistics/SearchStatistics.ts"
import * as Views from "./views.ts"

const category = "search" as const
const noun = "The statistics of searches"

export const endpoints = [
  Endpoint.make("GET", "/v1/search", category), Endpoint.make("GET", "/v1/search/analytics", category)
] as const satisfies ReadonlyArray<Endpoint.Endpoint>

export const routes = Effect.gen(function*() {
  const { now } = yield* Forks
  const { startedAt } = yield* Lifecycle
  const configuration = yield* Configuration
  const statistics = yield* SearchStatistics

  const [list, analytics] = endpoints
  const created = Math.floor(startedAt / 1_000)
  return yield* KeyReads.mounted([
    { endpoint: list, category, noun, answer: () => Effect.sync(() => Views.listOf(configuration.current(), created)) },
    {
      endpoint: analytics,
      category,
      noun,
      // A key sees what it searched itself; callers without one are one tenant.
      answer: (key) => Effect.gen(function*() {
        const at = now()
        const whose = { keyId: key === null ? null : key.id }
        const rows = yield* statistics.byProvider(whose)
        const hours = yield* statistics.byHour(whose, Views.sinceOf(at))
        return Views.analyticsOf(configuration.current(), rows, hours, at)
      })
    }
  ])
})
