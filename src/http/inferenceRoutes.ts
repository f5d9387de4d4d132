/** The inference routes and who may call them (supplement 17, tier CLIENT_API); the management table joins them (PROMISES 14). */
import * as Access from "#schemas/api/Access.ts"
import type { Route } from "#schemas/api/RouteTable.ts"

const route = (method: string, path: string, endpoint: string): Route => ({ method, path, group: "inference", endpoint, access: Access.clientApi })

export const inferenceRoutes: ReadonlyArray<Route> = [
  route("POST", "/v1/chat/completions", "chat"),
  route("GET", "/v1/models", "models"),
  route("GET", "/v1/models/:id", "models"),
  route("GET", "/v1/embeddings", "models"),
  route("GET", "/v1/images/generations", "models"),
  route("GET", "/v1/providers/:provider/models", "models"),
  { method: "GET", path: "/metrics", group: "telemetry", endpoint: "metrics", access: Access.loopback }
]
