/** What a call may send: documented words in any case, known query parameters, known members; all else is named and refused. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as HttpApi from "effect/http-api/HttpApi"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import { ManagementApi } from "#src/ManagementApi.ts"
import { Access } from "#schemas/api/Access.ts"
import * as Context from "effect/Context"
import { Strategy, StrategyName } from "#schemas/records/Combo.ts"
import * as Spelling from "#src/management/spelling.ts"
import { chance } from "#test/support/chance.ts"
import * as Management from "#test/support/management.ts"
import { at } from "#test/support/management.ts"

const signedIn = Effect.gen(function*() {
  const surface = yield* Management.make()
  const cookie = yield* surface.login()
  const call = (method: string, path: string, body?: unknown) => surface.ask(path, { method, cookie, ...(body === undefined ? {} : { body }) })
  return { ...surface, cookie, call }
})

const firstField = (reply: Management.Reply) => [reply.status, at(reply.json, "error", "details", 0, "field")]

describe("words of a schema", () => {
  it("are respelled in any case, and every other value passes as it is", () => {
    const respell = Spelling.make(SchemaAST.toEncoded(StrategyName.ast))
    assert.isNotNull(respell)
    const { below, one, seed } = chance()
    const others: ReadonlyArray<unknown> = [null, 1, true, "", "luck", "round robin", ["p2c"], { auto: "AUTO" }]
    for (let i = 0; i < 500; i++) {
      const word = one(Strategy.literals)
      const mixed = [...word].map((letter) => below(2) === 0 ? letter : letter.toUpperCase()).join("")
      assert.strictEqual(respell?.(mixed), word, `seed ${seed}`)
      const other = one(others)
      assert.strictEqual(respell?.(other), other)
    }
  })
})

/** The patterns of a schema that say no more than their expression. */
const bare = (value: unknown, seen: Set<object> = new Set()): ReadonlyArray<string> => {
  if (typeof value !== "object" && typeof value !== "function" || value === null || seen.has(value)) return []
  seen.add(value)
  const { expected, message } = value as { readonly expected?: unknown; readonly message?: unknown }
  const own = typeof expected === "string" && expected.startsWith("a string matching the RegExp") && message === undefined ? [expected] : []
  return own.concat(...(value instanceof Map ? [...value.values()] : Object.values(value)).map((each) => bare(each, seen)))
}

describe("a pattern of a management call", () => {
  it("says in words what it wants", () => {
    const seen = new Set<string>()
    let endpoints = 0
    HttpApi.reflect(ManagementApi, {
      onGroup: () => {},
      onEndpoint: ({ endpoint }) => {
        endpoints++
        const { headers, params, payload, query } = endpoint as unknown as Readonly<Record<string, unknown>>
        for (const expected of bare([headers, params, payload, query].map((schemas) => schemas instanceof Map ? [...schemas.values()] : schemas))) seen.add(`${endpoint.method} ${endpoint.path}: ${expected}`)
      }
    })
    assert.deepStrictEqual([...seen], [])
    assert.isAbove(endpoints, 100)
    assert.deepStrictEqual(bare(Schema.String.check(Schema.isPattern(/^a$/)).ast), ["a string matching the RegExp ^a$"])
  })
})

describe("a management call", () => {
  it.effect("takes enum-like values in any case and answers the documented spelling: record, list, nested, query", () => Effect.gen(function*() {
    const { call } = yield* signedIn
    const node = yield* call("POST", "/api/provider-nodes", { type: "OpenAI-Compatible", apiType: "CHAT", name: "N", prefix: "nn", baseUrl: "https://n.test/v1" })
    assert.deepInclude(at(node.json, "node"), { type: "openai-compatible", apiType: "chat", prefix: "nn" }, node.text)
    const combo = yield* call("POST", "/api/combos", { name: "Mixed Case", strategy: "Round-Robin", models: [{ kind: "Model", model: "openai/GPT-x" }], config: { nestedComboMode: "EXECUTE" } })
    assert.deepInclude(combo.json, { name: "Mixed Case", strategy: "round-robin", config: { nestedComboMode: "execute" } }, combo.text)
    assert.strictEqual(at(combo.json, "models", 0, "model"), "openai/GPT-x", "what is no word of the schema keeps its case")
    const alias = yield* call("PUT", `/api/combos/${String(at(combo.json, "id"))}`, { strategy: "Weekly-Reset" })
    assert.strictEqual(at(alias.json, "strategy"), "reset-window")
    const key = yield* call("POST", "/api/keys", { name: "K", disconnectPolicy: "Drain-For-Usage", cacheDefaultMode: "ByPass" })
    assert.deepInclude(key.json, { name: "K", disconnectPolicy: "drain-for-usage", cacheDefaultMode: "bypass" }, key.text)
    const hook = yield* call("POST", "/api/webhooks", { url: "https://h.test/x", events: ["Request.Failed", "*"], kind: "CUSTOM" })
    assert.deepStrictEqual([at(hook.json, "webhook", "events"), at(hook.json, "webhook", "kind")], [["request.failed", "*"], "custom"], hook.text)
    assert.strictEqual(at((yield* call("PATCH", "/api/settings", { fallbackStrategy: "P2C" })).json, "fallbackStrategy"), "p2c")
    assert.strictEqual((yield* call("GET", "/api/cache/entries?sortOrder=DESC&sortBy=Model")).status, 200)
  }))

  it.effect("refuses an unknown strategy, kind and mode by its field, and stores nothing", () => Effect.gen(function*() {
    const { call } = yield* signedIn
    assert.deepStrictEqual(firstField(yield* call("POST", "/api/combos", { name: "c", strategy: "luck" })), [400, "strategy"])
    assert.deepStrictEqual(firstField(yield* call("POST", "/api/webhooks", { url: "https://h.test/x", kind: "pager" })), [400, "kind"])
    assert.deepStrictEqual(firstField(yield* call("POST", "/api/providers", { provider: "openai", name: "c", apiKey: "sk-123456789", testStatus: "fine" })), [400, "testStatus"])
    assert.deepStrictEqual(firstField(yield* call("PATCH", "/api/settings", { modelLockout: { enabledd: true } })), [400, "modelLockout.enabledd"])
    for (const [path, list] of [["/api/combos", "combos"], ["/api/webhooks", "webhooks"], ["/api/providers", "connections"]] as const) {
      assert.deepStrictEqual(at((yield* call("GET", path)).json, list), [], path)
    }
  }))

  it.effect("refuses members of a combo that name nothing; any model of a known provider or node will do", () => Effect.gen(function*() {
    const { call } = yield* signedIn
    yield* call("POST", "/api/provider-nodes", { type: "openai-compatible", apiType: "chat", name: "N", prefix: "nn", baseUrl: "https://n.test/v1" })
    const made = yield* call("POST", "/api/combos", { name: "good", models: ["openai/not-in-the-registry", "nn/whatever", "gpt-4o", { provider: "nn", model: "x" }] })
    assert.strictEqual(made.status, 201, made.text)
    for (const [models, field] of [
      [["openai/gpt-4o", "nobody/gpt-4o"], "models.1.model"], [["no-such-bare-model"], "models.0.model"], [[{ provider: "nobody", model: "m" }], "models.0.model"],
      [[{ model: "openai/gpt-4o", connectionId: "no-such" }], "models.0.connectionId"], [[{ kind: "combo-ref", comboName: "none" }], "models.0.comboName"]
    ] as const) {
      assert.deepStrictEqual(firstField(yield* call("POST", "/api/combos", { name: "bad", models })), [400, field], JSON.stringify(models))
    }
    assert.deepStrictEqual(firstField(yield* call("POST", "/api/combos", { name: "bad", allowedProviders: ["openai", "nobody"] })), [400, "allowedProviders.1"])
    // A node that is deleted later does not stand in the way of other changes.
    const node = String(at((yield* call("GET", "/api/provider-nodes")).json, "nodes", 0, "id"))
    assert.strictEqual((yield* call("DELETE", `/api/provider-nodes/${node}`)).status, 200)
    const whole = (yield* call("GET", `/api/combos/${String(at(made.json, "id"))}`)).json as { readonly models: ReadonlyArray<unknown> }
    assert.strictEqual((yield* call("PUT", `/api/combos/${String(at(made.json, "id"))}`, { models: whole.models, description: "still changeable" })).status, 200)
  }))

  it.effect("keeps an address whose name cannot be resolved now: each call resolves it; one that is forbidden is refused", () => Effect.gen(function*() {
    const { call, dials } = yield* signedIn
    dials.unresolved = new Set(["h.test"])
    dials.blocked = new Set(["169.254.169.254"])
    const node = { type: "openai-compatible", apiType: "chat", name: "N", prefix: "nn" }
    const kept = (host: string) => [
      ["POST", "/api/webhooks", { url: `https://${host}/x` }],
      ["POST", "/api/provider-nodes", { ...node, baseUrl: `https://${host}/v1` }],
      ["POST", "/api/providers", { provider: "openai", name: "c", apiKey: "sk-123456789", providerSpecificData: { baseUrl: `https://${host}/v1` } }],
      ["POST", "/api/mcp/servers", { name: "srv", transport: "http", url: `https://${host}/mcp` }],
      ["PUT", "/api/v1/agents/credentials", { providerId: "jules", apiKey: "hush-hush-hush", baseUrl: `https://${host}` }]
    ] as const
    for (const [method, path, body] of kept("169.254.169.254")) assert.strictEqual((yield* call(method, path, body)).status, 400, path)
    for (const [method, path, body] of kept("h.test")) {
      const reply = yield* call(method, path, body)
      assert.oneOf(reply.status, [200, 201], `${path} ${reply.text}`)
    }
    const judge = (url: string) => Effect.map(call("POST", "/api/webhooks/validate-url", { url }), ({ json }) => json)
    assert.deepStrictEqual(yield* judge("https://h.test/x"), { valid: true, warning: "The name cannot be resolved" })
    assert.deepStrictEqual(yield* judge("https://169.254.169.254/x"), { valid: false, reason: "The target is a cloud metadata address" })
  }))

  it.effect("takes times of a day and an hour that exist, and names the field of any other", () => Effect.gen(function*() {
    const { call } = yield* signedIn
    for (const path of ["/api/compliance/audit-log", "/api/usage/analytics", "/api/usage/call-logs", "/api/usage/call-logs/facets"]) {
      for (const time of ["2026-13-45", "2026-02-30", "2026-02-29T00:00:00Z", "2026-01-01T25:00:00Z", "2026-01-01T00:00:60Z", "2026-01-01T00:00:00+99:99"]) {
        assert.deepStrictEqual(firstField(yield* call("GET", `${path}?from=${encodeURIComponent(time)}`)), [400, "from"], `${path} ${time}`)
      }
      for (const time of ["2024-02-29", "2024-02-29T23:59:59.123456Z", "2026-01-01T00:00:00+14:00"]) {
        assert.strictEqual((yield* call("GET", `${path}?from=${encodeURIComponent(time)}`)).status, 200, `${path} ${time}`)
      }
    }
    assert.deepStrictEqual(firstField(yield* call("POST", "/api/keys", { name: "K", expiresAt: "2030-02-30T00:00:00Z" })), [400, "expiresAt"])
    assert.deepStrictEqual(firstField(yield* call("POST", "/api/providers", { provider: "openai", name: "c", apiKey: "sk-123456789", rateLimitedUntil: "2030-06-31" })), [400, "rateLimitedUntil"])
  }))

  it.effect("names an unknown query parameter and those that the call takes, on every route", () => Effect.gen(function*() {
    const { ask, call, cookie } = yield* signedIn
    const one = yield* call("GET", "/api/keys?limit=1&ofset=2")
    assert.deepStrictEqual(firstField(one), [400, "ofset"])
    assert.include(String(at(one.json, "error", "details", 0, "message")), "limit, offset")
    assert.strictEqual((yield* call("GET", "/api/keys?limit=1&_=1732291200")).status, 200, "a parameter against caches means nothing")
    const seen: Array<string> = []
    const calls: Array<{ readonly method: string; readonly path: string; readonly tier: string | undefined }> = []
    HttpApi.reflect(ManagementApi, {
      onGroup: () => {},
      onEndpoint: ({ endpoint, mergedAnnotations }) => {
        calls.push({ method: endpoint.method, path: endpoint.path.replaceAll(/:(\w+)/g, "no-such-record"), tier: Context.getOrUndefined(mergedAnnotations, Access)?.tier })
      }
    })
    for (const { method, path, tier } of calls) {
      if (tier === "PUBLIC" || path === "/api/oauth/no-such-record/callback") continue
      const reply = yield* ask(`${path}?no_such_parameter=1`, { method, cookie, ...(tier === "LOCAL_ONLY" ? { from: "127.0.0.1", headers: { host: "localhost" } } : {}), ...(method === "GET" || method === "DELETE" ? {} : { body: {} }) })
      if (reply.status !== 400 || !reply.text.includes("no_such_parameter")) seen.push(`${method} ${path} ${reply.status}`)
    }
    assert.deepStrictEqual(seen, [], "routes that take a parameter that nobody knows")
    assert.isAbove(calls.length, 100)
    assert.strictEqual((yield* ask("/api/health/ping?t=1")).status, 200, "a monitor's own parameter on a public call")
  }))
})
