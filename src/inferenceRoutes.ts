/** The inference routes and their access rules (tier CLIENT_API); the management route table includes them. */
import * as Access from "#schemas/api/Access.ts"
import type { Route } from "#schemas/api/RouteTable.ts"

const route = (method: string, path: string, endpoint: string): Route => ({ method, path, group: "inference", endpoint, access: Access.clientApi })

export const inferenceRoutes: ReadonlyArray<Route> = [
  route("POST", "/v1/chat/completions", "chat"),
  route("POST", "/v1/messages", "chat"),
  route("POST", "/v1/messages/count_tokens", "chat"),
  route("POST", "/v1/responses", "chat"),
  route("POST", "/v1/completions", "chat"),
  route("POST", "/v1/api/chat", "chat"),
  route("POST", "/v1/providers/:provider/chat/completions", "chat"),
  route("POST", "/v1/embeddings", "embeddings"),
  route("POST", "/v1/providers/:provider/embeddings", "embeddings"),
  route("POST", "/v1/images/generations", "images"),
  route("POST", "/v1/providers/:provider/images/generations", "images"),
  route("POST", "/v1beta/models/:path", "chat"),
  route("POST", "/v1/models/:path", "chat"),
  route("POST", "/api/v1/editor/:token/chat/completions", "chat"),
  route("POST", "/api/v1/editor/:token/v1/chat/completions", "chat"),
  route("POST", "/api/v1/editor/:token/responses", "chat"),
  route("POST", "/api/v1/editor/:token/api/chat", "chat"),
  route("POST", "/api/v1/session-leases", "leases"),
  route("GET", "/v1/models", "models"),
  route("GET", "/v1/models/:id", "models"),
  route("GET", "/v1/embeddings", "models"),
  route("GET", "/v1/images/generations", "models"),
  route("GET", "/v1/providers/:provider/models", "models"),
  route("GET", "/v1/auto-combo/:channel/candidates", "models"),
  route("GET", "/v1beta/models", "models"),
  route("GET", "/v1beta/models/:id", "models"),
  route("GET", "/api/tags", "models"),
  route("GET", "/v1/api/tags", "models"),
  route("GET", "/v1/api/version", "models"),
  route("POST", "/v1/api/show", "models"),
  route("GET", "/api/v1/editor/:token/", "models"),
  route("GET", "/api/v1/editor/:token/models", "models"),
  route("GET", "/api/v1/editor/:token/api/tags", "models"),
  route("GET", "/api/v1/editor/:token/api/version", "models"),
  route("POST", "/api/v1/editor/:token/api/show", "models"),
  { method: "GET", path: "/metrics", group: "telemetry", endpoint: "metrics", access: Access.loopback }
]
