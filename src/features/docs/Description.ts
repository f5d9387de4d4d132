/** The description of the HTTP surface as it is served: one text, made at the first request, with the tag by which caches know it. */
import * as Crypto from "node:crypto"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import { hasTag } from "#schemas/api/entityTag.ts"
import { Assembled } from "#src/management/Assembled.ts"

export class Description extends Context.Service<Description, {
  readonly document: Effect.Effect<Readonly<Record<string, unknown>>>
  /** 304 without a body for a caller that has it already. */
  readonly reply: Effect.Effect<HttpServerResponse.HttpServerResponse, never, HttpServerRequest.HttpServerRequest>
}>()("gateway/docs/Description") {}

export const layer = Layer.effect(Description, Effect.gen(function*() {
  const { description } = yield* Assembled
  const document = yield* Effect.cached(Effect.map(Effect.promise(description), (whole) => ({ ...whole, servers: [{ url: "/", description: "This gateway" }] })))
  const served = yield* Effect.cached(Effect.map(document, (whole) => {
    const text = JSON.stringify(whole)
    return { text, etag: `"${Crypto.hash("sha256", text, "hex")}"` }
  }))
  return {
    document,
    reply: Effect.gen(function*() {
      const { headers } = yield* HttpServerRequest.HttpServerRequest
      const { etag, text } = yield* served
      // A new release has another text: it may be kept, and must be asked for again.
      const known = { etag, "cache-control": "no-cache" }
      return hasTag(headers["if-none-match"], etag)
        ? HttpServerResponse.empty({ status: 304, headers: known })
        : HttpServerResponse.text(text, { contentType: "application/json", headers: known })
    })
  }
}))
