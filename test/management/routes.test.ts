/** Every route, every kind of caller, and the ways a path can be bent. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as HttpApi from "effect/http-api/HttpApi"
import { ManagementApi } from "#src/ManagementApi.ts"
import type { RouteRule } from "#schemas/api/RouteTable.ts"
import { routes as managementRoutes } from "#src/Management.ts"
import * as Management from "#test/support/management.ts"
import { at } from "#test/support/management.ts"

const routes = managementRoutes()
/** A test of all rows would last half of its time on a calm host. */
const parts = Array.from({ length: 6 }, (_, part) => routes.filter((_, place) => place % 6 === part))
const concrete = (route: RouteRule) => route.path.replaceAll(/:(\w+)/g, "no-such-record")
const hasBody = (route: RouteRule) => route.method !== "GET" && route.method !== "DELETE"
/** Calls that end something: they would sign the test's own session out, or lock it. */
const ending = new Set(["/api/auth/logout", "/api/auth/login", "/api/cli/connect"])

describe("the route table", () => {
  it("has one row with an access rule for every endpoint of the API", () => {
    let endpoints = 0
    HttpApi.reflect(ManagementApi, { onGroup: () => {}, onEndpoint: () => { endpoints++ } })
    assert.strictEqual(routes.filter(({ group }) => group !== "docs").length, endpoints)
    for (const route of routes) assert.isNotNull(route.access, `${route.method} ${route.path} has no access rule`)
    const unique = new Set(routes.map((route) => `${route.method} ${route.path}`))
    assert.strictEqual(unique.size, routes.length)
  })

  it("holds exactly the documented tiers", () => {
    const of = (tier: string) => routes.filter((route) => route.access?.tier === tier).map((route) => `${route.method} ${route.path}`).sort()
    assert.deepStrictEqual(of("PUBLIC"), [
      "GET /", "GET /.well-known/agent-card.json", "GET /.well-known/agent.json", "GET /.well-known/mcp.json", "GET /.well-known/oauth-protected-resource", "GET /.well-known/oauth-protected-resource/api/mcp/sse",
      "GET /.well-known/oauth-protected-resource/api/mcp/stream", "GET /api/a2a/status", "GET /api/auth/oidc/callback", "GET /api/auth/oidc/login", "GET /api/auth/status", "GET /api/health", "GET /api/health/ping", "GET /api/hello", "GET /api/init", "GET /api/monitoring/health",
      "GET /api/settings/require-login", "GET /api/sync/bundle", "GET /api/usage/self-usage", "GET /dashboard", "GET /dashboard/", "GET /dashboard/:screen", "GET /dashboard/:screen/:id",
      "GET /dashboard/assets/:name", "GET /docs", "GET /openapi.json", "POST /api/auth/login", "POST /api/auth/logout",
      "POST /api/cli/connect"
    ])
    assert.deepStrictEqual(of("LOCAL_ONLY"), [
      "DELETE /api/mcp/stream", "GET /api/mcp/audit", "GET /api/mcp/audit/stats", "GET /api/mcp/sse", "GET /api/mcp/status", "GET /api/mcp/stream",
      "GET /api/mcp/tools", "POST /api/mcp/sse", "POST /api/mcp/stream"
    ])
    assert.deepStrictEqual(of("ALWAYS_PROTECTED"), [
      "DELETE /api/acp/agents", "DELETE /api/cli/tokens/:id", "DELETE /api/db-backups", "DELETE /api/plugins/:name", "DELETE /api/settings/feature-flags", "DELETE /api/sync/tokens/:id", "DELETE /api/v1/agents/credentials", "GET /api/acp/agents",
      "GET /api/admin/concurrency", "GET /api/cli-tools/all-statuses", "GET /api/cli-tools/backups", "GET /api/cli-tools/keys",
      "GET /api/cli-tools/status", "GET /api/cli/tokens", "GET /api/config-file/export", "GET /api/context/rtk/raw-output/:id", "GET /api/db-backups", "GET /api/db-backups/export",
      "GET /api/db-backups/exportAll", "GET /api/keys/:id/reveal", "GET /api/logs/console", "GET /api/settings/database", "GET /api/settings/export-json", "GET /api/settings/feature-flags",
      "GET /api/sync/tokens", "GET /api/tunnels/tailscale/check", "GET /api/usage/call-logs/:id/bodies", "PATCH /api/keys/:id", "PATCH /api/settings/database", "POST /api/acp/agents",
      "POST /api/admin/concurrency", "POST /api/cli-tools/apply", "POST /api/cli-tools/backups", "POST /api/cli-tools/codex-settings",
      "POST /api/cli-tools/gemini-settings", "POST /api/cli-tools/pi-settings", "POST /api/cli-tools/qwen-settings", "POST /api/cli/tokens",
      "POST /api/db-backups", "POST /api/db-backups/import", "POST /api/db/health", "POST /api/keys", "POST /api/keys/:id/regenerate", "POST /api/plugins", "POST /api/plugins/:name/activate", "POST /api/plugins/:name/deactivate", "POST /api/plugins/marketplace/install", "POST /api/policies",
      "POST /api/restart", "POST /api/settings/database/refresh-stats", "POST /api/settings/database/vacuum", "POST /api/settings/import-json", "POST /api/settings/require-login",
      "POST /api/shutdown", "POST /api/skills/executions", "POST /api/skills/install", "POST /api/skills/marketplace/install", "POST /api/skills/skillssh/install", "POST /api/sync/cloud", "POST /api/sync/initialize", "POST /api/sync/tokens", "POST /api/system/env/repair",
      "POST /api/tunnels/:kind", "POST /api/tunnels/tailscale/disable", "POST /api/tunnels/tailscale/enable", "POST /api/tunnels/tailscale/install", "POST /api/tunnels/tailscale/login", "POST /api/tunnels/tailscale/start-daemon", "PUT /api/db-backups", "PUT /api/plugins/:name/config", "PUT /api/settings/feature-flags", "PUT /api/settings/ip-filter",
      "PUT /api/settings/require-login", "PUT /api/skills/:id", "PUT /api/v1/agents/credentials", "PUT /v1/accounts/:id/limits", "PUT /v1/providers/:id/limits"
    ])
    for (const route of routes) {
      const { access, method } = route
      if (access?.tier !== "MANAGEMENT" && access?.tier !== "ALWAYS_PROTECTED") continue
      assert.isTrue(method === "GET" || access.token !== "read", `${method} ${route.path} mutates with a read token`)
      if (/^\/api\/(providers|provider-nodes|provider-models)/.test(route.path) && method !== "GET") {
        assert.strictEqual(access.token, "admin", `${method} ${route.path}: provider mutations need scope admin`)
      }
    }
  })

  it.effect.each(parts)("is enforced: anonymous 401, inference key 403, management key and session pass, part %#", (rows) => Effect.gen(function*() {
    const { ask, key, login } = yield* Management.make()
    const cookie = yield* login()
    const inference = yield* key([])
    const manage = yield* key(["manage"])
    const admin = yield* key(["admin"])
    const refused = (reply: Management.Reply) => reply.status === 401 || (reply.status === 403 && at(reply.json, "error", "code") === "AUTH_004")
    for (const route of rows) {
      if (ending.has(route.path) || route.path === "/docs") continue
      const name = `${route.method} ${route.path}`
      const path = concrete(route)
      const request = { method: route.method, ...(hasBody(route) ? { body: {} } : {}), ...(route.access?.tier === "LOCAL_ONLY" ? { from: "127.0.0.1", headers: { host: "localhost" } } : {}) }
      const open = route.access?.tier === "PUBLIC"
      const anonymous = yield* ask(path, request)
      const withInference = yield* ask(path, { ...request, bearer: inference.raw })
      // What is no Bearer is no credential; of the client surface, the handlers say what they make of it.
      for (const authorization of route.access?.tier === "CLIENT_API" ? [] : ["Basic YTpi", "Bearer", "Bearer "]) {
        const reply = yield* ask(path, { ...request, headers: { ...request.headers, authorization } })
        assert.deepStrictEqual([reply.status, at(reply.json, "error", "code")], [anonymous.status, at(anonymous.json, "error", "code")], `${name} ${authorization}`)
      }
      if (route.path === "/api/usage/self-usage") {
        // Its own key is its only way in: a browser's session says nothing about a key.
        assert.deepStrictEqual([anonymous.status, withInference.status], [401, 403])
        continue
      }
      if (route.path === "/api/sync/bundle") {
        // Nor will any credential do but a sync token.
        assert.deepStrictEqual([anonymous.status, withInference.status, (yield* ask(path, { bearer: admin.raw })).status, (yield* ask(path, { cookie })).status], [401, 401, 401, 401])
        continue
      }
      if (route.access?.tier === "CLIENT_API") {
        assert.strictEqual(anonymous.status, 401, `${name} anonymous`)
        assert.notStrictEqual(withInference.status, 401, `${name} inference key`)
      } else if (open) {
        assert.isFalse(refused(anonymous), `${name} anonymous: ${anonymous.status}`)
      } else {
        assert.strictEqual(anonymous.status, 401, `${name} anonymous`)
        assert.deepInclude(at(anonymous.json, "error"), { message: "Authentication required", type: "invalid_request", code: "AUTH_001" }, name)
        assert.strictEqual(withInference.status, 403, `${name} inference key`)
        if (route.access?.clientKey !== true) assert.deepInclude(at(withInference.json, "error"), { message: "Invalid management token", type: "invalid_request" }, name)
      }
      const stopped = path === "/api/restart" || path === "/api/shutdown"
      if (!stopped) {
        const withSession = yield* ask(path, { ...request, cookie })
        assert.isFalse(refused(withSession), `${name} session: ${withSession.status}`)
        const withAdmin = yield* ask(path, { ...request, bearer: admin.raw })
        assert.strictEqual(refused(withAdmin), route.access?.sessionOnly === true, `${name} admin key: ${withAdmin.status}`)
        const withManage = yield* ask(path, { ...request, bearer: manage.raw })
        assert.strictEqual(refused(withManage), route.access?.adminKey === true, `${name} manage key: ${withManage.status} ${withManage.text}`)
      }
      for (const reply of [anonymous, withInference]) {
        assert.strictEqual(reply.headers.get("x-request-id") !== null || route.group === "docs", true, name)
      }
    }
  }))

  const scopes = ["read", "write", "admin"] as const
  it.effect.each(scopes)("an access token may do what its scope says, and what lower ones say: %s", (scope) => Effect.gen(function*() {
    const { ask, login } = yield* Management.make()
    const cookie = yield* login()
    const minted = yield* ask("/api/cli/tokens", { cookie, body: { name: scope, scope } })
    assert.strictEqual(minted.status, 201)
    assert.match(String(at(minted.json, "token")), /^gwa_live_[A-Za-z0-9_-]{43}$/)
    const bearer = String(at(minted.json, "token"))
    for (const route of routes) {
      const rule = route.access
      if ((rule?.tier !== "MANAGEMENT" && rule?.tier !== "ALWAYS_PROTECTED") || route.path === "/api/shutdown") continue
      const reply = yield* ask(concrete(route), { method: route.method, bearer, ...(hasBody(route) ? { body: {} } : {}) })
      if (rule.sessionOnly) {
        assert.strictEqual(reply.status, 401, `${scope} ${route.method} ${route.path}`)
        continue
      }
      const allowed = scopes.indexOf(scope) >= scopes.indexOf(rule.token)
      assert.strictEqual(at(reply.json, "error", "code") === "AUTH_004", !allowed, `${scope} ${route.method} ${route.path}: ${reply.status}`)
    }
  }))
})

describe("paths are exact", () => {
  it.effect("a variant by case, slash, encoding or dot segment is unknown and never another route", () => Effect.gen(function*() {
    const { ask, login } = yield* Management.make()
    const cookie = yield* login()
    const variants = [
      "/API/keys", "/api/Keys", "/api//keys", "//api/keys", "/api/keys/", "/api/%6beys", "/api/keys%2f", "/api/keys;x=1",
      "/api/keys/a%2fb", "/api/settings%2Ffeature-flags", "/api/keys/%00", "/api/health/ping/", "/api/Health/Ping"
    ]
    for (const path of variants) {
      for (const credential of [{}, { cookie }]) {
        const reply = yield* ask(path, credential)
        assert.strictEqual(reply.status, 404, path)
        assert.deepInclude(at(reply.json, "error"), { type: "not_found", code: "unknown_route", path }, path)
      }
    }
  }))

  it.effect("an unknown path under /api answers 404 unknown_route with the path", () => Effect.gen(function*() {
    const { ask } = yield* Management.make()
    const reply = yield* ask("/api/no/such/thing?secret=1")
    assert.strictEqual(reply.status, 404)
    assert.deepInclude(at(reply.json, "error"), { code: "unknown_route", path: "/api/no/such/thing" })
    assert.isNotNull(reply.headers.get("x-request-id"))
    assert.strictEqual(reply.headers.get("x-gateway-version"), "9.9.9")
  }))

  it.effect("a known path with another method answers 405 with Allow", () => Effect.gen(function*() {
    const { ask } = yield* Management.make()
    for (const [method, path, allow] of [
      ["DELETE", "/api/keys", "GET, POST, HEAD"],
      ["POST", "/api/keys/x/devices", "GET, HEAD"],
      ["GET", "/api/providers/validate", "POST"],
      ["DELETE", "/api/providers/test-batch", "POST"],
      ["PATCH", "/api/health/ping", "GET, HEAD"],
      ["OPTIONS", "/api/shutdown", "POST"]
    ] as const) {
      const reply = yield* ask(path, { method })
      assert.strictEqual(reply.status, 405, `${method} ${path}`)
      assert.strictEqual(reply.headers.get("allow"), allow, `${method} ${path}`)
      assert.strictEqual(at(reply.json, "error", "code"), "method_not_allowed")
    }
  }))

  it.effect("HEAD follows GET", () => Effect.gen(function*() {
    const { ask } = yield* Management.make()
    assert.strictEqual((yield* ask("/api/health/ping", { method: "HEAD" })).status, 200)
    assert.strictEqual((yield* ask("/api/keys", { method: "HEAD" })).status, 401)
  }))
})

describe("the local command line", () => {
  const from = { from: "127.0.0.1" }

  it.effect("is accepted from loopback with its token, and from nowhere else", () => Effect.gen(function*() {
    const { ask, context } = yield* Management.make()
    const { localToken, LOCAL_TOKEN_HEADER } = yield* Effect.promise(() => import("#src/management/authentication/localToken.ts"))
    const { Secrets } = yield* Effect.promise(() => import("#actors/ports/Secrets.ts"))
    const { get } = yield* Effect.promise(() => import("effect/Context"))
    const headers = { host: "127.0.0.1:20128", [LOCAL_TOKEN_HEADER]: localToken(get(context, Secrets), Management.MACHINE) }
    assert.strictEqual((yield* ask("/api/keys", { ...from, headers })).status, 200)
    assert.strictEqual((yield* ask("/api/keys", { from: "::ffff:127.0.0.1", headers })).status, 200)
    assert.strictEqual((yield* ask("/api/keys", { from: "203.0.113.5", headers })).status, 401)
    assert.strictEqual((yield* ask("/api/keys", { ...from, headers: { ...headers, "x-forwarded-for": "203.0.113.5" } })).status, 401)
    assert.strictEqual((yield* ask("/api/keys", { ...from, headers: { ...headers, host: "rebound.test" } })).status, 401)
    assert.strictEqual((yield* ask("/api/keys", { ...from, headers: { ...headers, [LOCAL_TOKEN_HEADER]: "wrong" } })).status, 401)
  }))
})
