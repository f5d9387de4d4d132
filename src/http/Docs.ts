/** GET /openapi.json and GET /docs: the description of the API and a page that needs nothing from the internet. */
import * as Effect from "effect/Effect"
import type * as HttpApi from "effect/http-api/HttpApi"
import type * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSwagger from "effect/http-api/HttpApiSwagger"
import * as OpenApi from "effect/http-api/OpenApi"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { anyone } from "#schemas/api/Access.ts"
import type { Route } from "#schemas/api/RouteTable.ts"

export const routes: ReadonlyArray<Route> = [
  { method: "GET", path: "/openapi.json", group: "docs", endpoint: "openapi", access: anyone },
  { method: "GET", path: "/docs", group: "docs", endpoint: "docs", access: anyone }
]

/** Built at the first request: the page's script is 2 MB, and most gateways are never asked for it. */
export const layer = <Id extends string, Groups extends HttpApiGroup.Constraint>(api: HttpApi.HttpApi<Id, Groups>) =>
  HttpRouter.use(Effect.fnUntraced(function*(router) {
    const scope = yield* Effect.scope
    const spec = yield* Effect.cached(Effect.sync(() => HttpServerResponse.jsonUnsafe(OpenApi.fromApi(api))))
    const page = yield* Effect.cached(
      HttpRouter.toHttpEffect(HttpApiSwagger.layer(api, { path: "/docs" })).pipe(Effect.provideService(Scope.Scope, scope))
    )
    yield* router.add("GET", "/openapi.json", spec)
    yield* router.add("GET", "/docs", Effect.flatten(page))
  })).pipe(Layer.orDie)
