/** What no route takes: the route of another name of its path, else 404 unknown_route, or 405 with Allow where the path exists for another method. */
import * as Cause from "effect/Cause"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerError from "effect/http/HttpServerError"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import { Lifecycle } from "#actors/ports/Lifecycle.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import * as RouteTable from "#schemas/api/RouteTable.ts"
import * as Errors from "#schemas/errors.ts"
import { errorBodyAt, isLocal } from "#src/wire/errorBodyAt.ts"
import { isClients } from "./authentication/endpointGate.ts"
import * as Render from "./render.ts"
import { givenRequestId } from "#src/platform/gate/origin.ts"

const isRouteNotFound = (cause: Cause.Cause<unknown>): boolean => cause.reasons.some((reason) =>
  Cause.isFailReason(reason) && HttpServerError.isHttpServerError(reason.error) && reason.error.reason._tag === "RouteNotFound")

/** Wraps the whole router; `routes` are those whose methods may be named in an Allow header. */
export const layer = (routes: ReadonlyArray<RouteTable.RouteRule>) => {
  const table = RouteTable.make(routes)
  return HttpRouter.middleware(Effect.gen(function*() {
    const lifecycle = yield* Lifecycle
    const random = yield* SecureRandom.SecureRandom

    /** The clients of local model servers are told the path that they miss: their host ends in /v1. */
    const unknownLocal = (method: string, path: string) => {
      const served = table.match(`/v1${path}`).length > 0 ? `; it is served at /v1${path}` : ""
      return Errors.make("unknown_route", `Unknown route: ${method} ${path.slice(0, 512)}${served}`, { extra: { path: path.slice(0, 512) } })
    }

    const refuse = Effect.gen(function*() {
      const request = yield* HttpServerRequest.HttpServerRequest
      const path = RouteTable.rawPath(request.url)
      const known = RouteTable.ofOtherMethods(table.match(path), request.method)
      const refusal = known.length === 0
        ? Refusal.unknownRoute(request.method, path)
        : Refusal.methodNotAllowed(request.method, RouteTable.allowed(known))
      const requestId = givenRequestId(request.headers) ?? (yield* random.uuidV4())
      const headers = { "x-request-id": requestId, "x-gateway-version": lifecycle.version, "cache-control": "no-store" }
      const error = known[0] !== undefined && isClients(known[0]) ? Errors.make("method_not_allowed", refusal.error.message)
        : known.length === 0 && isLocal(path) ? unknownLocal(request.method, path)
        : null
      if (error !== null) {
        return HttpServerResponse.text(errorBodyAt(path)(error), {
          status: error.status,
          contentType: "application/json",
          headers: { ...headers, ...refusal.headers, "x-gateway-request-id": requestId }
        })
      }
      return HttpServerResponse.setHeaders(Render.body(refusal, requestId), headers)
    })

    return (httpEffect) => Effect.catchCause(httpEffect, (cause) => {
      if (!isRouteNotFound(cause)) return Effect.failCause(cause)
      return Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
        const target = RouteTable.twinOf(request.url)
        return target === null ? refuse : Effect.provideService(
          Effect.catchCause(httpEffect, (again) => isRouteNotFound(again) ? refuse : Effect.failCause(again)),
          HttpServerRequest.HttpServerRequest, request.modify({ url: target })
        )
      })
    })
  }), { global: true })
}
