/** HEAD and GET /api/hello: the reachability check of the messages vendor's coding agent, which asks it before its first call. */
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import { anyone } from "#schemas/api/Access.ts"
import type { RouteRule } from "#schemas/api/RouteTable.ts"

export const routes: ReadonlyArray<RouteRule> = [{ method: "GET", path: "/api/hello", group: "docs", endpoint: "hello", access: anyone }]

export const layer = HttpRouter.add("GET", "/api/hello", HttpServerResponse.jsonUnsafe({ message: "hello" }, { headers: { "cache-control": "no-store" } }))
