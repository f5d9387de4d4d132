/** Conversations of the responses format: made, read, changed and deleted, with their items, by the key that made them. */
import * as Effect from "effect/Effect"
import type { StoreError } from "#actors/ports/StoreError.ts"
import * as Errors from "#schemas/errors.ts"
import { PublicError } from "#schemas/errors.ts"
import * as Jobs from "#src/inference/lane/bodies/jobs.ts"
import * as GatewayHeaders from "#src/inference/lane/gatewayHeaders.ts"
import * as InferenceCall from "#src/inference/lane/InferenceCall.ts"
import * as Intake from "#src/inference/lane/Intake.ts"
import * as Paths from "#src/inference/lane/paths.ts"
import * as Endpoint from "#src/inference/lane/services/Endpoint.ts"
import { Forks } from "#src/inference/lane/services/Forks.ts"
import { Inference } from "#src/inference/lane/services/Inference.ts"
import type { DirectRoute, Exchange } from "#src/platform/server/Exchange.ts"
import * as Json from "#src/wire/json/json.ts"
import { errorBody } from "#src/wire/chatCompletions/errors.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import type { StoredConversation, StoredItem } from "./ConversationStore.ts"
import * as Paging from "./paging.ts"
import { full, isFull, StoredConversations, unknown } from "./StoredConversations.ts"

const all = "/v1/conversations"
const one = `${all}/:id`
const items = `${one}/items`
const item = `${items}/:item`

export const endpoints = [
  Endpoint.make("POST", all, "responses"), Endpoint.make("GET", one, "responses"), Endpoint.make("POST", one, "responses"), Endpoint.make("DELETE", one, "responses"),
  Endpoint.make("GET", items, "responses"), Endpoint.make("POST", items, "responses"), Endpoint.make("GET", item, "responses"), Endpoint.make("DELETE", item, "responses")
] as const satisfies ReadonlyArray<Endpoint.Endpoint>

/** A body that is read on the loop. */
const MOST_BODY_BYTES = 1024 * 1024
/** Items of one call. */
const MOST_ITEMS = 20
const MOST_METADATA = 16

type Body = Readonly<Record<string, unknown>>
type Answer = Effect.Effect<string, StoreError | PublicError>

const invalid = (param: string, message: string): PublicError => Errors.make("bad_request", message, { extra: { param } })
const unknownItem = (id: string): PublicError => Errors.make("conversation_not_found", `This conversation has no item '${id.slice(0, 100)}'.`)
const quiet = invalid("conversation", "A conversation is stored, and nothing of this API key may be (noLog).")

const metadataIn = ({ metadata }: Body): string | PublicError => {
  if (metadata === undefined || metadata === null) return "{}"
  const isFit = Json.isRecord(metadata) && Object.keys(metadata).length <= MOST_METADATA &&
    Object.entries(metadata).every(([key, value]) => key.length <= 64 && typeof value === "string" && value.length <= 512)
  return isFit ? JSON.stringify(metadata) : invalid("metadata", `'metadata' holds up to ${MOST_METADATA} texts of up to 512 characters, under names of up to 64.`)
}

const itemsIn = (body: Body): ReadonlyArray<unknown> | PublicError => {
  const given = body["items"] ?? []
  if (!Array.isArray(given) || given.length > MOST_ITEMS || !given.every(Json.isRecord)) return invalid("items", `'items' is a list of up to ${MOST_ITEMS} input items.`)
  return given
}

const conversationObject = ({ createdAt, id, metadata }: StoredConversation): string =>
  JSON.stringify({ id, object: "conversation", created_at: Math.floor(createdAt / 1000), metadata: JSON.parse(metadata) as unknown })

const shown = ({ id, item }: StoredItem): Readonly<Record<string, unknown>> => {
  const given = Json.parseRecord(item) ?? {}
  const { content } = given
  const text = given["role"] === "assistant" ? "output_text" : "input_text"
  return {
    ...given, id, type: given["type"] ?? "message", status: given["status"] ?? "completed",
    ...(typeof content === "string" ? { content: [{ type: text, text: content }] } : {})
  }
}

export const routes = Effect.gen(function*() {
  const { fork } = yield* Forks
  const services = yield* Inference
  const conversations = yield* StoredConversations
  const { admission } = services

  const route = (endpoint: string, answer: (key: ApiKey | null, exchange: Exchange, body: Body) => Answer, takesBody = false): DirectRoute => (exchange) => {
    exchange.onAbort(() => undefined)
    const tags = InferenceCall.tagsOf(exchange, admission)
    const refuse = (error: PublicError): void => {
      services.refused(endpoint, tags, error)
      if (!exchange.closed) exchange.respond(error.status, GatewayHeaders.ofError(tags, error, 0), errorBody(error))
    }
    const run = (key: ApiKey | null, body: Body): void => {
      fork(Effect.match(answer(key, exchange, body), {
        onFailure: (error) => refuse(error instanceof PublicError ? error : Errors.make("service_unavailable", "Conversations cannot be read or written at the moment.", { retryAfterSeconds: 1 })),
        onSuccess: (text) => {
          if (!exchange.closed) exchange.respond(200, [...GatewayHeaders.common(tags), "Content-Type", "application/json"], text)
        }
      }))
    }
    InferenceCall.admit(exchange, "chat", admission, (key) => {
      if (key instanceof PublicError) return refuse(key)
      if (!takesBody) return run(key, {})
      if (key?.policy.noLog === true) return refuse(quiet)
      exchange.readBody(MOST_BODY_BYTES, (bytes, failure) => {
        if (bytes === null) {
          if (failure !== null && failure !== "aborted") refuse(Intake.bodyError(failure, MOST_BODY_BYTES, exchange))
          return
        }
        const body = bytes.length === 0 ? {} : Jobs.parseBody(Buffer.from(bytes))
        if (body instanceof PublicError) refuse(body)
        else run(key, body)
      })
    })
  }

  /** A route of a conversation of the caller's. */
  const ofOne = (endpoint: string, answer: (found: StoredConversation, exchange: Exchange, body: Body) => Answer, takesBody = false): DirectRoute =>
    route(endpoint, (key, exchange, body) => {
      const id = Paths.segment(exchange.path, 3) ?? ""
      return Effect.flatMap(conversations.find(id, key === null ? null : key.id), (found) => found === null ? Effect.fail(unknown(id)) : answer(found, exchange, body))
    }, takesBody)

  const ofItem = (endpoint: string, answer: (found: StoredConversation, itemId: string) => Answer): DirectRoute =>
    ofOne(endpoint, (found, exchange) => answer(found, Paths.segment(exchange.path, 5) ?? ""))

  const create = (key: ApiKey | null, body: Body): Answer => {
    const metadata = metadataIn(body)
    const given = itemsIn(body)
    if (metadata instanceof PublicError) return Effect.fail(metadata)
    if (given instanceof PublicError) return Effect.fail(given)
    return Effect.map(conversations.create(key === null ? null : key.id, metadata, given), conversationObject)
  }

  const change = (found: StoredConversation, body: Body): Answer => {
    const metadata = metadataIn(body)
    return metadata instanceof PublicError ? Effect.fail(metadata) : Effect.map(conversations.setMetadata(found, metadata), conversationObject)
  }

  const add = Effect.fnUntraced(function*({ id }: StoredConversation, body: Body) {
    const given = itemsIn(body)
    if (given instanceof PublicError) return yield* Effect.fail(given)
    if (isFull(yield* conversations.items(id))) return yield* Effect.fail(full)
    const those = yield* conversations.append(id, given)
    return those === null ? yield* Effect.fail(unknown(id)) : Paging.listed(those.map(shown), false)
  })

  const list = ({ id }: StoredConversation, { query }: Exchange): Answer => Effect.flatMap(conversations.items(id), (found) => {
    const page = Paging.pageOf(found.map(shown), new URLSearchParams(query), "conversation")
    return page instanceof PublicError ? Effect.fail(page) : Effect.succeed(page)
  })

  const readItem = ({ id }: StoredConversation, itemId: string): Answer => Effect.flatMap(conversations.items(id), (found) => {
    const named = found.find((one) => one.id === itemId)
    return named === undefined ? Effect.fail(unknownItem(itemId)) : Effect.succeed(JSON.stringify(shown(named)))
  })

  const removeItem = (found: StoredConversation, itemId: string): Answer =>
    Effect.flatMap(conversations.removeItem(found.id, itemId), (isGone) => isGone ? Effect.succeed(conversationObject(found)) : Effect.fail(unknownItem(itemId)))

  const [make, read, update, remove, listItems, addItems, oneItem, dropItem] = endpoints
  return [
    { endpoint: make, route: route(all, (key, _, body) => create(key, body), true) },
    { endpoint: read, route: ofOne(one, (found) => Effect.succeed(conversationObject(found))) },
    { endpoint: update, route: ofOne(one, (found, _, body) => change(found, body), true) },
    { endpoint: remove, route: ofOne(one, ({ id }) => Effect.as(conversations.remove(id), JSON.stringify({ id, object: "conversation.deleted", deleted: true }))) },
    { endpoint: listItems, route: ofOne(items, list) },
    { endpoint: addItems, route: ofOne(items, (found, _, body) => add(found, body), true) },
    { endpoint: oneItem, route: ofItem(item, readItem) },
    { endpoint: dropItem, route: ofItem(item, removeItem) }
  ] satisfies ReadonlyArray<Endpoint.Mounted>
})
