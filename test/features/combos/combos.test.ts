import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { ComboMetrics } from "#src/inference/ports/ComboMetrics.ts"
import { Configuration } from "#actors/ports/Configuration.ts"
import { AuditStore } from "#actors/ports/Stores.ts"
import { catalogView } from "#src/routing/models/catalogView.ts"
import { entryById } from "#src/routing/models/modelCatalog.ts"
import * as Management from "#test/support/management.ts"
import { at } from "#test/support/management.ts"

const signedIn = Effect.gen(function*() {
  const surface = yield* Management.make()
  const cookie = yield* surface.login()
  const send = (method: string) => (path: string, body?: unknown) => surface.ask(path, { method, cookie, ...(body === undefined ? {} : { body }) })
  const audit = Effect.map(Context.get(surface.context, AuditStore).query({ limit: 100, offset: 0 }), ({ entries }) => entries.map((entry) => entry.action))
  const create = (more: Readonly<Record<string, unknown>>) => send("POST")("/api/combos", { name: "fast", ...more })
  return { ...surface, audit, create, get: send("GET"), post: send("POST"), put: send("PUT"), patch: send("PATCH"), remove: send("DELETE") }
})
const idOf = (reply: Management.Reply) => String(at(reply.json, "id"))
const message = (reply: Management.Reply) => String(at(reply.json, "error", "message"))
const fieldsOf = (reply: Management.Reply) =>
  ((at(reply.json, "error", "details") ?? []) as ReadonlyArray<{ field: string }>).map((detail) => detail.field)
const namesOf = (reply: Management.Reply) => (at(reply.json, "combos") as ReadonlyArray<{ name: string }>).map((combo) => combo.name)

describe("combos", () => {
  it.effect("a combo is stored with defaults, listed, read, changed and deleted", () => Effect.gen(function*() {
    const { audit, context, create, get, put, remove } = yield* signedIn
    const created = yield* create({ models: ["openai/gpt-4o"] })
    assert.strictEqual(created.status, 201)
    assert.deepInclude(created.json, {
      name: "fast", description: null, strategy: "priority", config: {}, allowedProviders: [], isActive: true, isHidden: false, sortOrder: 0
    })
    const path = `/api/combos/${idOf(created)}`
    assert.deepStrictEqual((yield* get(path)).json, created.json)
    assert.deepStrictEqual(Context.get(context, Configuration).current().combos.map((combo) => combo.name), ["fast"])
    const changed = yield* put(path, { description: "d", config: { maxRetries: 3 } })
    assert.deepInclude(changed.json, { description: "d", config: { maxRetries: 3 } })
    assert.deepStrictEqual(at((yield* put(path, { compressionOverride: null })).json, "config"), { maxRetries: 3 })
    assert.deepStrictEqual((yield* remove(path)).json, { success: true })
    assert.strictEqual((yield* get(path)).status, 404)
    assert.strictEqual((yield* put(path, {})).status, 404)
    assert.strictEqual((yield* remove(path)).status, 404)
    assert.includeMembers([...(yield* audit)], ["combo.created", "combo.updated", "combo.deleted"])
  }))

  it.effect("steps may be strings, model steps and references; missing ids are made, and stay when the step is sent again", () => Effect.gen(function*() {
    const { create, post, put } = yield* signedIn
    const connectionId = String(at((yield* post("/api/providers", { provider: "openai", name: "One", apiKey: "sk-1" })).json, "connection", "id"))
    yield* create({ name: "inner" })
    const created = yield* create({ models: [
      "openai/gpt-4o",
      { model: "gpt-4o", providerId: "openai", weight: 2.5, connectionId },
      { id: "mine", kind: "combo-ref", comboName: "inner" }
    ] })
    const [first, second, third] = at(created.json, "models") as ReadonlyArray<Record<string, unknown>>
    assert.deepInclude(first, { kind: "model", model: "openai/gpt-4o", provider: "openai", connectionId: null, weight: 0, label: null, tags: [], prompt: null })
    assert.match(String(first?.["id"]), /^[0-9a-f-]{36}$/)
    assert.deepInclude(second, { model: "gpt-4o", provider: "openai", connectionId, weight: 2.5 })
    assert.deepStrictEqual(third, { kind: "combo-ref", id: "mine", comboName: "inner", weight: 0, label: null })
    const again = yield* put(`/api/combos/${idOf(created)}`, { models: ["openai/gpt-4o", "openai/gpt-4o"] })
    const ids = (at(again.json, "models") as ReadonlyArray<{ id: string }>).map((step) => step.id)
    assert.strictEqual(ids[0], first?.["id"])
    assert.notStrictEqual(ids[1], ids[0])
    const round = yield* put(`/api/combos/${idOf(created)}`, { models: at(created.json, "models") })
    assert.deepStrictEqual(at(round.json, "models"), at(created.json, "models"))
    assert.deepStrictEqual(fieldsOf(yield* create({ name: "twice", models: [{ id: "a", model: "x/y" }, { id: "a", model: "x/z" }] })), ["models.1.id"])
  }))

  it.effect("aliases of strategies are read, an unknown one is refused", () => Effect.gen(function*() {
    const { create } = yield* signedIn
    const strategies = [["usage", "least-used"], ["context", "context-optimized"], ["weekly-reset", "reset-window"], ["reset-window-order", "reset-window"],
      ["round-robin", "round-robin"]]
    for (const [given, stored] of strategies) {
      assert.strictEqual(at((yield* create({ name: `s-${given}`, strategy: given })).json, "strategy"), stored)
    }
    for (const strategy of ["no-such", "constructor", "__proto__"]) assert.deepStrictEqual(fieldsOf(yield* create({ name: "s", strategy })), ["strategy"])
  }))

  it.effect("a name is unique and well formed; one that shadows a model is warned of and stored", () => Effect.gen(function*() {
    const { create, put } = yield* signedIn
    const first = yield* create({})
    const again = yield* create({})
    assert.deepStrictEqual([again.status, message(again)], [400, "Combo name already exists"])
    assert.deepStrictEqual(at((yield* create({ name: "my combo!" })).json, "error", "details"), [
      { field: "name", message: "Expected 1 to 100 letters, digits, spaces, slashes, dots, dashes, underscores or square brackets" }
    ])
    for (const name of ["", " ", "a".repeat(101), "naïve", "a:b"]) assert.strictEqual((yield* create({ name })).status, 400, name)
    const other = yield* create({ name: "team/[big] v1.2-x_y" })
    assert.strictEqual(other.status, 201)
    assert.strictEqual((yield* put(`/api/combos/${idOf(other)}`, { name: "fast" })).status, 400)
    const shadow = yield* create({ name: "gpt-4o" })
    assert.strictEqual(shadow.status, 201)
    assert.deepInclude(at(shadow.json, "warning"), { code: "COMBO_NAME_SHADOWS_MODEL", modelId: "gpt-4o" })
    assert.deepStrictEqual(at((yield* create({ name: "openai/gpt-4o" })).json, "warning"), { code: "COMBO_NAME_SHADOWS_MODEL", modelId: "gpt-4o", providerId: "openai" })
    assert.isUndefined(at(first.json, "warning"))
  }))

  it.effect("circles, too deep nesting and unknown references answer 400; a new name is followed", () => Effect.gen(function*() {
    const { create, get, put } = yield* signedIn
    const ref = (comboName: string) => ({ models: [{ kind: "combo-ref", comboName }] })
    const ids: Array<string> = []
    for (const n of [0, 1, 2, 3]) ids.push(idOf(yield* create({ name: `c${n}`, ...(n === 0 ? {} : ref(`c${n - 1}`)) })))
    assert.strictEqual((yield* create({ name: "c4", ...ref("c3") })).status, 400)
    assert.strictEqual((yield* create({ name: "c4", ...ref("c3"), config: { maxComboDepth: 4 } })).status, 201)
    const circle = yield* put(`/api/combos/${ids[0]}`, ref("c2"))
    assert.strictEqual(circle.status, 400)
    assert.include(message(circle), "circle")
    assert.strictEqual((yield* create({ name: "self", ...ref("self") })).status, 400)
    assert.deepStrictEqual(fieldsOf(yield* create({ name: "lost", ...ref("nobody") })), ["models.0.comboName"])
    yield* create({ name: "below" })
    assert.strictEqual((yield* put(`/api/combos/${ids[0]}`, ref("below"))).status, 400, "what refers to it would be too deep")
    assert.strictEqual((yield* put(`/api/combos/${ids[0]}`, { name: "base" })).status, 200)
    assert.strictEqual(at((yield* get(`/api/combos/${ids[1]}`)).json, "models", 0, "comboName"), "base")
  }))

  it.effect("a tool filter that could not be matched in linear time is refused", () => Effect.gen(function*() {
    const { create } = yield* signedIn
    assert.deepStrictEqual(fieldsOf(yield* create({ tool_filter_regex: "(a)\\1" })), ["tool_filter_regex"])
    assert.deepStrictEqual(fieldsOf(yield* create({ tool_filter_regex: "(" })), ["tool_filter_regex"])
    assert.strictEqual((yield* create({ tool_filter_regex: "^(a+)+$" })).status, 201)
  }))

  it.effect("the catalogue lists active combos that are not hidden", () => Effect.gen(function*() {
    const { context, create } = yield* signedIn
    yield* create({ context_length: 5_000 })
    yield* create({ name: "off", isActive: false })
    yield* create({ name: "hidden", isHidden: true })
    const view = catalogView(Context.get(context, Configuration).current())
    assert.deepStrictEqual(view.combos.map((combo) => combo.name), ["fast"])
    const options = { prefixMode: "dual", includeNames: false, noThinkingAliases: false, thinkingLevels: false } as const
    assert.deepInclude(entryById(view, options, "fast"), { id: "fast", owned_by: "combo", context_length: 5_000 })
  }))

  it.effect("reorder puts the named combos first", () => Effect.gen(function*() {
    const { create, get, post } = yield* signedIn
    const ids: Array<string> = []
    for (const name of ["a", "b", "c"]) ids.push(idOf(yield* create({ name })))
    const reordered = yield* post("/api/combos/reorder", { comboIds: [ids[2], ids[0]] })
    assert.deepStrictEqual(namesOf(reordered), ["c", "a", "b"])
    assert.deepStrictEqual(namesOf(yield* get("/api/combos")), ["c", "a", "b"])
    for (const comboIds of [[], [ids[0], ids[0]], ["nobody"], Array.from({ length: 1_001 }, (_, n) => `${n}`)]) {
      assert.strictEqual((yield* post("/api/combos/reorder", { comboIds })).status, 400)
    }
  }))

  it.effect("the builder offers what can be used now, auto lists the variants", () => Effect.gen(function*() {
    const { create, get, post } = yield* signedIn
    yield* create({})
    const connection = yield* post("/api/providers", { provider: "openai", name: "Main", apiKey: "sk-x" })
    const options = yield* get("/api/combos/builder/options")
    const openai = (at(options.json, "providers") as ReadonlyArray<{ id: string }>).find((provider) => provider.id === "openai")
    assert.deepStrictEqual(at(openai, "connections"), [{ id: at(connection.json, "connection", "id"), name: "Main", defaultModel: null }])
    assert.isTrue((at(openai, "models") as ReadonlyArray<{ id: string }>).some((model) => model.id === "openai/gpt-4o"))
    assert.deepStrictEqual((at(options.json, "combos") as ReadonlyArray<{ name: string }>).map((combo) => combo.name), ["fast"])
    const auto = yield* get("/api/combos/auto")
    assert.isTrue((at(auto.json, "variants") as ReadonlyArray<{ id: string }>).some((variant) => variant.id === "auto/coding"))
  }))

  it.effect("metrics count requests and their targets, and can be reset", () => Effect.gen(function*() {
    const { context, create, get, put, remove } = yield* signedIn
    const id = idOf(yield* create({}))
    const metrics = Context.get(context, ComboMetrics)
    const attempt = { executionKey: "s>c", provider: "openai", model: "openai/gpt-4o", connectionId: "c", ok: true, latencyMs: 100 }
    metrics.record({ combo: "fast", strategy: "priority", ok: true, latencyMs: 150, attempts: [{ ...attempt, ok: false }, { ...attempt, executionKey: "t>c" }], at: 1_000 })
    metrics.record({ combo: "fast", strategy: "priority", ok: false, latencyMs: 1, attempts: [], at: 2_000 })
    const one = yield* get("/api/combos/metrics?combo=fast")
    assert.deepInclude(at(one.json, "metrics"), { requests: 2, successes: 1, failures: 1, fallbacks: 1, avgLatencyMs: 150, lastUsedAt: "1970-01-01T00:00:02.000Z" })
    assert.deepInclude(at(one.json, "metrics", "targets", "s>c"), { requests: 1, successes: 0, failures: 1, avgLatencyMs: null })
    yield* put(`/api/combos/${id}`, { name: "quick" })
    assert.strictEqual(at((yield* get("/api/combos/metrics")).json, "metrics", "quick", "requests"), 2)
    assert.isNull(at((yield* get("/api/combos/metrics?combo=nobody")).json, "metrics"))
    assert.deepStrictEqual((yield* remove("/api/combos/metrics?combo=quick")).json, { success: true })
    assert.deepStrictEqual(at((yield* get("/api/combos/metrics")).json, "metrics"), {})
  }))

  it.effect("test asks every target once and tells of steps without one", () => Effect.gen(function*() {
    const { create, dials, post, remove } = yield* signedIn
    const first = String(at((yield* post("/api/providers", { provider: "openai", name: "One", apiKey: "sk-1" })).json, "connection", "id"))
    const second = String(at((yield* post("/api/providers", { provider: "openai", name: "Two", priority: 2, apiKey: "sk-2" })).json, "connection", "id"))
    const node = yield* post("/api/provider-nodes", { type: "openai-compatible", apiType: "chat", name: "Gone", prefix: "gone", baseUrl: "https://gone.test/v1" })
    yield* create({ models: [{ id: "a", model: "openai/gpt-4o", label: "A" }, { id: "b", model: "openai/gpt-4o-mini", connectionId: second }, { id: "c", model: "gone/x" }] })
    yield* remove(`/api/provider-nodes/${String(at(node.json, "node", "id"))}`)
    dials.probed.length = 0
    dials.probe = (candidate) => candidate.model === "gpt-4o" ? Management.probeOk : {
      ...Management.probeOk, valid: false, statusCode: 429,
      diagnosis: { type: "upstream_rate_limited", source: "upstream", code: "429", message: "slow down" }
    }
    const reply = yield* post("/api/combos/test", { comboName: "fast" })
    const results = at(reply.json, "results") as ReadonlyArray<Record<string, unknown>>
    assert.deepStrictEqual(results.map((result) => [result["executionKey"], result["status"], result["connectionId"]]), [
      [`a>${first}`, "ok", first], [`a>${second}`, "ok", second], [`b>${second}`, "error", second], ["c", "error", null]
    ])
    assert.deepInclude(results[0], { model: "openai/gpt-4o", provider: "openai", stepId: "a", label: "A", statusCode: 200, latencyMs: 5 })
    assert.deepInclude(results[2], { statusCode: 429, error: "slow down" })
    assert.deepInclude(results[3], { statusCode: 404, model: "gone/x" })
    assert.deepStrictEqual(dials.probed.map((candidate) => candidate.wants), ["chat", "chat", "chat"])
    assert.strictEqual((yield* post("/api/combos/test", { comboName: "nobody" })).status, 404)
  }))

  it.effect("combo defaults are stored, shown in the settings and checked", () => Effect.gen(function*() {
    const { get, patch } = yield* signedIn
    const reply = yield* patch("/api/settings/combo-defaults", { comboDefaults: { maxRetries: 4 }, providerOverrides: { openai: { retryDelayMs: 1 } } })
    assert.deepStrictEqual(reply.json, { comboDefaults: { maxRetries: 4 }, providerOverrides: { openai: { retryDelayMs: 1 } } })
    assert.deepStrictEqual(at((yield* get("/api/settings")).json, "comboDefaults"), { maxRetries: 4 })
    assert.deepStrictEqual((yield* get("/api/settings/combo-defaults")).json, reply.json)
    assert.strictEqual((yield* patch("/api/settings/combo-defaults", {})).status, 400)
    assert.strictEqual((yield* patch("/api/settings/combo-defaults", { comboDefaults: { maxRetries: 11 } })).status, 400)
    assert.deepStrictEqual(at((yield* patch("/api/settings/combo-defaults", { comboDefaults: null })).json, "comboDefaults"), {})
  }))
})

describe("model-combo mappings", () => {
  it.effect("a mapping is stored, listed in the order of asking, changed and deleted", () => Effect.gen(function*() {
    const { audit, create, get, post, put, remove } = yield* signedIn
    const comboId = idOf(yield* create({}))
    const path = "/api/model-combo-mappings"
    const low = yield* post(path, { pattern: "gpt-*", comboId })
    assert.strictEqual(low.status, 201)
    assert.deepInclude(at(low.json, "mapping"), { pattern: "gpt-*", comboId, priority: 0, enabled: true, description: null })
    const high = yield* post(path, { pattern: "claude-?", comboId, priority: 5 })
    const patterns = (at((yield* get(path)).json, "mappings") as ReadonlyArray<{ pattern: string }>).map((mapping) => mapping.pattern)
    assert.deepStrictEqual(patterns, ["claude-?", "gpt-*"])
    const one = `${path}/${String(at(low.json, "mapping", "id"))}`
    assert.deepInclude(at((yield* put(one, { enabled: false })).json, "mapping"), { enabled: false, pattern: "gpt-*" })
    assert.deepInclude(at((yield* get(one)).json, "mapping"), { enabled: false })
    assert.deepStrictEqual(fieldsOf(yield* post(path, { pattern: "x", comboId: "nobody" })), ["comboId"])
    assert.deepStrictEqual(fieldsOf(yield* put(one, { comboId: "nobody" })), ["comboId"])
    assert.strictEqual((yield* post(path, { pattern: "x".repeat(501), comboId })).status, 400)
    assert.deepStrictEqual((yield* remove(one)).json, { success: true })
    for (const reply of [yield* get(one), yield* put(one, {}), yield* remove(one)]) {
      assert.deepStrictEqual([reply.status, message(reply)], [404, "Mapping not found"])
    }
    assert.strictEqual(high.status, 201)
    yield* remove(`/api/combos/${comboId}`)
    assert.deepStrictEqual(at((yield* get(path)).json, "mappings"), [])
    assert.includeMembers([...(yield* audit)], ["combo.mapping.created", "combo.mapping.updated", "combo.mapping.deleted"])
  }))
})
