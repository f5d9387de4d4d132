/** GET, DELETE, cancel and input items of stored responses, by the key that made them. */
import * as Effect from "effect/Effect"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { Configuration } from "#actors/ports/Configuration.ts"
import * as Errors from "#schemas/errors.ts"
import { PublicError } from "#schemas/errors.ts"
import * as GatewayHeaders from "#src/inference/lane/gatewayHeaders.ts"
import * as InferenceCall from "#src/inference/lane/InferenceCall.ts"
import * as Paths from "#src/inference/lane/paths.ts"
import * as Endpoint from "#src/inference/lane/services/Endpoint.ts"
import { Forks } from "#src/inference/lane/services/Forks.ts"
import * as UsageBuffer from "#src/inference/lane/stages/UsageBuffer.ts"
import { Inference } from "#src/inference/lane/services/Inference.ts"
import type { DirectRoute, Exchange } from "#src/platform/server/Exchange.ts"
import { asBuffer } from "#src/wire/json/asBuffer.ts"
import * as Json from "#src/wire/json/json.ts"
import * as ToldUsage from "#src/wire/contextWindow/toldUsage.ts"
import * as ItemTexts from "#src/wire/responses/itemTexts.ts"
import { errorBody } from "#src/wire/chatCompletions/errors.ts"
import * as Paging from "./paging.ts"
import type { StoredResponse } from "./ResponseStore.ts"
import { StoredResponses, unknown } from "./StoredResponses.ts"

const one = "/v1/responses/:id"
const cancelPath = `${one}/cancel`
const inputPath = `${one}/input_items`

export const endpoints = [
  Endpoint.make("GET", one, "responses"), Endpoint.make("DELETE", one, "responses"), Endpoint.make("POST", cancelPath, "responses"), Endpoint.make("GET", inputPath, "responses")
] as const satisfies ReadonlyArray<Endpoint.Endpoint>

type Answer = Effect.Effect<string, StoreError | PublicError>

export const routes = Effect.gen(function*() {
  const { fork } = yield* Forks
  const services = yield* Inference
  const responses = yield* StoredResponses
  const { admission } = services
  const configuration = yield* Configuration
  /** As its client is told it. */
  const told = ({ response }: StoredResponse): string => {
    const tokens = UsageBuffer.tokensIn(configuration.current().settings)
    return tokens === 0 ? response : asBuffer(ToldUsage.inAnswer("responses", tokens, Buffer.from(response))).toString("utf8")
  }

  const route = (endpoint: string, answer: (found: StoredResponse, exchange: Exchange) => Answer): DirectRoute => (exchange) => {
    exchange.onAbort(() => undefined)
    const tags = InferenceCall.tagsOf(exchange, admission)
    const refuse = (error: PublicError): void => {
      services.refused(endpoint, tags, error)
      if (!exchange.closed) exchange.respond(error.status, GatewayHeaders.ofError(tags, error, 0), errorBody(error))
    }
    InferenceCall.admit(exchange, "chat", admission, (key) => {
      if (key instanceof PublicError) return refuse(key)
      const id = Paths.segment(exchange.path, 3) ?? ""
      const found = Effect.flatMap(responses.find(id, key === null ? null : key.id), (response) => response === null ? Effect.fail(unknown(id)) : answer(response, exchange))
      fork(Effect.match(found, {
        onFailure: (error) => refuse(error instanceof PublicError ? error : Errors.make("service_unavailable", "Stored responses cannot be read at the moment.", { retryAfterSeconds: 1 })),
        onSuccess: (body) => {
          if (!exchange.closed) exchange.respond(200, [...GatewayHeaders.common(tags), "Content-Type", "application/json"], body)
        }
      }))
    })
  }

  const [read, remove, cancel, input] = endpoints
  return [
    { endpoint: read, route: route(one, (found, { query }) => new URLSearchParams(query).get("stream") === "true" ? Effect.fail(notStreamed) : Effect.succeed(told(found))) },
    { endpoint: remove, route: route(one, ({ id }) => Effect.as(responses.remove(id), JSON.stringify({ id, object: "response", deleted: true }))) },
    {
      endpoint: cancel,
      route: route(cancelPath, (found) => isInBackground(found) ? Effect.map(responses.cancel(found), told) : Effect.fail(notBackground))
    },
    { endpoint: input, route: route(inputPath, (found, { query }) => {
      const page = pageOf(found, new URLSearchParams(query))
      return page instanceof PublicError ? Effect.fail(page) : Effect.succeed(page)
    }) }
  ] satisfies ReadonlyArray<Endpoint.Mounted>
})

const notBackground = Errors.make("bad_request", "Only a response that is made in the background can be cancelled.")

const notStreamed = Errors.make("bad_request", "A stored response is read whole: leave 'stream' out, and ask again while it is made.", { extra: { param: "stream" } })

const isInBackground = ({ response }: StoredResponse): boolean => Json.parseRecord(response)?.["background"] === true

/** One page of the input items. */
const pageOf = ({ id, input }: StoredResponse, query: URLSearchParams): string | PublicError =>
  Paging.pageOf(ItemTexts.parsed(Buffer.from(input)).filter(Json.isRecord).map((item, i) => ({ ...item, type: item["type"] ?? "message", id: item["id"] ?? `item_${id.slice(5)}_${i}` })), query, "response")
