/** GET /v1/search and GET /v1/search/analytics, for the callers of searches. */
import * as Effect from "effect/Effect"
import { Configuration } from "#actors/ports/Configuration.ts"
import { Lifecycle } from "#actors/ports/Lifecycle.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import * as Errors from "#schemas/errors.ts"
import { PublicError } from "#schemas/errors.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import * as GatewayHeaders from "#src/inference/lane/gatewayHeaders.ts"
import * as InferenceCall from "#src/inference/lane/InferenceCall.ts"
import * as Endpoint from "#src/inference/lane/services/Endpoint.ts"
import { Forks } from "#src/inference/lane/services/Forks.ts"
import { Inference } from "#src/inference/lane/services/Inference.ts"
import type { DirectRoute } from "#src/platform/server/Exchange.ts"
import { errorBody } from "#src/wire/chatCompletions/errors.ts"
import { SearchStatistics } from "./statistics/SearchStatistics.ts"
import * as Views from "./views.ts"

const category = "search"

export const endpoints = [
  Endpoint.make("GET", "/v1/search", category), Endpoint.make("GET", "/v1/search/analytics", category)
] as const satisfies ReadonlyArray<Endpoint.Endpoint>

export const routes = Effect.gen(function*() {
  const { fork, now } = yield* Forks
  const { startedAt } = yield* Lifecycle
  const configuration = yield* Configuration
  const services = yield* Inference
  const statistics = yield* SearchStatistics
  const { admission } = services

  const route = ({ path }: Endpoint.Endpoint, answer: (key: ApiKey | null) => Effect.Effect<object, StoreError>): DirectRoute => (exchange) => {
    exchange.onAbort(() => undefined)
    const tags = InferenceCall.tagsOf(exchange, admission)
    const refuse = (error: PublicError): void => {
      services.refused(path, tags, error)
      if (!exchange.closed) exchange.respond(error.status, GatewayHeaders.ofError(tags, error, 0), errorBody(error))
    }
    InferenceCall.admit(exchange, category, admission, (key) => {
      if (key instanceof PublicError) return refuse(key)
      fork(Effect.match(answer(key), {
        onFailure: () => refuse(Errors.make("service_unavailable", "The statistics of searches cannot be read at the moment.", { retryAfterSeconds: 1 })),
        onSuccess: (body) => {
          if (!exchange.closed) exchange.respond(200, [...GatewayHeaders.common(tags), "Content-Type", "application/json"], JSON.stringify(body))
        }
      }))
    })
  }

  const [list, analytics] = endpoints
  const created = Math.floor(startedAt / 1_000)
  return [
    { endpoint: list, route: route(list, () => Effect.sync(() => Views.listOf(configuration.current(), created))) },
    {
      endpoint: analytics,
      // A key sees what it searched itself; callers without one are one tenant.
      route: route(analytics, (key) => Effect.gen(function*() {
        const at = now()
        const whose = { keyId: key === null ? null : key.id }
        const rows = yield* statistics.byProvider(whose)
        const hours = yield* statistics.byHour(whose, Views.sinceOf(at))
        return Views.analyticsOf(configuration.current(), rows, hours, at)
      }))
    }
  ] satisfies ReadonlyArray<Endpoint.Mounted>
})
