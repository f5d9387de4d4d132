/** GET /openapi.json and GET /docs: the description of the whole HTTP surface, and a searchable page that needs nothing from the internet. */
import * as Effect from "effect/Effect"
import type * as HttpApi from "effect/http-api/HttpApi"
import type * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiScalar from "effect/http-api/HttpApiScalar"
import * as OpenApi from "effect/http-api/OpenApi"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { anyone } from "#schemas/api/Access.ts"
import type { RouteRule } from "#schemas/api/RouteTable.ts"
import { Description } from "./Description.ts"

export const routes: ReadonlyArray<RouteRule> = [
  { method: "GET", path: "/openapi.json", group: "docs", endpoint: "openapi", access: anyone },
  { method: "GET", path: "/docs", group: "docs", endpoint: "docs", access: anyone }
]

/** The page asks this gateway only: no font, script or proxy of the viewer's own hosts. */
const pagePolicy = "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src 'self' data: blob:; "
  + "font-src data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'"

/** The viewer's script is 3 MB, and most gateways are never asked for it. */
export const layer = <Id extends string, Groups extends HttpApiGroup.Constraint>(api: HttpApi.HttpApi<Id, Groups>) =>
  HttpRouter.use(Effect.fnUntraced(function*(router) {
    const scope = yield* Effect.scope
    const { document: described, reply } = yield* Description
    const page = yield* Effect.cached(Effect.flatMap(described, (document) => {
      const whole = api.annotate(OpenApi.Transform, () => ({ ...document }))
      const viewer = HttpApiScalar.layer(whole, { path: "/docs", scalar: { withDefaultFonts: false, defaultOpenAllTags: false } })
      return HttpRouter.toHttpEffect(viewer).pipe(Effect.provideService(Scope.Scope, scope))
    }))
    yield* router.add("GET", "/openapi.json", reply)
    yield* router.add("GET", "/docs", Effect.map(Effect.flatten(page), HttpServerResponse.setHeader("content-security-policy", pagePolicy)))
  })).pipe(Layer.orDie)
