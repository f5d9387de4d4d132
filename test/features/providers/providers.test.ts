import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { Configuration } from "#actors/ports/Configuration.ts"
import { AuditStore, ConnectionStore, NodeStore } from "#actors/ports/Stores.ts"
import type { ProbeResult } from "#src/features/providers/ports/ProviderProbe.ts"
import * as Management from "#test/support/management.ts"
import { at } from "#test/support/management.ts"

const CANARY = "sk-canary-upstream-secret"

const signedIn = Effect.gen(function*() {
  const surface = yield* Management.make()
  const cookie = yield* surface.login()
  const post = (path: string, body: unknown = {}) => surface.ask(path, { method: "POST", cookie, body })
  const put = (path: string, body: unknown) => surface.ask(path, { method: "PUT", cookie, body })
  const get = (path: string) => surface.ask(path, { cookie })
  const create = (more: Readonly<Record<string, unknown>> = {}) => post("/api/providers", { provider: "openai", name: "Main", apiKey: CANARY, ...more })
  const audit = Effect.map(Context.get(surface.context, AuditStore).query({ limit: 100, offset: 0 }), ({ entries }) => entries.map((entry) => entry.action))
  return { ...surface, audit, cookie, create, get, post, put }
})
const fieldsOf = (reply: Management.Reply) =>
  ((at(reply.json, "error", "details") ?? []) as ReadonlyArray<{ field: string }>).map((detail) => detail.field)
const idOf = (reply: Management.Reply) => String(at(reply.json, "connection", "id"))

const refusedBy = (type: NonNullable<ProbeResult["diagnosis"]>["type"], statusCode: number): ProbeResult => ({
  valid: false, statusCode, latencyMs: 7, method: "models", models: null, blocked: false,
  diagnosis: { type, source: "upstream", code: String(statusCode), message: `upstream said ${statusCode}` }
})

describe("connections", () => {
  it.effect("a stored credential is active at once and never read back", () => Effect.gen(function*() {
    const { audit, context, create, get } = yield* signedIn
    const created = yield* create()
    assert.strictEqual(created.status, 201)
    assert.deepInclude(at(created.json, "connection"), {
      provider: "openai", authType: "apikey", priority: 1, isActive: true, testStatus: "unknown", hasApiKey: true, backoffLevel: 0
    })
    for (const reply of [created, yield* get("/api/providers"), yield* get(`/api/providers/${idOf(created)}`)]) {
      assert.notInclude(reply.text, CANARY)
      assert.notInclude(reply.text, "\"apiKey\"")
    }
    assert.lengthOf(Context.get(context, Configuration).current().activeByProvider.get("openai") ?? [], 1)
    assert.include(yield* audit, "provider.credentials.created")
  }))

  it.effect("an alias names its provider; an unknown one answers 400 Invalid provider, a missing node 404", () => Effect.gen(function*() {
    const { create } = yield* signedIn
    assert.strictEqual((yield* create({ provider: "nobody" })).status, 400)
    assert.strictEqual((yield* create({ provider: "openai-compatible-chat-123" })).status, 404)
    const { builtin } = yield* Effect.promise(() => import("#src/providers/Registry.ts"))
    const aliased = builtin.all.find((row) => row.alias !== row.id && row.authKinds.includes("apikey"))
    if (aliased !== undefined) assert.strictEqual(at((yield* create({ provider: aliased.alias })).json, "connection", "provider"), aliased.id)
  }))

  it.effect("a credential is required unless the provider takes none, and is one clean line", () => Effect.gen(function*() {
    const { create } = yield* signedIn
    assert.deepStrictEqual(fieldsOf(yield* create({ apiKey: "  " })), ["apiKey"])
    assert.deepStrictEqual(fieldsOf(yield* create({ apiKey: "sk-a\r\nx-injected: 1" })), ["apiKey"])
    // Pasted with it: no header could carry them, so every call of the connection would fail.
    for (const pasted of ["\u200bsk-a", "sk-a\u2026", "sk\u2013a", "sk-a\ud800"]) assert.deepStrictEqual(fieldsOf(yield* create({ apiKey: pasted })), ["apiKey"], pasted)
    assert.strictEqual((yield* create({ apiKey: ` ${CANARY}\n` })).status, 201)
    const local = yield* create({ provider: "ollama", apiKey: undefined })
    assert.strictEqual(at(local.json, "connection", "authType"), "none")
  }))

  it.effect("a base URL the guard refuses answers 400 and is audited", () => Effect.gen(function*() {
    const { audit, create, dials } = yield* signedIn
    dials.blocked = new Set(["169.254.169.254"])
    const reply = yield* create({ providerSpecificData: { baseUrl: "http://169.254.169.254/latest" } })
    assert.strictEqual(reply.status, 400)
    assert.strictEqual(at(reply.json, "error", "code"), "url_blocked")
    assert.include(yield* audit, "provider.validation.ssrf_blocked")
  }))

  it.effect("a change merges providerSpecificData shallowly, null removes, secret-looking members are not shown", () => Effect.gen(function*() {
    const { context, create, put } = yield* signedIn
    const id = idOf(yield* create({ providerSpecificData: { region: "eu", project: "p" } }))
    const documents = Context.get(context, ConnectionStore)
    yield* documents.patch(id, { providerSpecificData: { region: "eu", project: "p", sessionToken: "canary-session", nested: { api_key: "canary-nested", ok: 1 } } })
    const changed = yield* put(`/api/providers/${id}`, { providerSpecificData: { region: null, plan: "pro" } })
    assert.deepStrictEqual(at(changed.json, "connection", "providerSpecificData"), { project: "p", nested: { ok: 1 }, plan: "pro" })
    assert.notInclude(changed.text, "canary")
    const stored = yield* Context.get(context, ConnectionStore).get(id)
    assert.strictEqual(stored?.providerSpecificData["sessionToken"], "canary-session")
  }))

  it.effect("refuse an address behind which no path can be put", () => Effect.gen(function*() {
    const { create, put } = yield* signedIn
    const id = idOf(yield* create({ providerSpecificData: { baseUrl: "https://a.test/v1" } }))
    for (const baseUrl of ["https://a.test/v1?key=1", "https://a.test/v1#top", "https://a.test/v1 ", 5]) {
      for (const reply of [yield* create({ providerSpecificData: { baseUrl } }), yield* put(`/api/providers/${id}`, { providerSpecificData: { baseUrl } })]) {
        assert.deepStrictEqual([reply.status, at(reply.json, "error", "details", 0, "field")], [400, "providerSpecificData.baseUrl"], JSON.stringify(baseUrl))
      }
    }
  }))

  it.effect("a User-Agent that could not be sent is refused, at creation and later", () => Effect.gen(function*() {
    const { create, put } = yield* signedIn
    const id = idOf(yield* create({ providerSpecificData: { customUserAgent: "a".repeat(500) } }))
    for (const customUserAgent of ["a".repeat(501), "two\r\nlines", "\u0000", "Zürich €", 5, {}]) {
      for (const reply of [yield* create({ providerSpecificData: { customUserAgent } }), yield* put(`/api/providers/${id}`, { providerSpecificData: { customUserAgent } })]) {
        assert.deepStrictEqual([reply.status, at(reply.json, "error", "details", 0, "field")], [400, "providerSpecificData.customUserAgent"], JSON.stringify(customUserAgent))
      }
    }
    assert.strictEqual((yield* put(`/api/providers/${id}`, { providerSpecificData: { customUserAgent: null } })).status, 200)
  }))

  it.effect("a key of providerSpecificData that nothing reads is refused by its name; what is stored may be sent back", () => Effect.gen(function*() {
    const { context, create, get, put } = yield* signedIn
    const refused = yield* create({ providerSpecificData: { region: "eu", regoin: "eu" } })
    assert.deepStrictEqual([refused.status, at(refused.json, "error", "code"), at(refused.json, "error", "details", 0, "field")], [400, "not_supported_yet", "providerSpecificData.regoin"])
    const foreign = yield* create({ providerSpecificData: { resource: "mine" } })
    assert.strictEqual(at(foreign.json, "error", "details", 0, "field"), "providerSpecificData.resource", "a name of another provider's URLs")
    assert.strictEqual((yield* create({ provider: "azure-openai", providerSpecificData: { resource: "mine" } })).status, 201)
    const id = idOf(yield* create())
    yield* Context.get(context, ConnectionStore).patch(id, { providerSpecificData: { old: { a: 1 } } })
    assert.strictEqual((yield* put(`/api/providers/${id}`, { providerSpecificData: { old: { a: 1 }, plan: "pro" } })).status, 200)
    const before = (yield* get(`/api/providers/${id}`)).text
    assert.strictEqual(at((yield* put(`/api/providers/${id}`, { providerSpecificData: { old: { a: 2 } } })).json, "error", "code"), "not_supported_yet")
    assert.strictEqual((yield* get(`/api/providers/${id}`)).text, before)
  }))

  it.effect("a new key forgets what was held against the old one; other edits leave the health marks", () => Effect.gen(function*() {
    const { context, create, put } = yield* signedIn
    const id = idOf(yield* create())
    const store = Context.get(context, ConnectionStore)
    yield* store.patch(id, { testStatus: "banned", lastError: "no", backoffLevel: 3, rateLimitedUntil: "2030-01-01T00:00:00.000Z" })
    assert.deepInclude(at((yield* put(`/api/providers/${id}`, { name: "Renamed" })).json, "connection"), { name: "Renamed", testStatus: "banned", backoffLevel: 3 })
    assert.deepInclude(at((yield* put(`/api/providers/${id}`, { apiKey: "sk-next" })).json, "connection"), {
      testStatus: "unknown", lastError: null, backoffLevel: 0, rateLimitedUntil: null
    })
    const stored = yield* store.get(id)
    assert.strictEqual(stored?.apiKey === null || stored === null ? "" : Redacted.value(stored.apiKey), "sk-next")
  }))

  it.effect("nothing to change answers 400; an unknown field is named; an unknown id 404 Connection not found", () => Effect.gen(function*() {
    const { create, get, put } = yield* signedIn
    const id = idOf(yield* create({ provider: "ollama", apiKey: undefined }))
    const none = yield* put(`/api/providers/${id}`, {})
    assert.strictEqual(at(none.json, "error", "message"), "No valid fields to update")
    assert.strictEqual((yield* put(`/api/providers/${id}`, { apiKey: "only for apikey connections" })).status, 400)
    assert.deepStrictEqual(fieldsOf(yield* put(`/api/providers/${id}`, { isActve: true })), ["isActve"])
    assert.deepStrictEqual(fieldsOf(yield* put(`/api/providers/${id}`, { rateLimitOverrides: { rpm: 1, burst: 2 } })), ["rateLimitOverrides.burst"])
    assert.strictEqual(at((yield* get("/api/providers/nobody")).json, "error", "message"), "Connection not found")
  }))

  it.effect("switches several on or off, deletes with a message", () => Effect.gen(function*() {
    const { ask, audit, cookie, create, get } = yield* signedIn
    const ids = [idOf(yield* create()), idOf(yield* create())]
    const switched = (all: ReadonlyArray<string>) => ask("/api/providers", { method: "PATCH", cookie, body: { ids: all, isActive: false } })
    assert.deepStrictEqual(fieldsOf(yield* switched([...ids, "nobody"])), ["ids.2"])
    assert.strictEqual(at((yield* get(`/api/providers/${ids[0]}`)).json, "connection", "isActive"), true)
    assert.deepStrictEqual((yield* switched([...ids, ...ids])).json, { updated: 2 })
    const gone = yield* ask(`/api/providers/${ids[0]}`, { method: "DELETE", cookie })
    assert.deepStrictEqual(gone.json, { message: "Connection deleted" })
    assert.strictEqual((yield* get(`/api/providers/${ids[0]}`)).status, 404)
    assert.include(yield* audit, "provider.credentials.revoked")
  }))
})

describe("asking the upstream", () => {
  it.effect("a test that passes clears a terminal status; one that fails keeps it and says why", () => Effect.gen(function*() {
    const { context, create, dials, get, post } = yield* signedIn
    const id = idOf(yield* create())
    yield* Context.get(context, ConnectionStore).patch(id, { testStatus: "credits_exhausted" })
    dials.probe = () => refusedBy("upstream_auth_error", 401)
    const failed = yield* post(`/api/providers/${id}/test`)
    assert.deepInclude(failed.json as object, {
      provider: "openai", connectionId: id, connectionName: "Main", authType: "apikey", valid: false, statusCode: 401, error: "upstream said 401"
    })
    assert.deepInclude(at((yield* get(`/api/providers/${id}`)).json, "connection"), { testStatus: "credits_exhausted", lastErrorType: "upstream_auth_error" })
    dials.probe = () => Management.probeOk
    assert.strictEqual(at((yield* post(`/api/providers/${id}/test`)).json, "valid"), true)
    assert.deepInclude(at((yield* get(`/api/providers/${id}`)).json, "connection"), { testStatus: "active", lastError: null })
    const probed = dials.probed[0]?.credential
    assert.strictEqual(probed === null || probed === undefined ? "" : Redacted.value(probed), CANARY)
  }))

  it.effect("a batch tests the group its mode means and sums up", () => Effect.gen(function*() {
    const { create, dials, post } = yield* signedIn
    yield* create()
    const groq = idOf(yield* create({ provider: "groq" }))
    yield* create({ provider: "ollama", apiKey: undefined })
    dials.probe = (candidate) => candidate.provider === "groq" ? refusedBy("upstream_unavailable", 503) : Management.probeOk
    const all = yield* post("/api/providers/test-batch", { mode: "all" })
    assert.deepStrictEqual(at(all.json, "summary"), { total: 3, passed: 2, failed: 1 })
    for (const [body, total] of [
      [{ mode: "apikey" }, 2], [{ mode: "no-auth" }, 1], [{ mode: "local" }, 1], [{ mode: "oauth" }, 0], [{ mode: "web-cookie" }, 0],
      [{ mode: "provider", providerId: "openai" }, 1], [{ mode: "selected", connectionIds: [groq] }, 1], [{ mode: "compatible" }, 0]
    ] as const) assert.strictEqual(at((yield* post("/api/providers/test-batch", body)).json, "summary", "total"), total, body.mode)
    assert.deepStrictEqual(fieldsOf(yield* post("/api/providers/test-batch", { mode: "provider" })), ["providerId"])
    assert.deepStrictEqual(fieldsOf(yield* post("/api/providers/test-batch", { mode: "selected" })), ["connectionIds"])
    assert.deepStrictEqual(fieldsOf(yield* post("/api/providers/test-batch", { mode: "selected", connectionIds: [groq, "nobody"] })), ["connectionIds.1"])
    assert.deepStrictEqual(fieldsOf(yield* post("/api/providers/test-batch", { mode: "provider", providerId: "nobody" })), ["providerId"])
    assert.deepStrictEqual(fieldsOf(yield* post("/api/providers/test-batch", { mode: "everything" })), ["mode"])
  }))

  it.effect("validate answers 200 with the verdict and stores nothing", () => Effect.gen(function*() {
    const { dials, get, post } = yield* signedIn
    assert.deepStrictEqual((yield* post("/api/providers/validate", { provider: "openai", apiKey: CANARY })).json, {
      valid: true, error: null, warning: null, method: "models"
    })
    dials.probe = () => refusedBy("upstream_auth_error", 401)
    assert.deepInclude((yield* post("/api/providers/validate", { provider: "openai", apiKey: CANARY })).json as object, { valid: false, error: "upstream said 401" })
    dials.probe = () => refusedBy("upstream_rate_limited", 429)
    assert.deepInclude((yield* post("/api/providers/validate", { provider: "openai", apiKey: CANARY })).json as object, { valid: true, warning: "upstream said 429" })
    dials.probe = () => ({ ...refusedBy("unsupported", 0), statusCode: null })
    assert.strictEqual((yield* post("/api/providers/validate", { provider: "jina", apiKey: CANARY })).status, 400)
    assert.deepStrictEqual((yield* get("/api/providers")).json, { connections: [] })
  }))

  it.effect("bulk and import fail per row, never as a whole", () => Effect.gen(function*() {
    const { dials, post } = yield* signedIn
    const bulk = yield* post("/api/providers/bulk", {
      provider: "openai", entries: [{ name: "a", apiKey: "sk-a", accountId: "acc" }, { name: "b", apiKey: "sk\u0000b" }]
    })
    assert.strictEqual(bulk.status, 200)
    assert.deepInclude(bulk.json as object, { total: 2, created: 1, failed: 1 })
    assert.deepInclude(at(bulk.json, "results", 1), { index: 1, name: "b", provider: "openai", success: false })
    dials.probe = (candidate) => candidate.provider === "groq" ? refusedBy("upstream_auth_error", 401) : Management.probeOk
    const mixed = yield* post("/api/providers/import", {
      validateKeys: true,
      entries: [{ provider: "openai", name: "x", apiKey: "k" }, { provider: "groq", name: "y", apiKey: "k" }, { provider: "nobody", name: "z", apiKey: "k" }]
    })
    assert.deepStrictEqual((at(mixed.json, "results") as ReadonlyArray<{ success: boolean }>).map((row) => row.success), [true, false, false])
    assert.strictEqual(at(mixed.json, "results", 1, "error"), "upstream said 401")
    assert.strictEqual((yield* post("/api/providers/import", { entries: [] })).status, 400)
  }))

  it.effect("models come from the registry until they are synced; a sync that fails answers 502", () => Effect.gen(function*() {
    const { create, dials, get, post } = yield* signedIn
    const id = idOf(yield* create())
    assert.strictEqual(at((yield* get(`/api/providers/${id}/models`)).json, "source"), "registry")
    assert.deepInclude((yield* post(`/api/providers/${id}/sync-models`)).json as object, { source: "upstream", models: [{ id: "m-1", name: null }] })
    assert.deepInclude((yield* get(`/api/providers/${id}/models`)).json as object, { source: "synced", models: [{ id: "m-1", name: null }] })
    dials.probe = () => refusedBy("upstream_unavailable", 500)
    assert.strictEqual((yield* post(`/api/providers/${id}/sync-models`)).status, 502)
  }))

  it.effect("parameter filters and interception rules answer their defaults, which may be sent back", () => Effect.gen(function*() {
    const { create, get, put } = yield* signedIn
    const id = idOf(yield* create())
    const filters = yield* get(`/api/providers/${id}/param-filters`)
    assert.deepStrictEqual(filters.json, { block: [], allow: [], models: {}, autoLearn: false })
    assert.deepStrictEqual((yield* put(`/api/providers/${id}/param-filters`, filters.json)).json, filters.json)
    assert.strictEqual((yield* put(`/api/providers/${id}/interception-rules`, { fetchBackend: "other" })).status, 400)
    assert.strictEqual((yield* get("/api/providers/nobody/param-filters")).status, 404)
  }))
})

describe("provider nodes", () => {
  const node = { type: "openai-compatible", name: "Local", prefix: "local", apiType: "chat", baseUrl: "http://127.0.0.1:8000/v1/" }

  it.effect("get an id of their type, a tidy base URL, and are found by id", () => Effect.gen(function*() {
    const { get, post } = yield* signedIn
    const created = yield* post("/api/provider-nodes", node)
    assert.strictEqual(created.status, 201)
    assert.match(String(at(created.json, "node", "id")), /^openai-compatible-chat-[0-9a-f-]{36}$/)
    assert.strictEqual(at(created.json, "node", "baseUrl"), "http://127.0.0.1:8000/v1")
    const anthropic = yield* post("/api/provider-nodes", { type: "anthropic-compatible", name: "A", prefix: "ant", baseUrl: "https://a.test/v1/messages" })
    assert.match(String(at(anthropic.json, "node", "id")), /^anthropic-compatible-/)
    assert.strictEqual(at(anthropic.json, "node", "baseUrl"), "https://a.test/v1")
    assert.lengthOf(at((yield* get("/api/provider-nodes")).json, "nodes") as ReadonlyArray<unknown>, 2)
    assert.strictEqual((yield* get("/api/provider-nodes/nobody")).status, 404)
  }))

  it.effect("a prefix is unique and is no built-in provider; rules are named", () => Effect.gen(function*() {
    const { dials, post } = yield* signedIn
    yield* post("/api/provider-nodes", node)
    assert.strictEqual((yield* post("/api/provider-nodes", node)).status, 409)
    const cases: ReadonlyArray<readonly [Readonly<Record<string, unknown>>, string]> = [
      [{ prefix: "openai" }, "prefix"], [{ prefix: "OpenAI" }, "prefix"], [{ prefix: "a/b" }, "prefix"], [{ apiType: null }, "apiType"],
      [{ chatPath: "chat" }, "chatPath"], [{ baseUrl: "ftp://x" }, "baseUrl"], [{ iconUrl: "javascript:alert(1)" }, "iconUrl"],
      [{ customHeaders: { Authorization: "Bearer x" } }, "customHeaders.Authorization"], [{ customHeaders: { "x a": "1" } }, "customHeaders.x a"],
      [{ customHeaders: { "x-a": "1\r\nx-b: 2" } }, "customHeaders.x-a"], [{ dailyQuotaResetTimezone: "Nowhere" }, "dailyQuotaResetTimezone"],
      [{ customHeaders: Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`x-${i}`, "1"])) }, "customHeaders"]
    ]
    for (const [more, field] of cases) {
      const reply = yield* post("/api/provider-nodes", { ...node, prefix: "fresh", ...more })
      assert.deepStrictEqual([reply.status, ...fieldsOf(reply)], [400, field])
    }
    dials.blocked = new Set(["metadata.test"])
    assert.strictEqual((yield* post("/api/provider-nodes", { ...node, prefix: "fresh", baseUrl: "http://metadata.test" })).status, 400)
  }))

  it.effect("a change reaches the node's connections; secret header values are masked and survive a round trip", () => Effect.gen(function*() {
    const { context, create, get, post, put } = yield* signedIn
    const id = String(at((yield* post("/api/provider-nodes", { ...node, customHeaders: { "x-api-key": "canary-header", "x-team": "blue" } })).json, "node", "id"))
    const connection = idOf(yield* create({ provider: id, apiKey: undefined }))
    const shown = at((yield* get(`/api/provider-nodes/${id}`)).json, "node", "customHeaders")
    assert.deepStrictEqual(shown, { "x-api-key": "[redacted]", "x-team": "blue" })
    const changed = yield* put(`/api/provider-nodes/${id}`, { baseUrl: "http://127.0.0.1:9000", prefix: "local2", customHeaders: shown })
    assert.strictEqual(changed.status, 200)
    const data = at((yield* get(`/api/providers/${connection}`)).json, "connection", "providerSpecificData")
    assert.deepInclude(data, { baseUrl: "http://127.0.0.1:9000", prefix: "local2", nodeName: "Local" })
    assert.notInclude((yield* get("/api/provider-nodes")).text, "canary-header")
    const stored = yield* Context.get(context, NodeStore).list
    assert.deepStrictEqual(stored[0]?.customHeaders, { "x-api-key": "canary-header", "x-team": "blue" })
    assert.strictEqual((yield* put(`/api/provider-nodes/${id}`, { type: "anthropic-compatible" })).status, 400)
  }))

  it.effect("a deleted node takes its connections with it", () => Effect.gen(function*() {
    const { ask, cookie, create, get, post } = yield* signedIn
    const id = String(at((yield* post("/api/provider-nodes", node)).json, "node", "id"))
    const connection = idOf(yield* create({ provider: id }))
    assert.deepStrictEqual((yield* ask(`/api/provider-nodes/${id}`, { method: "DELETE", cookie })).json, { success: true })
    assert.strictEqual((yield* get(`/api/providers/${connection}`)).status, 404)
  }))

  it.effect("a deleted node takes its prices and the documents of its connections with it, and no others", () => Effect.gen(function*() {
    const { ask, context, cookie, create, post, put } = yield* signedIn
    const id = String(at((yield* post("/api/provider-nodes", node)).json, "node", "id"))
    const [own, other] = [idOf(yield* create({ provider: id, apiKey: undefined })), idOf(yield* create())]
    for (const connection of [own, other]) assert.strictEqual((yield* put(`/api/providers/${connection}/param-filters`, { block: ["top_k"] })).status, 200)
    assert.strictEqual((yield* ask("/api/pricing", { method: "PATCH", cookie, body: { local: { echo: { input: 1 } }, openai: { echo: { input: 2 } } } })).status, 200)
    const kept = () => {
      const { paramFilters, pricing } = Context.get(context, Configuration).current()
      return [[...paramFilters.keys()].sort(), [...pricing.keys()].sort()]
    }
    assert.deepStrictEqual(kept(), [[own, other].sort(), [`${id}/echo`, "openai/echo"]])
    assert.strictEqual((yield* ask(`/api/provider-nodes/${id}`, { method: "DELETE", cookie })).status, 200)
    assert.deepStrictEqual(kept(), [[other], ["openai/echo"]])
  }))

  it.effect("syncing a node's models lists them under its prefix", () => Effect.gen(function*() {
    const { create, get, post } = yield* signedIn
    const id = String(at((yield* post("/api/provider-nodes", node)).json, "node", "id"))
    const connection = idOf(yield* create({ provider: id, apiKey: undefined }))
    yield* post(`/api/providers/${connection}/sync-models`)
    const catalog = at((yield* get("/api/models/catalog")).json, "catalog", "local", "models") as ReadonlyArray<{ id: string }>
    assert.deepStrictEqual(catalog.map((model) => model.id), ["local/m-1"])
  }))

  it.effect("what upstreams listed is shown by connection, of all providers or of one", () => Effect.gen(function*() {
    const { ask, cookie, create, get, post } = yield* signedIn
    const nodeId = String(at((yield* post("/api/provider-nodes", node)).json, "node", "id"))
    const [own, other, unasked] = [idOf(yield* create({ provider: nodeId, apiKey: undefined })), idOf(yield* create()), idOf(yield* create())]
    for (const id of [own, other]) yield* post(`/api/providers/${id}/sync-models`)
    const read = (query = "") => Effect.map(get(`/api/synced-available-models${query}`), ({ json }) =>
      (at(json, "lists") as ReadonlyArray<{ provider: string; connectionId: string; syncedAt: string; models: unknown }>))
    const all = yield* read()
    assert.deepStrictEqual(all.map(({ connectionId, models, provider }) => [provider, connectionId, models]).sort(), [
      ["local", own, [{ id: "m-1", name: null }]], ["openai", other, [{ id: "m-1", name: null }]]
    ].sort())
    assert.isTrue(all.every(({ syncedAt }) => !Number.isNaN(Date.parse(syncedAt))))
    assert.notInclude(JSON.stringify(all), unasked)
    for (const name of ["local", nodeId]) assert.deepStrictEqual((yield* read(`?provider=${name}`)).map(({ connectionId }) => connectionId), [own])
    assert.deepStrictEqual(yield* read("?provider=nobody"), [])
    yield* ask(`/api/providers/${own}`, { method: "DELETE", cookie })
    assert.deepStrictEqual((yield* read()).map(({ connectionId }) => connectionId), [other])
    assert.strictEqual((yield* get(`/api/synced-available-models?provider=${"x".repeat(121)}`)).status, 400)
  }))
})
