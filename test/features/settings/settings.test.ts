import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { AuditStore, DocumentStore } from "#actors/ports/Stores.ts"
import * as Management from "#test/support/management.ts"
import { at } from "#test/support/management.ts"
import { catalogue } from "#schemas/flagCatalogue.ts"

const signedIn = (options: Management.Options = {}) => Effect.gen(function*() {
  const surface = yield* Management.make(options)
  const cookie = yield* surface.login()
  const send = (method: string) => (path: string, body?: unknown) => surface.ask(path, { method, cookie, ...(body === undefined ? {} : { body }) })
  return { ...surface, cookie, del: send("DELETE"), get: send("GET"), patch: send("PATCH"), post: send("POST"), put: send("PUT") }
})

const FLAGS = "/api/settings/feature-flags"
const flagOf = (reply: Management.Reply, key: string) => (at(reply.json, "flags") as ReadonlyArray<{ key: string }>).find((flag) => flag.key === key) ?? { key: "not listed" }

it.effect("a setup that INITIAL_PASSWORD completed is shown as complete, by the settings as by the sign-in", () => Effect.gen(function*() {
  const { get, patch } = yield* signedIn()
  const shown = Effect.map(Effect.all([get("/api/settings"), get("/api/settings/require-login")]), (replies) => replies.map(({ json }) => at(json, "setupComplete")))
  assert.deepStrictEqual(yield* shown, [true, true])
  assert.strictEqual(at((yield* patch("/api/settings", { setupComplete: false })).json, "setupComplete"), true)
  assert.deepStrictEqual(yield* shown, [true, true])
}))

describe("feature flags", () => {
  it.effect("all are listed with their effective value and source", () => Effect.gen(function*() {
    const { get } = yield* signedIn({ environment: { RADAR_ENABLED: "true", TOOL_POLICY_MODE: "nonsense" } })
    const reply = yield* get(FLAGS)
    assert.strictEqual(at(reply.json, "summary", "total"), catalogue.length)
    assert.lengthOf(at(reply.json, "flags") as ReadonlyArray<unknown>, catalogue.length)
    assert.strictEqual(at(reply.json, "summary", "overriddenByEnv"), 1)
    assert.strictEqual(Number(at(reply.json, "summary", "active")) + Number(at(reply.json, "summary", "inactive")), catalogue.length)
    assert.deepStrictEqual<unknown>(flagOf(reply, "INJECTION_GUARD_MODE"), {
      key: "INJECTION_GUARD_MODE", label: "Injection Guard Mode", description: "What the prompt-injection guard does with a suspicious prompt",
      category: "security", type: "enum", enumValues: ["off", "warn", "block", "redact"], defaultValue: "off", effectiveValue: "off",
      source: "default", requiresRestart: false, warningLevel: "info", acts: true, owner: "database"
    })
    assert.deepInclude(flagOf(reply, "RADAR_ENABLED") as object, { effectiveValue: "true", source: "env" })
  }))

  it.effect("an override stands over the environment until it is removed", () => Effect.gen(function*() {
    const { get, put } = yield* signedIn({ environment: { REQUIRE_API_KEY: "true" } })
    assert.deepStrictEqual((yield* put(FLAGS, { key: "REQUIRE_API_KEY", value: "false" })).json, {
      key: "REQUIRE_API_KEY", effectiveValue: "false", source: "db", previousValue: "true", previousSource: "env", requiresRestart: false
    })
    assert.deepInclude(flagOf(yield* get(FLAGS), "REQUIRE_API_KEY") as object, { effectiveValue: "false", source: "db" })
    assert.deepInclude((yield* put(FLAGS, { key: "REQUIRE_API_KEY" })).json as object, { effectiveValue: "true", source: "env", previousSource: "db" })
  }))

  it.effect("of lanes the environment stands over an override", () => Effect.gen(function*() {
    const { get, put } = yield* signedIn({ environment: { GATEWAY_CHAT_VIRTUAL_LANES: "false" } })
    assert.deepStrictEqual((yield* put(FLAGS, { key: "GATEWAY_CHAT_VIRTUAL_LANES", value: "true" })).json, {
      key: "GATEWAY_CHAT_VIRTUAL_LANES", effectiveValue: "false", source: "env", previousValue: "false", previousSource: "env", requiresRestart: true
    })
    assert.deepInclude(flagOf(yield* get(FLAGS), "GATEWAY_CHAT_VIRTUAL_LANES") as object, { effectiveValue: "false", source: "env", acts: true })
  }))

  it.effect("a value is read in any case and shown in its one spelling", () => Effect.gen(function*() {
    const { get, put } = yield* signedIn({ environment: { REQUIRE_API_KEY: "True", PII_REDACTION_ENABLED: "on", STREAM_RECOVERY_ENABLED: "OFF", CLI_COMPAT_ALL: "1", MODELS_CATALOG_PREFIX_MODE: "Canonical" } })
    const listed = yield* get(FLAGS)
    for (const [key, effectiveValue] of [["REQUIRE_API_KEY", "true"], ["PII_REDACTION_ENABLED", "true"], ["STREAM_RECOVERY_ENABLED", "false"], ["CLI_COMPAT_ALL", "1"], ["MODELS_CATALOG_PREFIX_MODE", "canonical"]] as const) {
      assert.deepInclude(flagOf(listed, key) as object, { effectiveValue, source: "env" })
    }
    for (const [value, effectiveValue] of [["Off", "false"], ["ON", "true"], ["No", "no"], ["YES", "yes"]] as const) {
      assert.deepInclude((yield* put(FLAGS, { key: "REQUIRE_API_KEY", value })).json as object, { effectiveValue, source: "db" }, value)
    }
    assert.deepInclude((yield* put(FLAGS, { key: "MODELS_CATALOG_PREFIX_MODE", value: "ALIAS" })).json as object, { effectiveValue: "alias" })
  }))

  it.effect("an unknown key and a value outside the set answer 400", () => Effect.gen(function*() {
    const { put } = yield* signedIn()
    for (const body of [{ key: "NO_SUCH_FLAG", value: "true" }, { key: "MODELS_CATALOG_PREFIX_MODE", value: "sometimes" }, { key: "REQUIRE_API_KEY", value: "maybe" }, {}]) {
      assert.strictEqual((yield* put(FLAGS, body)).status, 400, JSON.stringify(body))
    }
  }))

  it.effect("DELETE clears all overrides and says how many; every change is audited", () => Effect.gen(function*() {
    const { context, del, get, put } = yield* signedIn()
    yield* put(FLAGS, { key: "STREAM_RECOVERY_ENABLED", value: "true" })
    yield* put(FLAGS, { key: "MODELS_CATALOG_PREFIX_MODE", value: "alias" })
    assert.deepStrictEqual((yield* del(FLAGS)).json, { cleared: 2, message: "2 overrides removed" })
    assert.strictEqual(at((yield* get(FLAGS)).json, "summary", "overriddenByDb"), 0)
    const { entries } = yield* Context.get(context, AuditStore).query({ limit: 9, offset: 0, resourceType: "feature-flag" })
    assert.deepStrictEqual(entries.map((entry) => entry.action), ["flag.cleared", "flag.set", "flag.set"])
  }))

  it.effect("a call without a session answers 401, whatever the key or the access token may do elsewhere", () => Effect.gen(function*() {
    const { ask, cookie, get, key } = yield* signedIn()
    const minted = yield* ask("/api/cli/tokens", { cookie, body: { name: "all", scope: "admin" } })
    for (const bearer of [(yield* key(["manage"])).raw, (yield* key(["admin"])).raw, String(at(minted.json, "token"))]) {
      assert.strictEqual((yield* ask("/api/settings", { bearer })).status, 200)
      for (const [method, body] of [["GET"], ["PUT", { key: "REQUIRE_API_KEY", value: "false" }], ["DELETE"]] as const) {
        const reply = yield* ask(FLAGS, { method, bearer, ...(body === undefined ? {} : { body }) })
        assert.deepStrictEqual([reply.status, at(reply.json, "error", "code")], [401, "AUTH_001"], method)
      }
    }
    assert.strictEqual(at((yield* get(FLAGS)).json, "summary", "overriddenByDb"), 0)
  }))

  it.effect("an unauthenticated call answers 401", () => Effect.gen(function*() {
    const { ask } = yield* Management.make()
    for (const method of ["GET", "PUT", "DELETE"]) {
      assert.strictEqual((yield* ask(FLAGS, { method, ...(method === "PUT" ? { body: { key: "RADAR_ENABLED" } } : {}) })).status, 401)
    }
  }))
})

describe("settings", () => {
  it.effect("GET answers every default, what is stored over it, and what the process is", () => Effect.gen(function*() {
    const { get, patch } = yield* signedIn()
    assert.strictEqual((yield* patch("/api/settings", { sessionAffinityTtlMs: 7, maxBodySizeMb: 3 })).status, 200)
    const reply = yield* get("/api/settings")
    assert.deepInclude(reply.json as object, {
      requireLogin: true, fallbackStrategy: "fill-first", sessionAffinityTtlMs: 7, maxRetryIntervalSec: 30, maxBodySizeMb: 3, idempotencyWindowMs: 5000,
      hasPassword: true, apiPort: 20128, dashboardPort: 20128, cloudConfigured: false, cloudUrl: null, machineId: Management.MACHINE
    })
  }))

  it.effect("PUT is PATCH; ranges are checked; an unknown key is named", () => Effect.gen(function*() {
    const { get, put } = yield* signedIn()
    yield* put("/api/settings", { maxBodySizeMb: 3 })
    yield* put("/api/settings", { sessionAffinityTtlMs: 5 })
    assert.deepInclude((yield* get("/api/settings")).json as object, { maxBodySizeMb: 3, sessionAffinityTtlMs: 5 })
    for (const [body, field] of [[{ requestRetry: 11 }, "requestRetry"], [{ fallbackStrategy: "luck" }, "fallbackStrategy"], [{ themee: 1 }, "themee"]] as const) {
      const reply = yield* put("/api/settings", body)
      assert.deepStrictEqual([reply.status, at(reply.json, "error", "details", 0, "field")], [400, field])
    }
  }))

  it.effect("a part of modelLockout is changed without the others, and read with its defaults", () => Effect.gen(function*() {
    const { get, patch, put } = yield* signedIn()
    const rules = Effect.map(get("/api/settings"), (reply) => at(reply.json, "modelLockout"))
    const defaults = { enabled: false, errorCodes: [403, 404, 429, 502, 503, 504], baseCooldownMs: 120_000, maxCooldownMs: 1_800_000, maxBackoffSteps: 10, useExponentialBackoff: true }
    assert.deepStrictEqual<unknown>(yield* rules, defaults)
    assert.strictEqual((yield* patch("/api/settings", { modelLockout: { enabled: true, errorCodes: [404] } })).status, 200)
    assert.deepStrictEqual<unknown>(at((yield* put("/api/settings", { modelLockout: { baseCooldownMs: 500 } })).json, "modelLockout"), { ...defaults, enabled: true, errorCodes: [404], baseCooldownMs: 500 })
    yield* Effect.all([patch("/api/settings", { modelLockout: { maxBackoffSteps: 2 } }), patch("/api/settings", { modelLockout: { useExponentialBackoff: false } })], { concurrency: "unbounded" })
    assert.deepStrictEqual<unknown>(yield* rules, { ...defaults, enabled: true, errorCodes: [404], baseCooldownMs: 500, maxBackoffSteps: 2, useExponentialBackoff: false })
  }))

  it.effect("a new password needs the current one: 400 without, 401 with a wrong one", () => Effect.gen(function*() {
    const { ask, patch } = yield* signedIn()
    const without = yield* patch("/api/settings", { newPassword: "next password" })
    assert.deepStrictEqual([without.status, at(without.json, "error", "message")], [400, "Current password required"])
    const wrong = yield* patch("/api/settings", { newPassword: "next password", currentPassword: "wrong" })
    assert.deepStrictEqual([wrong.status, at(wrong.json, "error", "message")], [401, "Invalid current password"])
    const right = yield* patch("/api/settings", { newPassword: "next password", currentPassword: Management.PASSWORD })
    assert.strictEqual(right.status, 200)
    assert.notInclude(right.text, "next password")
    assert.strictEqual((yield* ask("/api/auth/login", { body: { password: "next password" } })).status, 200)
  }))

  it.effect("who gets in is decided by a session or scope admin only", () => Effect.gen(function*() {
    const { ask, key } = yield* signedIn()
    const manage = yield* key(["manage"])
    const admin = yield* key(["admin"])
    const off = { method: "PATCH", body: { requireLogin: false } }
    assert.strictEqual((yield* ask("/api/settings", { ...off, bearer: manage.raw })).status, 403)
    assert.strictEqual((yield* ask("/api/settings", { method: "PATCH", body: { maxBodySizeMb: 3 }, bearer: manage.raw })).status, 200)
    assert.strictEqual((yield* ask("/api/settings", { ...off, bearer: admin.raw })).status, 200)
  }))

  it.effect("a secret setting is never read back, and null takes it away", () => Effect.gen(function*() {
    const { context, get, patch } = yield* signedIn()
    const documents = Context.get(context, DocumentStore)
    yield* documents.put("secret", "oidcClientSecret", "sealed canary-oidc")
    const reply = yield* get("/api/settings")
    assert.strictEqual(at(reply.json, "oidcClientSecretSet"), true)
    assert.notInclude(reply.text, "canary-oidc")
    yield* patch("/api/settings", { oidcClientSecret: null })
    assert.strictEqual(at((yield* get("/api/settings")).json, "oidcClientSecretSet"), false)
  }))
})

describe("models, aliases and prices", () => {
  it.effect("aliases are set by PUT or POST, resolved, and removed", () => Effect.gen(function*() {
    const { del, get, post, put } = yield* signedIn()
    assert.deepStrictEqual((yield* put("/api/models/alias", { alias: "fast", model: "openai/gpt-4o-mini" })).json, {
      success: true, model: "openai/gpt-4o-mini", alias: "fast"
    })
    yield* post("/api/settings/model-aliases", { from: "slow", to: "fast" })
    const list = yield* get("/api/models/alias")
    assert.deepStrictEqual(at(list.json, "aliases"), { fast: "openai/gpt-4o-mini", slow: "fast" })
    assert.strictEqual(list.headers.get("x-model-catalog-version"), at(list.json, "catalogVersion"))
    const resolved = yield* get("/api/models/alias?alias=slow")
    assert.deepInclude(at(resolved.json, "resolved"), { provider: "openai", source: "alias", target: "fast" })
    assert.strictEqual((yield* get("/api/models/alias?alias=nothing-like-this")).status, 404)
    assert.deepStrictEqual((yield* del("/api/models/alias?alias=fast")).json, { success: true })
    assert.strictEqual((yield* del("/api/models/alias?alias=fast")).status, 404)
    assert.deepStrictEqual((yield* del("/api/settings/model-aliases", { from: "slow" })).json, { success: true })
    assert.strictEqual((yield* put("/api/models/alias", { alias: "a", model: "a" })).status, 400)
  }))

  it.effect("the catalogue groups models by provider", () => Effect.gen(function*() {
    const { get } = yield* signedIn()
    const reply = yield* get("/api/models/catalog")
    assert.deepInclude(at(reply.json, "catalog", "openai"), { active: false })
    assert.isAbove((at(reply.json, "catalog", "openai", "models") as ReadonlyArray<unknown>).length, 3)
  }))

  it.effect("custom models are added, changed, hidden and removed; a built-in one is overridden", () => Effect.gen(function*() {
    const { del, get, patch, post, put } = yield* signedIn()
    const created = yield* post("/api/provider-models", { provider: "openai", modelId: "my-model", max_input_tokens: 5, upstreamHeaders: { "x-secret-key": "canary" } })
    assert.deepInclude(at(created.json, "model"), { modelId: "my-model", source: "manual", supportedEndpoints: ["chat"], max_input_tokens: 5 })
    assert.notInclude(created.text, "canary")
    assert.deepInclude(at((yield* put("/api/provider-models", { provider: "openai", modelId: "my-model", dimensions: 7 })).json, "model"), { dimensions: 7, max_input_tokens: 5 })
    assert.strictEqual((yield* put("/api/provider-models", { provider: "openai", modelId: "unknown-model" })).status, 404)
    const { builtin } = yield* Effect.promise(() => import("#src/providers/Registry.ts"))
    const own = builtin.byId.get("openai")?.models[0]?.id ?? ""
    assert.strictEqual(at((yield* put("/api/provider-models", { provider: "openai", modelId: own, contextWindowOverride: 9 })).json, "ok"), true)
    const hidden = yield* patch("/api/provider-models?provider=openai&modelId=my-model", { isHidden: true })
    assert.deepInclude(hidden.json as object, { ok: true, updated: 1 })
    assert.strictEqual(at(hidden.json, "models", 0, "isHidden"), true)
    const listed = yield* get("/api/provider-models?provider=openai")
    assert.deepStrictEqual(Object.keys(at(listed.json, "modelCompatOverrides") as object), [`openai/${own}`])
    assert.deepStrictEqual((yield* del("/api/provider-models?provider=openai&model=my-model")).json, { removed: true })
    assert.deepStrictEqual((yield* del("/api/provider-models?provider=openai&all=true")).json, { cleared: true })
    assert.strictEqual((yield* post("/api/provider-models", { provider: "nobody", modelId: "x" })).status, 400)
  }))

  it.effect("validate-and-add asks the upstream for the model itself first", () => Effect.gen(function*() {
    const { dials, post } = yield* signedIn()
    const body = { provider: "openai", modelId: "new-model" }
    assert.strictEqual((yield* post("/api/provider-models/validate-and-add", body)).status, 400)
    yield* post("/api/providers", { provider: "openai", name: "Main", apiKey: "sk-x" })
    assert.strictEqual((yield* post("/api/provider-models/validate-and-add", body)).status, 200)
    assert.deepInclude(dials.probed.at(-1), { model: "new-model", wants: "chat" })
  }))

  it.effect("prices merge over the defaults and go back to them", () => Effect.gen(function*() {
    const { del, get, patch } = yield* signedIn()
    const defaults = yield* get("/api/pricing/defaults")
    assert.deepStrictEqual((yield* get("/api/pricing")).json, defaults.json)
    yield* patch("/api/pricing", { openai: { "my-model": { input: 1 } } })
    yield* patch("/api/pricing", { openai: { "my-model": { output: 2 } } })
    const priced = yield* get("/api/pricing?includeSources=1")
    assert.deepStrictEqual(at(priced.json, "openai", "my-model"), { input: 1, output: 2, source: "user" })
    yield* patch("/api/pricing", JSON.parse('{"openai":{"__proto__":{"input":3}}}'))
    for (const [query, more] of [["", {}], ["?includeSources=1", { source: "user" }]] as const) {
      const listed = JSON.parse((yield* get(`/api/pricing${query}`)).text) as { readonly openai: object }
      assert.deepStrictEqual(Object.getOwnPropertyDescriptor(listed.openai, "__proto__")?.value, { input: 3, ...more })
    }
    assert.strictEqual((yield* del("/api/pricing?provider=openai&model=__proto__")).status, 200)
    assert.strictEqual((yield* patch("/api/pricing", { openai: { m: { input: -1 } } })).status, 400)
    assert.deepStrictEqual((yield* del("/api/pricing?provider=openai&model=my-model")).json, defaults.json)
    const unknown = yield* del("/api/pricing?provider=opneai")
    assert.deepStrictEqual([unknown.status, at(unknown.json, "error", "details", 0, "field")], [400, "provider"])
    assert.strictEqual((yield* del("/api/pricing?model=my-model")).status, 400)
    assert.isAbove((at((yield* get("/api/pricing/models")).json, "models") as ReadonlyArray<unknown>).length, 10)
  }))

  it.effect("prices take a node by its prefix, and no provider that does not exist", () => Effect.gen(function*() {
    const { del, get, patch, post } = yield* signedIn()
    const made = yield* post("/api/provider-nodes", { type: "openai-compatible", apiType: "chat", name: "Lab", prefix: "lab", baseUrl: "http://192.0.2.1/v1" })
    const id = String(at(made.json, "node", "id"))
    assert.strictEqual((yield* patch("/api/pricing", { lab: { m: { input: 1 } }, [id]: { m: { output: 2 } } })).status, 200)
    assert.deepStrictEqual(at((yield* get("/api/pricing")).json, "lab", "m"), { input: 1, output: 2 })
    const before = (yield* get("/api/pricing")).json
    const refused = yield* patch("/api/pricing", { openai: { m: { input: 1 } }, opnai: { m: { input: 1 } } })
    assert.deepStrictEqual([refused.status, at(refused.json, "error", "details", 0, "field") ?? at(refused.json, "details", 0, "field")], [400, "opnai"])
    assert.include(refused.text, "'opnai'")
    assert.deepStrictEqual((yield* get("/api/pricing")).json, before)
    yield* del("/api/pricing?provider=lab&model=m")
    assert.isUndefined(at((yield* get("/api/pricing")).json, "lab"))
  }))
})
