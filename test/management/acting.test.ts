/** Nothing is stored in silence: every field that a client may store acts, or is refused by its name. */
import * as fs from "node:fs"
import * as path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as SchemaAST from "effect/SchemaAST"
import { featureNames, features } from "#schemas/acting/features.ts"
import type { Table } from "#src/management/acting/ActingTable.ts"
import { cacheConfig } from "#src/features/cache/acting.ts"
import { application } from "#src/features/cliTools/acting.ts"
import { combo, mapping } from "#src/features/combos/acting.ts"
import { apiKey } from "#src/features/keys/acting.ts"
import { budget, tokenLimit } from "#src/features/limits/acting.ts"
import { connection, customModel, interceptionRules, node, paramFilters } from "#src/features/providers/acting.ts"
import { resilience } from "#src/features/resilience/acting.ts"
import { database } from "#src/features/database/acting.ts"
import { DatabaseChange } from "#src/features/database/api.ts"
import { settings } from "#src/features/settings/acting.ts"
import { webhook } from "#src/features/webhooks/acting.ts"
import { BudgetInput, TokenLimitInput } from "#src/features/limits/api.ts"
import { Application } from "#src/features/cliTools/api.ts"
import { CacheConfigChange } from "#src/features/cache/api.ts"
import { ComboChange, MappingChange, NewCombo, NewMapping } from "#src/features/combos/api.ts"
import { PolicyInput } from "#src/features/keys/api.ts"
import { ModelInput } from "#src/features/providers/models/api.ts"
import { NewNode, NodeChange } from "#src/features/providers/nodes/api.ts"
import { ConnectionChange, NewConnection } from "#src/features/providers/api.ts"
import { InterceptionRules } from "#schemas/tools/InterceptionRules.ts"
import { ParamFilters } from "#schemas/words/ParamFilters.ts"
import { SettingsInput } from "#src/features/settings/api.ts"
import { settingDefaults } from "#schemas/settingDefaults.ts"
import { McpServerChange, NewMcpServer } from "#src/features/mcpServers/api.ts"
import { McpServer } from "#src/features/mcpServers/ports/McpServer.ts"
import { agentSkill } from "#src/features/agentSkills/acting.ts"
import { AgentSkill } from "#src/features/agentSkills/AgentSkill.ts"
import { AgentSkillChange, NewAgentSkill } from "#src/features/agentSkills/api.ts"
import { plugin } from "#src/features/plugins/acting.ts"
import { NewPlugin } from "#src/features/plugins/api.ts"
import { ManifestInput } from "#src/features/plugins/ports/Plugin.ts"
import { skill } from "#src/features/skills/acting.ts"
import { NewSkill, SkillChange } from "#src/features/skills/api.ts"
import { Skill } from "#src/features/skills/ports/Skill.ts"
import { mcpServer } from "#src/features/mcpServers/acting.ts"
import { memory } from "#src/features/memory/acting.ts"
import { SettingsChange } from "#src/features/memory/api.ts"
import { proxy, subscription } from "#src/features/proxies/acting.ts"
import { NewProxy, ProxyChange } from "#src/features/proxies/api.ts"
import { NewSubscription, SubscriptionChange } from "#src/features/proxies/subscriptions/api.ts"
import { NewWebhook, WebhookChange } from "#src/features/webhooks/api.ts"
import * as FlagCatalogue from "#schemas/flagCatalogue.ts"
import { ApiKeyPolicy, defaultPolicy } from "#schemas/records/ApiKey.ts"
import { Combo } from "#schemas/records/Combo.ts"
import { Connection } from "#schemas/records/Connection.ts"
import { CustomModel } from "#schemas/records/CustomModel.ts"
import { Budget, TokenLimit } from "#schemas/records/Limits.ts"
import { ProviderNode } from "#schemas/records/ProviderNode.ts"
import { ResilienceChange, resilienceDefaults } from "#schemas/records/ResilienceSettings.ts"
import { Webhook } from "#schemas/records/Webhook.ts"
import { emptyModel } from "#src/features/providers/models/customModelRecord.ts"
import { inferenceRoutes } from "#src/inferenceRoutes.ts"
import { payloadRules } from "#src/features/payloadRules/acting.ts"
import { PayloadRulesChange } from "#src/features/payloadRules/api.ts"
import { systemPrompt } from "#src/features/systemPrompt/acting.ts"
import { SystemPromptSettings } from "#schemas/words/SystemPrompt.ts"
import { cavemanConfig, compression, rtkConfig } from "#src/features/compression/acting.ts"
import { CavemanChange, CompressionChange, RtkChange } from "#src/features/compression/api.ts"
import { backgroundDegradation, taskRouting } from "#src/features/taskRouting/acting.ts"
import { BackgroundDegradationChange, TaskRoutingChange } from "#src/features/taskRouting/api.ts"
import { autoDisable } from "#src/features/accountRecovery/acting.ts"
import { AutoDisableSettings } from "#schemas/words/AutoDisable.ts"
import { fallbackChains } from "#src/features/fallbackChains/acting.ts"
import { ChainInput } from "#schemas/words/FallbackChains.ts"
import { thinkingBudget } from "#src/features/thinkingBudget/acting.ts"
import { ThinkingBudgetSettings } from "#schemas/words/ThinkingBudget.ts"
import { acting as managementActing, routes as managementRoutes } from "#src/Management.ts"
import * as RouteTable from "#schemas/api/RouteTable.ts"
import * as Management from "#test/support/management.ts"
import { at } from "#test/support/management.ts"

const root = path.join(import.meta.dirname, "..", "..")

/** Profiles of the resilience settings have the same members: a row stands for all of them. */
const profiles = ["apikey", "local", "oauth"]

/** Dotted paths of the leaves of a schema; `*` for a record's names. Lists are leaves. */
const leaves = (schema: Schema.Top): ReadonlySet<string> => {
  const found = new Set<string>()
  const walk = (ast: SchemaAST.AST, at: ReadonlyArray<string>): void => {
    if (ast._tag === "Union") {
      const inner = ast.types.filter((type) => type._tag === "Objects")
      if (inner.length === 0) return void found.add(at.join("."))
      return inner.forEach((type) => walk(type, at))
    }
    if (ast._tag !== "Objects") return void found.add(at.join("."))
    const names = ast.propertySignatures.map(({ name }) => String(name))
    const shared = names.length === profiles.length && names.toSorted().join() === profiles.join()
    for (const { name, type } of ast.propertySignatures) walk(type, [...at, shared ? "*" : String(name)])
    for (const { parameter: _, type } of ast.indexSignatures) {
      if (type._tag === "Objects" || type._tag === "Number" || type._tag === "Union") walk(type, [...at, "*"])
      else found.add(at.join("."))
    }
  }
  walk(schema.ast, [])
  return found
}

/** A change of a proxy without its id, which says which one. */
const { id: _id, ...proxyFields } = ProxyChange.fields
const ofProxy = Schema.Struct(proxyFields)
const { id: _subscription, ...subscriptionFields } = SubscriptionChange.fields
const ofSubscription = Schema.Struct(subscriptionFields)

const inputs: ReadonlyArray<readonly [Table, ReadonlyArray<Schema.Top>]> = [
  [settings, [SettingsInput]],
  [database, [DatabaseChange]],
  [systemPrompt, [SystemPromptSettings]],
  [thinkingBudget, [ThinkingBudgetSettings]],
  [taskRouting, [TaskRoutingChange]],
  [fallbackChains, [ChainInput]],
  [autoDisable, [AutoDisableSettings]],
  [backgroundDegradation, [BackgroundDegradationChange]],
  [compression, [CompressionChange]],
  [memory, [SettingsChange]],
  [cavemanConfig, [CavemanChange]],
  [rtkConfig, [RtkChange]],
  [cacheConfig, [CacheConfigChange]],
  [application, [Application]],
  [resilience, [ResilienceChange]],
  [apiKey, [PolicyInput]],
  [connection, [NewConnection, ConnectionChange]],
  [paramFilters, [ParamFilters]],
  [payloadRules, [PayloadRulesChange]],
  [interceptionRules, [InterceptionRules]],
  [node, [NewNode, NodeChange]],
  [customModel, [ModelInput]],
  [combo, [NewCombo, ComboChange]],
  [mapping, [NewMapping, MappingChange]],
  [webhook, [NewWebhook, WebhookChange]],
  [mcpServer, [NewMcpServer, McpServerChange]],
  [agentSkill, [NewAgentSkill, AgentSkillChange]],
  [skill, [NewSkill, SkillChange]],
  [plugin, [Schema.Struct({ ...NewPlugin.fields, manifest: ManifestInput })]],
  [proxy, [NewProxy, ofProxy]],
  [subscription, [NewSubscription, ofSubscription]],
  [budget, [BudgetInput]],
  [tokenLimit, [TokenLimitInput]]
]

/** What the gateway itself writes into a record, and what a client names a field that the record names otherwise. */
const own: ReadonlyArray<readonly [Table, { readonly fields: object }, ReadonlyArray<string>]> = [
  [apiKey, ApiKeyPolicy, []],
  [connection, Connection, [
    "id", "provider", "authType", "email", "displayName", "accessToken", "refreshToken", "idToken", "tokenType", "scope", "expiresAt",
    "tokenExpiresAt", "expiresIn", "lastHealthCheckAt", "backoffLevel", "bannedSignals", "consecutiveUseCount", "createdAt", "updatedAt"
  ]],
  [node, ProviderNode, ["id", "createdAt", "updatedAt"]],
  // maxInputTokens and maxOutputTokens are max_input_tokens and max_output_tokens; `extra` holds inert fields only.
  [customModel, CustomModel, ["maxInputTokens", "maxOutputTokens", "extra", "createdAt", "updatedAt"]],
  [combo, Combo, ["id", "createdAt", "updatedAt"]],
  [mcpServer, McpServer, ["id", "address", "createdAt", "updatedAt"]],
  [agentSkill, AgentSkill, ["id", "createdAt", "updatedAt"]],
  [skill, Skill, ["id", "sourceProvider", "installCount", "createdAt", "updatedAt"]],
  [webhook, Webhook, ["id", "failureCount", "lastTriggeredAt", "lastStatus", "createdAt", "updatedAt", "enabledAt"]],
  [budget, Budget, ["createdAt", "updatedAt"]],
  [tokenLimit, TokenLimit, ["createdAt", "updatedAt"]]
]

/** The field has a row, is part of a field that has one, or is an object whose members have rows. */
const covered = (table: Table, field: string): boolean =>
  Object.keys(table.rows).some((row) => row === field || field.startsWith(`${row}.`) || row.startsWith(`${field}.`))

const read = new Map<string, string>()
/** Everything but the catalogue: what a flag's key stands in reads it. */
const sources = ["actors", "src"].flatMap((folder) => fs.readdirSync(path.join(root, folder), { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts")).map((name) => fs.readFileSync(path.join(root, folder, name), "utf8")))

const textOf = (file: string): string => {
  const known = read.get(file) ?? fs.readFileSync(path.join(root, file), "utf8")
  read.set(file, known)
  return known
}

describe("the table of what acts", () => {
  it("has a row for every field that a client may send, and no row for another", () => {
    for (const [table, schemas] of inputs) {
      const sent = new Set(schemas.flatMap((schema) => [...leaves(schema)]))
      // The key of a route, not a field of the record.
      if (table === connection) sent.delete("provider")
      const missing = [...sent].filter((field) => !covered(table, field))
      assert.deepStrictEqual(missing, [], `${table.record}: fields without a row in an acting.ts`)
      const gone = Object.keys(table.rows).filter((row) => row !== "name" && ![...sent].some((field) =>
        row === field || row.startsWith(`${field}.`) || field.startsWith(`${row}.`)))
      assert.deepStrictEqual(gone, [], `${table.record}: rows without a field`)
    }
    assert.sameMembers(inputs.map(([table]) => table), [...managementActing], "every table is in this census")
  })

  it("has a row for every stored field that the gateway does not write itself", () => {
    for (const [table, { fields }, written] of own) {
      const missing = Object.keys(fields).filter((field) => !written.includes(field) && !covered(table, field))
      assert.deepStrictEqual(missing, [], table.record)
    }
  })

  it("names for every acting field a file outside the schemas that reads it", () => {
    const rows = managementActing.flatMap(({ record, rows }) => Object.entries(rows).map(([field, row]) => [`${record}.${field}`, row] as const))
    const unread = rows.filter(([name, row]) => {
      if (!row.acts) return false
      const leaf = name.split(".").filter((part) => part !== "*").at(-1) as string
      return !/^(src|actors)\//.test(row.where) || !new RegExp(`\\b${leaf}\\b`).test(textOf(row.where))
    })
    assert.deepStrictEqual(unread.map(([name, row]) => `${name} is not read in ${row.acts ? row.where : ""}`), [])
  })

  it("reads every acting flag outside the schemas, and no flag of a feature that is not built", () => {
    const read = (key: string): boolean => sources.some((source) => source.includes(`"${key}"`))
    const wrong = FlagCatalogue.catalogue.filter(({ key, lacks }) => read(key) !== (lacks === null))
    assert.deepStrictEqual(wrong.map(({ key, lacks }) => lacks === null ? `${key} is read nowhere` : `${key} is read, and its row lacks ${lacks}`), [])
  })

  it("gives neutral values that are the defaults", () => {
    const defaults: ReadonlyArray<readonly [Table, unknown]> = [
      [settings, settingDefaults], [apiKey, defaultPolicy], [customModel, emptyModel("p", "m", "")],
      [resilience, { ...resilienceDefaults, connectionCooldown: { "*": resilienceDefaults.connectionCooldown.apikey } }]
    ]
    for (const [table, values] of defaults) {
      for (const [field, row] of Object.entries(table.rows)) {
        const standing = at(values, ...field.split("."))
        if (!row.acts && standing !== undefined) assert.deepStrictEqual(standing, row.neutral, `${table.record}.${field}`)
      }
    }
  })

  it("says of every missing feature which of its documented paths answer 404, and something waits for it or is told of it", () => {
    const table = RouteTable.make([...managementRoutes(), ...inferenceRoutes])
    for (const name of featureNames) {
      for (const documented of features[name].paths) assert.deepStrictEqual(table.match(documented).map(({ path }) => path), [], `${name}: ${documented} is built`)
      const waits = [...managementActing.flatMap(({ rows }) => Object.values(rows)), ...FlagCatalogue.catalogue.map(({ lacks }) => ({ acts: lacks === null, lacks }))].some((row) => !row.acts && row.lacks === name)
      assert.isTrue(waits || features[name].paths.length > 0, `${name} is missing for nobody`)
    }
  })
})

interface Writing {
  readonly method: string
  readonly path: string
  /** What the call needs beside the field. */
  readonly body: Readonly<Record<string, unknown>>
  /** Where the record can be read again. */
  readonly read: string
}

/** A value of the field's type that is not its neutral one. */
const otherThan = (neutral: Schema.Json, field: string): unknown => {
  const leaf = field.split(".").at(-1) as string
  if (Object.hasOwn(special, leaf)) return special[leaf]
  if (typeof neutral === "boolean") return !neutral
  if (typeof neutral === "number") return neutral + 1
  if (Array.isArray(neutral)) return ["other"]
  if (typeof neutral === "string") return "other"
  return neutral === null ? "other" : { other: true }
}

const special: Readonly<Record<string, unknown>> = {
  mcpTransport: "sse", a2aEvents: 5, callLogs: 5, frequency: "weekly", intentSimpleMaxWords: 7, modelsDevSyncInterval: 3_600,
  streamDefaultMode: "json",
  targetFormat: "claude", preserveOpenAIDeveloperRole: true, upstreamHeaders: { "x-a": "b" }, fetchBackend: "jina", dimensions: "512",
  models: { m: { block: ["a"] } }
}

const nest = (field: string, value: unknown): Record<string, unknown> => {
  const [name, ...rest] = field.replace(/^connectionCooldown\.\*/, "connectionCooldown.apikey").replace(/^providerOverrides\.\*/, "providerOverrides.openai").split(".")
  return { [name as string]: rest.length === 0 ? value : nest(rest.join("."), value) }
}

describe("a field that does not act", () => {
  it.effect("is refused by its name and leaves the record as it was; its neutral value passes", () => Effect.gen(function*() {
    const { ask, login } = yield* Management.make()
    const cookie = yield* login()
    const call = (method: string, to: string, body?: unknown) => ask(to, { method, cookie, ...(body === undefined ? {} : { body }) })
    const made = (reply: Management.Reply, ...where: ReadonlyArray<string>) => {
      assert.include([200, 201], reply.status, reply.text)
      return String(at(reply.json, ...where))
    }
    const key = made(yield* call("POST", "/api/keys", { name: "k" }), "id")
    const nodeId = made(yield* call("POST", "/api/provider-nodes", { type: "openai-compatible", apiType: "chat", name: "n", prefix: "nn", baseUrl: "https://n.test/v1" }), "node", "id")
    const connectionId = made(yield* call("POST", "/api/providers", { provider: "openai", name: "c", apiKey: "sk-1234567890" }), "connection", "id")
    const comboId = made(yield* call("POST", "/api/combos", { name: "some combo", models: ["openai/gpt-4o"] }), "id")
    made(yield* call("POST", "/api/provider-models", { provider: nodeId, modelId: "m" }), "model", "modelId")

    const writings: ReadonlyArray<readonly [Table, ReadonlyArray<Writing>]> = [
      [settings, [
        { method: "PATCH", path: "/api/settings", body: {}, read: "/api/settings" }, { method: "PUT", path: "/api/settings", body: {}, read: "/api/settings" }
      ]],
      [database, [{ method: "PATCH", path: "/api/settings/database", body: {}, read: "/api/settings/database" }]],
      [resilience, [{ method: "PATCH", path: "/api/resilience", body: {}, read: "/api/resilience" }]],
      [apiKey, [
        { method: "PATCH", path: `/api/keys/${key}`, body: {}, read: `/api/keys/${key}` },
        { method: "POST", path: "/api/keys", body: { name: "other" }, read: "/api/keys" }
      ]],
      [connection, [{ method: "PUT", path: `/api/providers/${connectionId}`, body: {}, read: `/api/providers/${connectionId}` }]],
      [paramFilters, [{ method: "PUT", path: `/api/providers/${connectionId}/param-filters`, body: {}, read: `/api/providers/${connectionId}/param-filters` }]],
      [interceptionRules, [{ method: "PUT", path: `/api/providers/${connectionId}/interception-rules`, body: {}, read: `/api/providers/${connectionId}/interception-rules` }]],
      [node, [
        { method: "PUT", path: `/api/provider-nodes/${nodeId}`, body: {}, read: `/api/provider-nodes/${nodeId}` },
        { method: "POST", path: "/api/provider-nodes", body: { type: "openai-compatible", apiType: "chat", name: "o", prefix: "oo" }, read: "/api/provider-nodes" }
      ]],
      [customModel, [
        { method: "PUT", path: "/api/provider-models", body: { provider: nodeId, modelId: "m" }, read: `/api/provider-models?provider=${nodeId}` },
        { method: "POST", path: "/api/provider-models", body: { provider: nodeId, modelId: "new" }, read: `/api/provider-models?provider=${nodeId}` }
      ]],
      [combo, [
        { method: "PUT", path: `/api/combos/${comboId}`, body: {}, read: `/api/combos/${comboId}` },
        { method: "POST", path: "/api/combos", body: { name: "another" }, read: "/api/combos" }
      ]],
      [memory, [{ method: "PUT", path: "/api/settings/memory", body: { memoryEnabled: false }, read: "/api/settings/memory" }]],
      [compression, [{ method: "PUT", path: "/api/settings/compression", body: { enabled: false }, read: "/api/settings/compression" }]],
      [rtkConfig, [{ method: "PUT", path: "/api/context/rtk/config", body: { enabled: true }, read: "/api/context/rtk/config" }]],
      [plugin, [{ method: "POST", path: "/api/plugins", body: { code: "export const a = 1" }, read: "/api/plugins" }]],
      [application, [{ method: "POST", path: "/api/cli-tools/apply", body: { tool: "codex", baseUrl: "http://localhost:1", apiKey: "k", model: "a/b" }, read: "/api/cli-tools/status?tool=codex" }]]
    ]
    const tried = new Set<string>()
    for (const [table, calls] of writings) {
      for (const [field, row] of Object.entries(table.rows)) {
        if (row.acts) continue
        for (const { body, method, path: to, read: from } of calls) {
          const before = (yield* call("GET", from)).text
          const sent = nest(field, otherThan(row.neutral, field))
          const refused = yield* call(method, to, { ...body, ...sent })
          assert.strictEqual(refused.status, 400, `${method} ${to} ${JSON.stringify(sent)}: ${refused.text}`)
          assert.strictEqual(at(refused.json, "error", "code"), "not_supported_yet", refused.text)
          const named = String(at(refused.json, "error", "details", 0, "field"))
          assert.strictEqual(named.split(".").at(-1), field.split(".").at(-1), refused.text)
          assert.strictEqual((yield* call("GET", from)).text, before, `${field} changed the record`)
          tried.add(`${table.record}.${field}`)
          if (method === "POST" || row.neutral === null) continue
          const neutral = yield* call(method, to, { ...body, ...nest(field, row.neutral) })
          assert.strictEqual(neutral.status, 200, `${method} ${to} ${field} ${JSON.stringify(row.neutral)}: ${neutral.text}`)
        }
      }
    }
    const inert = managementActing.flatMap(({ record, rows }) => Object.entries(rows).filter(([, row]) => !row.acts).map(([field]) => `${record}.${field}`))
    assert.deepStrictEqual(inert.filter((field) => !tried.has(field)), [], "inert fields that no call was tried with")
  }))

  it.effect("is refused in every row of a bulk or an import", () => Effect.gen(function*() {
    const { ask, login } = yield* Management.make()
    const cookie = yield* login()
    const reply = yield* ask("/api/providers/bulk", { method: "POST", cookie, body: { provider: "openai", providerSpecificData: { reasoningControl: "on" }, entries: [{ name: "a", apiKey: "sk-1234567890" }] } })
    assert.strictEqual(at(reply.json, "results", 0, "success"), false, reply.text)
    assert.include(String(at(reply.json, "results", 0, "error")), "reasoningControl")
    assert.deepStrictEqual(at((yield* ask("/api/providers", { cookie })).json, "connections"), [])
  }))

})

describe("GET /api/system/capabilities", () => {
  it.effect("lists every field and flag with what it lacks", () => Effect.gen(function*() {
    const { ask, login } = yield* Management.make()
    const reply = yield* ask("/api/system/capabilities", { cookie: yield* login() })
    assert.strictEqual(reply.status, 200, reply.text)
    assert.lengthOf(at(reply.json, "flags") as ReadonlyArray<unknown>, FlagCatalogue.catalogue.length)
    const fields = at(reply.json, "fields") as ReadonlyArray<{ record: string; field: string; acts: boolean; lacks: string | null }>
    assert.deepStrictEqual(fields.find(({ field, record }) => record === "Setting" && field === "hideHealthCheckLogs"), { record: "Setting", field: "hideHealthCheckLogs", acts: false, lacks: "dashboard", neutral: false } as never)
    const acting = fields.filter(({ acts }) => acts).length
    assert.deepStrictEqual(at(reply.json, "summary", "fields"), { acting, inert: fields.length - acting })
    assert.strictEqual((yield* ask("/api/system/capabilities")).status, 401)
  }))

  it.effect("agrees with the list of flags, and a flag that does not act takes its default only", () => Effect.gen(function*() {
    const { ask, login } = yield* Management.make()
    const cookie = yield* login()
    const listed = at((yield* ask("/api/settings/feature-flags", { cookie })).json, "flags") as ReadonlyArray<{ key: FlagCatalogue.FlagKey; acts: boolean; defaultValue: string }>
    assert.lengthOf(listed, FlagCatalogue.catalogue.length)
    for (const { acts, defaultValue, key } of listed) {
      assert.strictEqual(acts, FlagCatalogue.byKey.get(key)?.lacks === null, key)
      if (acts) continue
      const set = (value: string) => ask("/api/settings/feature-flags", { method: "PUT", cookie, body: { key, value } })
      const neutral = yield* set(defaultValue)
      assert.deepStrictEqual([neutral.status, at(neutral.json, "effectiveValue")], [200, defaultValue], key)
      for (const value of (FlagCatalogue.byKey.get(key)?.enumValues ?? ["true", "false"]).filter((other) => other !== defaultValue)) {
        const reply = yield* set(value)
        assert.strictEqual(reply.status, 400, key)
        assert.strictEqual(at(reply.json, "error", "code"), "not_supported_yet")
      }
      assert.strictEqual((yield* ask("/api/settings/feature-flags", { method: "PUT", cookie, body: { key } })).status, 200, "an old override can be taken away")
    }
  }))
})
