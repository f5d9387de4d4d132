/** What an operator reads, changes and sends back whole: the gateway's own members pass as they are shown, and are refused when changed. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Context from "effect/Context"
import * as HttpApi from "effect/http-api/HttpApi"
import type * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import type * as Schema from "effect/Schema"
import type * as SchemaAST from "effect/SchemaAST"
import { SentBack } from "#schemas/api/SentBack.ts"
import { PluginStore } from "#src/features/plugins/ports/PluginStore.ts"
import { ManagementApi } from "#src/ManagementApi.ts"
import * as Shown from "#src/management/sentBack/shown.ts"
import { chance } from "#test/support/chance.ts"
import * as Management from "#test/support/management.ts"
import { at } from "#test/support/management.ts"

type Json = Schema.Json
type Document = Shown.Document
type Call = (method: string, path: string, body?: unknown) => Effect.Effect<Management.Reply>

const signedIn = Effect.gen(function*() {
  const surface = yield* Management.make()
  const cookie = yield* surface.login()
  const call: Call = (method, path, body) => surface.ask(path, { method, cookie, ...(body === undefined ? {} : { body }) })
  return { ...surface, call }
})

interface Standing {
  /** Where the record is read, and sent to. */
  readonly read: string
  readonly send: string
  readonly pick: (json: unknown) => Document
}

interface Row {
  readonly endpoint: string
  readonly make: (call: Call, plugins: PluginStore["Service"]) => Effect.Effect<Standing>
}

const made = (call: Call, path: string, body: unknown, ...id: ReadonlyArray<string>) =>
  Effect.map(call("POST", path, body), (reply) => {
    assert.oneOf(reply.status, [200, 201], reply.text)
    return String(at(reply.json, ...id))
  })

const whole = (json: unknown): Document => json as Document
const member = (name: string) => (json: unknown): Document => at(json, name) as Document
const listed = (list: string, name: string, value: string) => (json: unknown): Document =>
  (at(json, list) as ReadonlyArray<Document>).find((item) => item[name] === value) as Document

/** A record of its own path. */
const one = (endpoint: string, path: string, body: unknown, pick: (json: unknown) => Document, ...id: ReadonlyArray<string>): Row => ({
  endpoint, make: (call) => Effect.map(made(call, path, body, ...id), (id) => ({ read: `${path}/${id}`, send: `${path}/${id}`, pick }))
})
/** A document that is always there. */
const there = (method: string, path: string): Row => ({ endpoint: `${method} ${path}`, make: () => Effect.succeed({ read: path, send: path, pick: whole }) })

const node = { type: "openai-compatible", apiType: "chat", name: "N", prefix: "nn", baseUrl: "https://n.test/v1", customHeaders: { "x-team": "a", "x-api-key": "hush-hush" } }
const connection = { provider: "openai", name: "c", apiKey: "sk-1234567890" }
const aKey = (call: Call) => made(call, "/api/keys", { name: "k" }, "id")

const rows: ReadonlyArray<Row> = [
  one("PUT /api/providers/:id", "/api/providers", connection, member("connection"), "connection", "id"),
  one("PUT /api/provider-nodes/:id", "/api/provider-nodes", node, member("node"), "node", "id"),
  {
    endpoint: "PUT /api/provider-models",
    make: (call) => Effect.as(made(call, "/api/provider-models", { provider: "openai", modelId: "mine", upstreamHeaders: { "x-api-key": "hush-hush" } }, "model", "modelId"),
      { read: "/api/provider-models?provider=openai", send: "/api/provider-models", pick: listed("models", "modelId", "mine") })
  },
  one("PUT /api/combos/:id", "/api/combos", { name: "c", models: ["openai/gpt-4o", { kind: "model", model: "openai/gpt-4o-mini", weight: 3 }] }, whole, "id"),
  { endpoint: "PUT /api/model-combo-mappings/:id", make: (call) => Effect.gen(function*() {
    const comboId = yield* made(call, "/api/combos", { name: "c" }, "id")
    const path = `/api/model-combo-mappings/${yield* made(call, "/api/model-combo-mappings", { pattern: "gpt-*", comboId }, "mapping", "id")}`
    return { read: path, send: path, pick: member("mapping") }
  }) },
  one("PATCH /api/keys/:id", "/api/keys", { name: "k", expiresAt: "2030-01-01T00:00:00Z" }, whole, "id"),
  { endpoint: "PUT /api/keys/:id/usage-limits", make: (call) => Effect.map(aKey(call), (id) => ({ read: `/api/keys/${id}/usage-limits`, send: `/api/keys/${id}/usage-limits`, pick: whole })) },
  one("PUT /api/webhooks/:id", "/api/webhooks", { url: "https://h.test/x" }, member("webhook"), "webhook", "id"),
  { endpoint: "POST /api/usage/budget", make: (call) => Effect.gen(function*() {
    const apiKeyId = yield* aKey(call)
    yield* made(call, "/api/usage/budget", { apiKeyId, dailyLimitUsd: 3 })
    return { read: `/api/usage/budget?apiKeyId=${apiKeyId}`, send: "/api/usage/budget", pick: whole }
  }) },
  { endpoint: "POST /api/usage/token-limits", make: (call) => Effect.gen(function*() {
    const apiKeyId = yield* aKey(call)
    yield* made(call, "/api/usage/token-limits", { apiKeyId, scopeType: "global", tokenLimit: 9 })
    const id = yield* made(call, "/api/usage/token-limits", { apiKeyId, scopeType: "model", scopeValue: "openai/gpt-4o", tokenLimit: 7 }, "limit", "id")
    return { read: `/api/usage/token-limits?apiKeyId=${apiKeyId}`, send: "/api/usage/token-limits", pick: listed("limits", "id", id) }
  }) },
  { endpoint: "PATCH /api/v1/management/proxies", make: (call) => Effect.map(
    made(call, "/api/v1/management/proxies", { name: "p", host: "p.test", port: 8080, username: "u", password: "hush-hush" }, "id"),
    (id) => ({ read: `/api/v1/management/proxies?id=${id}`, send: "/api/v1/management/proxies", pick: whole })) },
  { endpoint: "PATCH /api/v1/management/proxy-subscriptions", make: (call) => Effect.map(
    made(call, "/api/v1/management/proxy-subscriptions", { name: "s", url: "https://lists.test/all.txt?token=hush-hush" }, "id"),
    (id) => ({ read: "/api/v1/management/proxy-subscriptions", send: "/api/v1/management/proxy-subscriptions", pick: listed("items", "id", id) })) },
  { endpoint: "PUT /api/v1/management/proxies/assignments", make: (call) => Effect.gen(function*() {
    const proxyId = yield* made(call, "/api/v1/management/proxies", { name: "p", host: "p.test", port: 8080 }, "id")
    yield* call("PUT", "/api/v1/management/proxies/assignments", { scope: "provider", scopeId: "openai", proxyId })
    return { read: "/api/v1/management/proxies/assignments", send: "/api/v1/management/proxies/assignments", pick: listed("items", "scopeId", "openai") }
  }) },
  one("PUT /api/context/combos/:id", "/api/context/combos", { name: "p", pipeline: [{ engine: "caveman" }] }, whole, "id"),
  one("PUT /api/evals/suites/:id", "/api/evals/suites", {
    name: "s", cases: [{ name: "c", model: "sim/echo", input: { messages: [{ role: "user", content: "x" }] }, expected: { strategy: "contains", value: "x" } }]
  }, member("suite"), "suite", "id"),
  one("PUT /api/memory/:id", "/api/memory", { content: "c", key: "k", type: "FACTUAL" }, whole, "id"),
  one("PATCH /api/mcp/servers/:id", "/api/mcp/servers", { name: "srv", transport: "http", url: "https://m.test/mcp", headers: { authorization: "Bearer hush-hush" } }, member("server"), "server", "id"),
  one("PUT /api/agent-skills/:id", "/api/agent-skills", { name: "tidy-up", description: "d", prompt: "p" }, member("skill"), "skill", "id"),
  { endpoint: "PUT /api/skills/:id", make: (call) => Effect.map(
    made(call, "/api/skills/install", { name: "adder", version: "1.0.0", description: "d", schema: { input: {}, output: {} }, handlerCode: "export default () => 1" }, "id"),
    (id) => ({ read: `/api/skills/${id}`, send: `/api/skills/${id}`, pick: member("skill") })) },
  { endpoint: "PUT /api/v1/agents/credentials", make: (call) => Effect.gen(function*() {
    assert.strictEqual((yield* call("PUT", "/api/v1/agents/credentials", { providerId: "jules", apiKey: "hush-hush-hush" })).status, 200)
    return { read: "/api/v1/agents/credentials", send: "/api/v1/agents/credentials", pick: listed("credentials", "providerId", "jules") }
  }) },
  { endpoint: "PUT /api/plugins/:name/config", make: (_call, plugins) => Effect.as(Effect.orDie(plugins.insert({
    name: "tidy", version: "1.0.0", code: "", integrity: "", status: "inactive", config: {}, installedAt: "", activatedAt: null, errorMessage: null, updatedAt: "",
    manifest: {
      description: "", author: "", license: "MIT", main: "index.js", source: "local", tags: [], hooks: ["onRequest"], configSchema: {}, enabledByDefault: false,
      hookTimeoutMs: 1_000, failMode: "open"
    }
  })), { read: "/api/plugins/tidy/config", send: "/api/plugins/tidy/config", pick: whole }) },
  ...["param-filters", "interception-rules"].map((name): Row => ({
    endpoint: `PUT /api/providers/:id/${name}`,
    make: (call) => Effect.map(made(call, "/api/providers", connection, "connection", "id"), (id) => ({ read: `/api/providers/${id}/${name}`, send: `/api/providers/${id}/${name}`, pick: whole }))
  })),
  ...["providers", "accounts"].map((name): Row => ({
    endpoint: `PUT /v1/${name}/:id/limits`, make: () => Effect.succeed({ read: `/v1/${name}/openai/limits`, send: `/v1/${name}/openai/limits`, pick: whole })
  })),
  ...[
    "", "/require-login", "/system-prompt", "/thinking-budget", "/payload-rules", "/task-routing", "/background-degradation", "/compression", "/ip-filter", "/proxy",
    "/auto-disable-accounts", "/cache-config", "/memory"
  ].map((name) => there("PUT", `/api/settings${name}`)),
  there("PATCH", "/api/settings"), there("PATCH", "/api/settings/combo-defaults"), there("PATCH", "/api/settings/database"), there("PUT", "/api/context/caveman/config"), there("PUT", "/api/context/rtk/config"),
  there("PATCH", "/api/resilience"), there("POST", "/api/admin/concurrency")
]

/** Calls of a path with a GET that take no record of it, and why. */
const others: Readonly<Record<string, string>> = {
  "PATCH /api/providers": "switches several connections",
  "PATCH /api/provider-models": "hides and shows models",
  "PUT /api/models/alias": "adds one alias to the list",
  "PATCH /api/pricing": "adds overrides; what is sent is the operator's own price from then on",
  "PUT /api/settings/feature-flags": "an override is a key and a value; without the value it is removed",
  "PUT /api/context/combos/:id/assignments": "takes ids of combos, which the pipeline shows as routingComboIds",
  "PUT /api/db-backups": "makes a backup"
}

const endpoints = new Map<string, HttpApiEndpoint.Top>()
HttpApi.reflect(ManagementApi, { onGroup: () => {}, onEndpoint: ({ endpoint }) => void endpoints.set(`${endpoint.method} ${endpoint.path}`, endpoint) })

const namesIn = (ast: SchemaAST.AST): ReadonlyArray<string> =>
  ast._tag === "Union" ? ast.types.flatMap(namesIn) : ast._tag === "Objects" ? ast.propertySignatures.map(({ name }) => String(name)) : []

const rulesOf = (endpoint: string) => {
  const found = endpoints.get(endpoint)
  assert.isDefined(found, endpoint)
  return {
    taken: new Set([...(found?.payload.values() ?? [])].flatMap(({ schemas }) => schemas.flatMap(({ ast }) => namesIn(ast)))),
    moves: Context.getOrUndefined((found as HttpApiEndpoint.Top).annotations, SentBack)?.moves ?? []
  }
}

/** Moved by the change itself. */
const isStamp = (name: string): boolean => name === "updatedAt" || name === "assignedAt"
const steady = (record: Document, moves: ReadonlyArray<string>) => Object.fromEntries(Object.entries(record).filter(([name]) => !isStamp(name) && !moves.includes(name)))

describe("a record that is sent back whole", () => {
  it("has a row here for each call that takes one", () => {
    const takes = [...endpoints].filter(([name, { annotations, method, path }]) =>
      Context.getOrUndefined(annotations, SentBack) !== undefined || ((method === "PUT" || method === "PATCH") && endpoints.has(`GET ${path}`) && !Object.hasOwn(others, name)))
    assert.deepStrictEqual(takes.map(([name]) => name).sort(), rows.map(({ endpoint }) => endpoint).sort())
    for (const name of Object.keys(others)) assert.isTrue(endpoints.has(name), name)
  })

  for (const { endpoint, make } of rows) {
    it.effect(`is taken as it is shown, and its own members are refused when changed: ${endpoint}`, () => Effect.gen(function*() {
      const { call, context } = yield* signedIn
      const method = endpoint.split(" ", 1)[0] as string
      const { moves, taken } = rulesOf(endpoint)
      const { pick, read, send } = yield* make(call, Context.get(context, PluginStore))
      const record = pick((yield* call("GET", read)).json)
      const sent = yield* call(method, send, record)
      assert.oneOf(sent.status, [200, 201], sent.text)
      assert.deepStrictEqual(steady(pick((yield* call("GET", read)).json), moves), steady(record, moves), "nothing is changed")
      const own = Object.keys(record).filter((name) => !taken.has(name))
      for (const name of own) {
        const reply = yield* call(method, send, { ...pick((yield* call("GET", read)).json), [name]: { changed: true } })
        if (moves.includes(name)) assert.oneOf(reply.status, [200, 201], `${name}: ${reply.text}`)
        else assert.deepStrictEqual([reply.status, at(reply.json, "error", "details")], [400, [{ field: name, message: "Read-only: send it as it is shown now, or leave it out" }]], reply.text)
      }
      assert.deepStrictEqual(moves.filter((name) => !own.includes(name)), [], "what moves is shown, and no client sets it")
      const stranger = yield* call(method, send, { ...pick((yield* call("GET", read)).json), no_such_member: 1 })
      assert.deepStrictEqual([stranger.status, at(stranger.json, "error", "details")], [400, [{ field: "no_such_member", message: "Unknown field" }]])
    }))
  }

  it.effect("keeps a secret that reads as it is masked", () => Effect.gen(function*() {
    const { call } = yield* signedIn
    const id = yield* made(call, "/api/webhooks", { url: "https://h.test/x" }, "webhook", "id")
    const secret = at((yield* call("GET", `/api/webhooks/${id}`)).json, "webhook", "secret")
    const inList = at((yield* call("GET", "/api/webhooks")).json, "webhooks", 0) as Document
    assert.notStrictEqual(inList["secret"], secret)
    assert.strictEqual((yield* call("PUT", `/api/webhooks/${id}`, { ...inList, description: "new" })).status, 200)
    assert.deepInclude(at((yield* call("GET", `/api/webhooks/${id}`)).json, "webhook"), { secret, description: "new" })

    const key = (yield* call("POST", "/api/keys", { name: "k" })).json as Document
    const shown = (yield* call("GET", `/api/keys/${String(key["id"])}`)).json as Document
    assert.strictEqual((yield* call("PATCH", `/api/keys/${String(key["id"])}`, { ...shown, name: "renamed" })).status, 200)
    assert.deepStrictEqual((yield* call("GET", `/api/keys/${String(key["id"])}`)).json, { ...shown, name: "renamed", updatedAt: at((yield* call("GET", `/api/keys/${String(key["id"])}`)).json, "updatedAt") })
  }))

  it.effect("is not found when it is gone", () => Effect.gen(function*() {
    const { call } = yield* signedIn
    const id = yield* made(call, "/api/combos", { name: "c" }, "id")
    const record = (yield* call("GET", `/api/combos/${id}`)).json
    assert.strictEqual((yield* call("DELETE", `/api/combos/${id}`)).status, 200)
    assert.strictEqual((yield* call("PUT", `/api/combos/${id}`, record)).status, 404)
  }))

  it.effect("is refused when another client changed it since it was read", () => Effect.gen(function*() {
    const { advance, call } = yield* signedIn
    const id = yield* made(call, "/api/combos", { name: "c" }, "id")
    const record = (yield* call("GET", `/api/combos/${id}`)).json as Document
    yield* advance("1 second")
    assert.strictEqual((yield* call("PUT", `/api/combos/${id}`, { description: "theirs" })).status, 200)
    const late = yield* call("PUT", `/api/combos/${id}`, { ...record, sortOrder: 7 })
    assert.deepStrictEqual([late.status, at(late.json, "error", "details", 0, "field")], [400, "updatedAt"], late.text)
    assert.strictEqual(at((yield* call("GET", `/api/combos/${id}`)).json, "description"), "theirs")
  }))
})

describe("what is left of a body", () => {
  it("is all that the call takes; the rest is passed over, named or left to the schema", () => {
    const { below, one, seed } = chance()
    const values: ReadonlyArray<Json> = [null, 0, 1, "a", ["a"], { a: [1] }, { a: [2] }]
    for (let i = 0; i < 500; i++) {
      const names = ["name", "limit", "id", "count", "extra", "__proto__", "constructor"]
      const doc = (): Document => Object.fromEntries(names.filter(() => below(2) === 0).map((name) => [name, one(values)]))
      const [body, shown] = [doc(), doc()]
      const taken: Shown.Taken = new Map<string, (value: unknown) => boolean>([["name", () => true], ["limit", (value) => typeof value === "number"]])
      const left = Shown.withoutShown(body, shown, taken, new Set(["count"]))
      for (const name of Object.keys(body)) {
        const isKept = Object.hasOwn(left.body, name)
        const isNamed = left.changed.some(({ field }) => field === name)
        const isSame = Object.hasOwn(shown, name) && JSON.stringify(shown[name]) === JSON.stringify(body[name])
        const wants = name === "name" || !Object.hasOwn(shown, name) ? "kept"
          : name === "limit" ? typeof body[name] === "number" || !isSame ? "kept" : "passed"
          : name === "count" || isSame ? "passed" : "named"
        assert.deepStrictEqual([isKept, isNamed], [wants === "kept", wants === "named"], `seed ${seed}: ${name} of ${JSON.stringify(body)} beside ${JSON.stringify(shown)}`)
        if (isKept) assert.deepStrictEqual(left.body[name], body[name])
      }
    }
  })

  it("finds the record by its names, in lists and maps", () => {
    const body: Document = { provider: "p", modelId: "m" }
    const by = ["provider", "modelId"]
    assert.deepStrictEqual(Shown.recordIn({ models: [{ provider: "p", modelId: "x" }, { provider: "p", modelId: "m", at: 1 }], overrides: {} }, body, { by }), { provider: "p", modelId: "m", at: 1 })
    assert.deepStrictEqual(Shown.recordIn({ models: [], overrides: { "p/m": { provider: "p", modelId: "m", at: 2 } } }, body, { by }), { provider: "p", modelId: "m", at: 2 })
    assert.isNull(Shown.recordIn({ models: [{ provider: "p" }] }, { provider: "p" }, { by }))
    assert.deepStrictEqual(Shown.recordIn({ webhook: { id: "w" } }, {}, { by: [] }), { id: "w" })
    assert.deepStrictEqual(Shown.recordIn({ id: "w", url: { id: "x" } }, {}, { by: [] }), { id: "w", url: { id: "x" } })
  })
})
