/** A read that callers of inference may make: admitted like a request, answered as JSON, nothing recorded. */
import * as Effect from "effect/Effect"
import type { StoreError } from "#actors/ports/StoreError.ts"
import * as Errors from "#schemas/errors.ts"
import { PublicError } from "#schemas/errors.ts"
import type { ApiKey, EndpointName } from "#schemas/records/ApiKey.ts"
import * as GatewayHeaders from "#src/inference/lane/gatewayHeaders.ts"
import * as InferenceCall from "#src/inference/lane/InferenceCall.ts"
import type { DirectRoute, Exchange } from "#src/platform/server/Exchange.ts"
import { errorBody } from "#src/wire/chatCompletions/errors.ts"
import type { Endpoint, MountedRoute } from "./Endpoint.ts"
import { Forks } from "./Forks.ts"
import { Inference } from "./Inference.ts"

export interface KeyRead {
  readonly endpoint: Endpoint
  /** What a key's `allowedEndpoints` calls it. */
  readonly category: EndpointName
  /** What cannot be read while the store is away. */
  readonly noun: string
  readonly answer: (key: ApiKey | null, exchange: Exchange) => Effect.Effect<object | PublicError, StoreError>
}

/** Mounts reads; a store that fails is 503. */
export const mounted = (reads: ReadonlyArray<KeyRead>) => Effect.gen(function*() {
  const { fork } = yield* Forks
  const services = yield* Inference
  const { admission } = services

  const route = ({ answer, category, endpoint: { path }, noun }: KeyRead): DirectRoute => (exchange) => {
    exchange.onAbort(() => undefined)
    const tags = InferenceCall.tagsOf(exchange, admission)
    const refuse = (error: PublicError, key: ApiKey | null = null): void => {
      services.refused(path, tags, error, { key, model: null })
      if (!exchange.closed) exchange.respond(error.status, GatewayHeaders.ofError(tags, error, 0), errorBody(error))
    }
    InferenceCall.admit(exchange, category, admission, (key) => {
      if (key instanceof PublicError) return refuse(key)
      fork(Effect.match(answer(key, exchange), {
        onFailure: () => refuse(Errors.make("service_unavailable", `${noun} cannot be read at the moment.`, { retryAfterSeconds: 1 }), key),
        onSuccess: (body) => {
          if (body instanceof PublicError) return refuse(body, key)
          if (!exchange.closed) exchange.respond(200, [...GatewayHeaders.common(tags), "Content-Type", "application/json"], JSON.stringify(body))
        }
      }))
    })
  }
  return reads.map((read): MountedRoute => ({ endpoint: read.endpoint, route: route(read) }))
})
