/** A request that is served inside the process, as a request of its own: nothing of the outer request's response is touched. */
import * as Effect from "effect/Effect"
import * as HttpEffect from "effect/http/HttpEffect"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"

type App = Effect.Effect<HttpServerResponse.HttpServerResponse, unknown, HttpServerRequest.HttpServerRequest | Scope.Scope>

/** The whole response; the scope of a streamed one ends with its stream. `address`: of the client that it is asked for. */
export const respond = (app: App, request: Request, address: string | null = null): Effect.Effect<HttpServerResponse.HttpServerResponse> => Effect.suspend(() => {
  let given = HttpServerResponse.empty({ status: 500 })
  const handled = HttpEffect.toHandled(app, (_request, response) => {
    given = HttpEffect.scopeTransferToStream(response)
    return Effect.void
  })
  return Effect.map(Effect.provideService(handled, HttpServerRequest.HttpServerRequest, 
    address === null ? HttpServerRequest.fromWeb(request) : HttpServerRequest.fromWeb(request).modify({ remoteAddress: Option.some(address) })), () => given)
})
