/**
 * What no route took: 405 with Allow when the path is a direct route under another method, else 404 `unknown_route` with the
 * path (inference document, Errors). Paths are exact, so a variant by case, slash or encoding ends here too (decisions 16).
 */
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Errors from "#schemas/errors.ts"
import type { PublicError } from "#schemas/errors.ts"
import { errorBody } from "#src/wire/chatCompletions.ts"
import { version } from "#schemas/version.ts"

/** Methods of the direct routes and of the inference routes on the effect lane, by exact path. */
const methods: Readonly<Record<string, string>> = {
  "/v1/chat/completions": "POST",
  "/v1/models": "GET",
  "/v1/embeddings": "GET",
  "/v1/images/generations": "GET",
  "/metrics": "GET"
}

export const respond = (error: PublicError, headers: Readonly<Record<string, string>> = {}) =>
  HttpServerResponse.text(errorBody(error), {
    status: error.status,
    contentType: "application/json",
    headers: { "X-Gateway-Version": version, ...headers }
  })

export const unknownRoute = (method: string, url: string) => {
  const path = (url.split("?", 1)[0] as string).slice(0, 512)
  return respond(Errors.make("unknown_route", `Unknown route: ${method} ${path}`, { extra: { path } }))
}

const handler = Effect.gen(function*() {
  const request = yield* HttpServerRequest.HttpServerRequest
  const path = request.url.split("?", 1)[0] as string
  const allow = Object.hasOwn(methods, path) ? methods[path] : undefined
  return allow !== undefined && allow !== request.method
    ? respond(Errors.make("method_not_allowed", `${path} takes ${allow}, not ${request.method}.`), { Allow: allow })
    : unknownRoute(request.method, request.url)
})

export const routes = HttpRouter.add("*", "/*", handler)
