/** The configuration of a gateway as one JSON document: what it may hold, and how it is read. Pure. */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import { clearable, integer, listOf, partial, text } from "#schemas/api/fields.ts"
import type { FieldIssue } from "#schemas/api/Refusal.ts"
import * as MemorySettings from "#schemas/memory/MemorySettings.ts"
import { AuthType } from "#schemas/records/Connection.ts"
import * as AutoDisable from "#schemas/words/AutoDisable.ts"
import * as FallbackChains from "#schemas/words/FallbackChains.ts"
import * as PayloadRules from "#schemas/words/PayloadRules.ts"
import * as SystemPrompt from "#schemas/words/SystemPrompt.ts"
import * as TaskRouting from "#schemas/words/TaskRouting.ts"
import * as ThinkingBudget from "#schemas/words/ThinkingBudget.ts"
import { NewCombo } from "#src/features/combos/ports/comboDrafts.ts"
import { PriceInput } from "#src/features/pricing/api.ts"
import { ConnectionChange } from "#src/features/providers/api.ts"
import { ModelInput } from "#src/features/providers/models/api.ts"
import { NewNode } from "#src/features/providers/nodes/api.ts"
import { secretSettings, securitySettings, SettingsInput } from "#src/features/settings/ports/generalSettings.ts"
import { ordered } from "#src/wire/json/ordered.ts"

export const FORMAT = "gateway-configuration"
export const VERSION = 1

const opt = Schema.optionalKey
const { apiKey: _apiKey, ...node } = NewNode.fields

/** What an operator sets of a connection; its health and its credentials are its gateway's own. */
const {
  defaultModel, globalPriority, group, healthCheckInterval, isActive, maxConcurrent, perKeyProxyEnabled, priority, projectId, providerSpecificData,
  proxyEnabled, quotaVisible, quotaWindowThresholds, rateLimitOverrides, rateLimitProtection
} = ConnectionChange.fields
const connection = {
  defaultModel, globalPriority, group, healthCheckInterval, isActive, maxConcurrent, perKeyProxyEnabled, priority, projectId, providerSpecificData,
  proxyEnabled, quotaVisible, quotaWindowThresholds, rateLimitOverrides, rateLimitProtection
}
export const connectionFields = Object.keys(connection) as ReadonlyArray<keyof typeof connection>

type Stored = ReadonlyMap<string, unknown>

/** Settings with paths of their own but the fallback chains, each with its effective value. A document may give some of their members. */
export const ownSettings: Readonly<Record<string, (settings: Stored) => object>> = {
  [SystemPrompt.settingKey]: SystemPrompt.systemPromptOf,
  [ThinkingBudget.settingKey]: ThinkingBudget.thinkingBudgetOf,
  [PayloadRules.settingKey]: PayloadRules.payloadRulesOf,
  [TaskRouting.taskRoutingKey]: TaskRouting.taskRoutingOf,
  [TaskRouting.backgroundDegradationKey]: TaskRouting.backgroundDegradationOf,
  [MemorySettings.settingKey]: MemorySettings.memoryOf,
  [AutoDisable.settingKey]: AutoDisable.autoDisableOf
}
const own = {
  [SystemPrompt.settingKey]: opt(partial(SystemPrompt.SystemPromptSettings)),
  [ThinkingBudget.settingKey]: opt(partial(ThinkingBudget.ThinkingBudgetSettings)),
  [PayloadRules.settingKey]: opt(partial(PayloadRules.PayloadRules)),
  [TaskRouting.taskRoutingKey]: opt(partial(TaskRouting.TaskRoutingSettings)),
  [TaskRouting.backgroundDegradationKey]: opt(partial(TaskRouting.BackgroundDegradationSettings)),
  [MemorySettings.settingKey]: opt(partial(MemorySettings.MemorySettings)),
  [AutoDisable.settingKey]: opt(partial(AutoDisable.AutoDisableSettings)),
  [FallbackChains.settingKey]: opt(listOf(FallbackChains.ChainInput, FallbackChains.CHAINS))
}

/** They decide what a caller may do, and are never part of a document. */
const guarded: ReadonlySet<string> = new Set([...securitySettings, ...secretSettings, "allowGuardrailOptOut"])

const general = Object.fromEntries(Object.entries(SettingsInput.fields).filter(([name]) => !guarded.has(name))) as typeof SettingsInput.fields
const Settings = Schema.Struct({ ...general, ...own })
const readSettings = Schema.decodeUnknownResult(Settings, { onExcessProperty: "ignore" })

/** Whether a stored setting may stand in a document: some may not, and one of an earlier release may no longer be allowed. */
export const isPortable = (name: string, value: unknown): boolean => Object.hasOwn(Settings.fields, name) && Result.isSuccess(readSettings({ [name]: value }))

const Connection = Schema.Struct({
  /** Steps of combos refer to it. */
  id: text(1, 200), provider: text(1, 100), name: text(1, 200), authType: AuthType, ...connection
})
const Mapping = Schema.Struct({
  pattern: text(1, 500), combo: text(1, 100), priority: opt(integer(-1_000_000_000, 1_000_000_000)), enabled: opt(Schema.Boolean), description: clearable(text(0, 1_000))
})
const record = <S extends Schema.Constraint>(value: S, most: number) => Schema.Record(text(1, 400), value).check(Schema.isMaxProperties(most))

const Document = Schema.Struct({
  format: Schema.Literal(FORMAT),
  version: Schema.Literal(VERSION),
  settings: opt(Settings),
  flags: opt(record(text(1, 100), 500)),
  nodes: opt(listOf(Schema.Struct(node), 500)),
  connections: opt(listOf(Connection, 2_000)),
  models: opt(listOf(ModelInput, 5_000)),
  aliases: opt(record(text(1, 400), 5_000)),
  combos: opt(listOf(NewCombo, 1_000)),
  mappings: opt(listOf(Mapping, 2_000)),
  /** By provider and model. */
  prices: opt(record(record(PriceInput, 5_000), 500))
})
export interface Document extends Schema.Schema.Type<typeof Document> {}

const decode = Schema.decodeUnknownResult(Document, { errors: "all", onExcessProperty: "error" })
const format = SchemaIssue.makeFormatterStandardSchemaV1()
const messages: Readonly<Record<string, string>> = { "Expected no excess property": "Unknown field", "Missing key": "Required" }
/** A document may have thousands of faults. */
const MOST_ISSUES = 100

const issuesOf = (error: Schema.SchemaError): ReadonlyArray<FieldIssue> => {
  const byField = new Map<string, string>()
  for (const { message, path } of format(error.issue).issues) {
    const at = (path ?? []).map((part) => String(typeof part === "object" ? part.key : part)).join(".")
    if (!byField.has(at)) byField.set(at, messages[message] ?? message)
  }
  return Array.from(byField, ([field, message]) => ({ field: field === "" ? "body" : field, message }))
}

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null && Object.hasOwn(value, name) ? (value as Readonly<Record<string, unknown>>)[name] : undefined

/** Settings that no document may change, by their names: the schema would say only that it does not know them. */
const refusedSettings = (body: unknown): ReadonlyArray<FieldIssue> => {
  const settings = memberOf(body, "settings")
  return [...guarded].filter((name) => memberOf(settings, name) !== undefined).map((name) => ({
    field: `settings.${name}`, message: "It decides what callers may do, and no document changes it. Change it with PATCH /api/settings"
  }))
}

/** The document, or what stands in the way. */
export const read = (body: unknown): Result.Result<Document, ReadonlyArray<FieldIssue>> => {
  const refused = refusedSettings(body)
  const decoded = decode(body)
  if (Result.isSuccess(decoded)) return refused.length === 0 ? Result.succeed(decoded.success) : Result.fail(refused)
  const named = new Set(refused.map(({ field }) => field))
  return Result.fail([...refused, ...issuesOf(decoded.failure).filter(({ field }) => !named.has(field))].slice(0, MOST_ISSUES))
}

/** Whether two values say the same. */
export const same = (a: unknown, b: unknown): boolean => JSON.stringify(ordered(a as Schema.Json)) === JSON.stringify(ordered(b as Schema.Json))
