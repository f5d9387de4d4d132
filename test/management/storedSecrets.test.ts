/** What is stored and never shown is not sent elsewhere by those who cannot read it. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Management from "#test/support/management.ts"
import { at } from "#test/support/management.ts"

const evil = "https://elsewhere.test"
const node = { type: "openai-compatible", apiType: "chat", name: "Vault", prefix: "vault", baseUrl: "https://vault.test/v1" }

const surface = Effect.gen(function*() {
  const { ask, key, login } = yield* Management.make()
  const cookie = yield* login()
  const operator = (method: string, path: string, body: unknown) => ask(path, { method, body, cookie })
  const made = (path: string, body: unknown, name: string) => Effect.map(operator("POST", path, body), ({ json }) => String(at(json, name, "id")))
  const token = (scope: string) => Effect.map(operator("POST", "/api/cli/tokens", { name: scope, scope }), ({ json }) => String(at(json, "token")))
  const manage = (yield* key(["manage"])).raw
  const admin = (yield* key(["admin"])).raw
  /** Refused to `weak` callers with the field's name, granted to an admin key and a session. */
  const heldBack = Effect.fnUntraced(function*(weak: ReadonlyArray<string>, method: string, path: string, body: unknown, field: string) {
    for (const bearer of weak) {
      const { json, status } = yield* ask(path, { method, body, bearer })
      assert.deepStrictEqual([status, at(json, "error", "code"), at(json, "error", "details", 0, "field")], [403, "CREDENTIALS_STAY", field], `${method} ${path}`)
    }
    for (const caller of [{ bearer: admin }, { cookie }]) assert.isBelow((yield* ask(path, { method, body, ...caller })).status, 300)
  })
  return { ask, cookie, operator, made, manage, write: yield* token("write"), heldBack }
})

describe("stored credentials stay where they were meant for", () => {
  it.effect("headers of an MCP server", () => Effect.gen(function*() {
    const { ask, heldBack, made, manage, write } = yield* surface
    const headers = { Authorization: "Bearer canary" }
    const make = (name: string) => made("/api/mcp/servers", { name, url: "https://tools.test/mcp", headers }, "server")
    const path = `/api/mcp/servers/${yield* make("tools")}`
    const change = (body: unknown) => Effect.map(ask(path, { method: "PATCH", body, bearer: write }), ({ status }) => status)
    // The same origin, and an origin that gets a header of its own.
    assert.strictEqual(yield* change({ url: "https://tools.test/other" }), 200)
    assert.strictEqual(yield* change({ url: `${evil}/mcp`, headers: { Authorization: "Bearer own" } }), 200)
    const other = `/api/mcp/servers/${yield* make("others")}`
    yield* heldBack([write, manage], "PATCH", other, { url: `${evil}/mcp` }, "url")
    const third = `/api/mcp/servers/${yield* make("thirds")}`
    yield* heldBack([write], "PATCH", third, { url: `${evil}/mcp`, headers: { authorization: "own", Authorization: "[redacted]" } }, "url")
  }))

  it.effect("the token of a bot", () => Effect.gen(function*() {
    const { ask, heldBack, made, manage, write } = yield* surface
    const path = `/api/webhooks/${yield* made("/api/webhooks", { kind: "telegram", url: "12", metadata: { botToken: "1:canary" } }, "webhook")}`
    const kept = { botToken: "[redacted]", apiUrl: evil }
    yield* heldBack([write, manage], "PUT", path, { metadata: kept }, "metadata.apiUrl")
    const again = `/api/webhooks/${yield* made("/api/webhooks", { kind: "telegram", url: "12", metadata: { botToken: "1:canary" } }, "webhook")}`
    const own = yield* ask(again, { method: "PUT", body: { metadata: { ...kept, botToken: "2:own" } }, bearer: write })
    assert.strictEqual(own.status, 200)
  }))

  it.effect("keys and headers of a provider node", () => Effect.gen(function*() {
    const { ask, heldBack, made, manage, operator } = yield* surface
    const keyed = `/api/provider-nodes/${yield* made("/api/provider-nodes", { ...node, apiKey: "sk-canary" }, "node")}`
    assert.strictEqual((yield* ask(keyed, { method: "PUT", body: { baseUrl: "https://vault.test/v2" }, bearer: manage })).status, 200)
    yield* heldBack([manage], "PUT", keyed, { baseUrl: `${evil}/v1` }, "baseUrl")
    const headed = yield* made("/api/provider-nodes", { ...node, prefix: "headed", customHeaders: { "x-api-key": "canary" } }, "node")
    yield* heldBack([manage], "PUT", `/api/provider-nodes/${headed}`, { baseUrl: `${evil}/v1` }, "baseUrl")
    // A connection of one's own takes the headers of its node with it.
    const added = { provider: headed, name: "own", apiKey: "sk-own", providerSpecificData: { baseUrl: "https://third.test" } }
    yield* heldBack([manage], "POST", "/api/providers", added, "providerSpecificData.baseUrl")
    const plain = yield* made("/api/provider-nodes", { ...node, prefix: "plain", customHeaders: { "x-team": "blue" } }, "node")
    assert.strictEqual((yield* ask(`/api/provider-nodes/${plain}`, { method: "PUT", body: { baseUrl: evil }, bearer: manage })).status, 200)
    assert.strictEqual((yield* operator("POST", "/api/providers", { ...added, provider: plain })).status, 201)
  }))

  it.effect("the key of a connection, also where its URL is made of parts", () => Effect.gen(function*() {
    const { ask, heldBack, made, manage } = yield* surface
    const path = `/api/providers/${yield* made("/api/providers", { provider: "openai", name: "a", apiKey: "sk-canary" }, "connection")}`
    const change = { providerSpecificData: { baseUrl: `${evil}/v1` } }
    assert.strictEqual((yield* ask(path, { method: "PUT", body: { providerSpecificData: { baseUrl: "https://api.openai.com/v1" } }, bearer: manage })).status, 200)
    yield* heldBack([manage], "PUT", path, change, "providerSpecificData")
    const own = `/api/providers/${yield* made("/api/providers", { provider: "openai", name: "b", apiKey: "sk-canary" }, "connection")}`
    assert.strictEqual((yield* ask(own, { method: "PUT", body: { ...change, apiKey: "sk-own" }, bearer: manage })).status, 200)
    const parts = yield* made("/api/providers", { provider: "azure-openai", name: "c", apiKey: "canary", providerSpecificData: { resource: "ours" } }, "connection")
    yield* heldBack([manage], "PUT", `/api/providers/${parts}`, { providerSpecificData: { resource: "theirs" } }, "providerSpecificData")
  }))

  it.effect("the tokens of a sign-in", () => Effect.gen(function*() {
    const { ask, cookie, manage, operator } = yield* surface
    const oauth = yield* operator("POST", "/api/oauth/anthropic/import", { accessToken: "canary", refreshToken: "canary", expiresIn: 3600 })
    const connectionId = String(at(oauth.json, "connectionId"))
    const body = { connectionId, accessToken: "own", providerSpecificData: { baseUrl: evil } }
    const refused = yield* ask("/api/oauth/anthropic/import", { body, bearer: manage })
    assert.deepStrictEqual([refused.status, at(refused.json, "error", "code")], [403, "CREDENTIALS_STAY"])
    assert.isBelow((yield* ask("/api/oauth/anthropic/import", { body, cookie })).status, 300)
  }))
})
