import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, reads, writes } from "#schemas/api/Access.ts"
import * as Issuer from "#schemas/api/issuer.ts"
import * as Origins from "#schemas/api/origins.ts"
import { Document, integer, listOf, text } from "#schemas/api/fields.ts"
import { ComboConfig, TargetConfig } from "#schemas/records/Combo.ts"
import { CustomAgents } from "#schemas/agents/CustomAgent.ts"
import { ModelLockoutChange } from "#schemas/records/ResilienceSettings.ts"
import { PASSWORD_MAXIMUM, PASSWORD_MINIMUM } from "#schemas/passwordLength.ts"
import { settingKey as addressFilter } from "#schemas/AddressFilter.ts"
import { settingKey as databaseSettings } from "#schemas/upkeep/DatabaseSettings.ts"
import { settingKey as pipelines } from "#schemas/words/CompressionPipeline.ts"
import * as InlineImage from "#schemas/words/InlineImage.ts"
import { comboModes, languages, type ScreenName, screenNames, themes } from "#schemas/words/Screens.ts"
import { SystemTransforms } from "#schemas/instructions/SystemTransforms.ts"
import { forgottenKey } from "#schemas/words/LastGood.ts"
import { settingKey as fallbackChains } from "#schemas/words/FallbackChains.ts"

const opt = Schema.optionalKey
const flag = opt(Schema.Boolean)
const words = opt(listOf(text(1, 200), 500))
const nullableText = (maximum: number) => opt(Schema.NullOr(text(0, maximum)))

const webAddress = opt(Schema.NullOr(text(0, 500).check(Schema.makeFilter((url: string) => url === "" || /^https?:\/\/[^\s/?#@]+(\/[^\s?#]*)?$/.test(url) || "an http or https URL"))))

const PICTURE_MAXIMUM = 500_000
/** A picture of the dashboard as a `data:` URL. */
const picture = opt(Schema.NullOr(text(0, PICTURE_MAXIMUM).check(Schema.makeFilter((url: string) => url === "" || (InlineImage.problemOf(url, PICTURE_MAXIMUM) ?? true)))))

/** Settings an operator may store, each with its range. */
export const SettingsInput = Schema.Struct({
  requireLogin: flag,
  setupComplete: flag,
  /** Of the dashboard, where a browser chose none. */
  theme: opt(Schema.NullOr(Schema.Literals(["", ...themes]))),
  language: opt(Schema.NullOr(text(0, 10).check(Schema.makeFilter((language: string) => language === "" || languages.some((each) => each === language) || `${languages.join(", ")}: the dashboard has no other language`)))),
  instanceName: nullableText(100),
  /** Origins whose pages may read answers of the inference surface, and call it without a key where none is required. */
  corsOrigins: opt(Schema.NullOr(text(0, 500).check(Schema.makeFilter((list: string) =>
    Origins.parse(list) !== null || "origins such as https://chat.example.com, separated by commas; * is none")))),
  /** How others reach this gateway; GATEWAY_PUBLIC_URL goes before it. */
  baseUrl: webAddress,
  /** The gateway that this one follows. */
  cloudUrl: webAddress,
  customLogoUrl: picture,
  customFaviconUrl: picture,
  cloudEnabled: flag,
  stickyRoundRobinLimit: opt(integer(0, 1000)),
  requestRetry: opt(integer(0, 10)),
  maxRetryIntervalSec: opt(integer(0, 300)),
  fallbackStrategy: opt(Schema.Literals([
    "priority", "weighted", "fill-first", "round-robin", "p2c", "random", "least-used", "cost-optimized", "strict-random"
  ])),
  wildcardAliases: opt(listOf(Schema.Struct({ pattern: text(1, 500), target: text(1, 400) }), 500)),
  blockedProviders: words,
  /** Patterns of tools' names that TOOL_POLICY_MODE looks for in requests. */
  deniedTools: opt(listOf(text(1, 100), 100)),
  /** Words of an upstream by which it says that an account is banned. */
  customBannedSignals: opt(listOf(text(3, 200), 500)),
  bruteForceProtection: flag,
  mcpEnabled: flag,
  mcpTransport: opt(Schema.Literals(["stdio", "sse", "streamable-http"])),
  a2aEnabled: flag,
  wsAuth: flag,
  maxBodySizeMb: opt(integer(1, 512)),
  comboConfigMode: opt(Schema.Literals(comboModes)),
  comboDefaults: opt(ComboConfig),
  providerOverrides: opt(Schema.Record(Schema.String, TargetConfig)),
  comboAutoPromoteEnabled: flag,
  sessionAffinityTtlMs: opt(integer(0, 86_400_000)),
  responsesPreviousResponseIdMode: opt(Schema.NullOr(Schema.Literals(["auto", "keep", "strip"]))),
  alwaysPreserveClientCache: opt(Schema.Literals(["auto", "always", "never"])),
  idempotencyWindowMs: opt(integer(0, 600_000)),
  autoRefreshProviderQuota: flag,
  autoRefreshProviderQuotaInterval: opt(integer(10, 86_400)),
  intentDetectionEnabled: flag,
  intentSimpleMaxWords: opt(integer(1, 500)),
  intentExtraCodeKeywords: words,
  intentExtraReasoningKeywords: words,
  intentExtraSimpleKeywords: words,
  autoRoutingEnabled: flag,
  autoRoutingDefaultVariant: opt(Schema.Literals(["lkgp", "coding", "fast", "cheap", "offline", "smart", "chaos"])),
  lkgpEnabled: flag,
  modelLockout: opt(ModelLockoutChange),
  stripModelPrefix: flag,
  cliCompatProviders: words,
  systemTransforms: opt(SystemTransforms),
  /** Tokens added to the prompt tokens that clients are told of. */
  usageTokenBuffer: opt(integer(0, 50_000)),
  skillsProvider: opt(Schema.Literals(["skillsmp", "skillssh"])),
  proxyEnabled: flag,
  perKeyProxyEnabled: flag,
  enableSocks5Proxy: flag,
  localOnlyManageScopeBypassEnabled: flag,
  localOnlyManageScopeBypassPrefixes: words,
  customSystemPromptEnabled: flag,
  customSystemPrompt: opt(text(0, 50_000)),
  allowGuardrailOptOut: flag,
  modalityBridgeEnabled: flag,
  /** Pictures are described for models that cannot take them. */
  visionBridgeEnabled: flag,
  visionBridgeModel: nullableText(400),
  visionBridgePrompt: nullableText(4_000),
  /** ms for one description; 0 = 30000. */
  visionBridgeTimeout: opt(integer(0, 600_000)),
  /** Pictures of a request that are described; 0 = 10. */
  visionBridgeMaxImages: opt(integer(0, 100)),
  debugMode: flag,
  /** The log says which tools each conversation offers, and where they come from. */
  logToolSources: flag,
  /** Bodies of calls are kept, for GET /api/usage/call-logs/{id}/bodies. */
  callLogBodies: flag,
  /** Part of the requests whose bodies are kept, 0 to 1. */
  callLogBodyShare: opt(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))),
  /** Kilobytes of one body; the rest is cut. */
  callLogBodyMaxKb: opt(integer(1, 1_024)),
  /** Megabytes of all of them, sealed; the oldest go first. */
  callLogBodyTotalMb: opt(integer(1, 1_000_000)),
  /** Hours that they are kept. */
  callLogBodyHours: opt(integer(1, 8_760)),
  hiddenSidebarItems: opt(listOf(Schema.Literals(screenNames), 500)),
  hideHealthCheckLogs: flag,
  customAgents: opt(CustomAgents),
  oidcEnabled: flag,
  /** As its tokens name it, to the letter. */
  oidcIssuer: opt(Schema.NullOr(text(0, 500).check(Schema.makeFilter((issuer: string) => issuer === "" || (Issuer.problemOf(issuer) ?? true))))),
  oidcClientId: nullableText(500),
  /** Written, never read back. */
  oidcClientSecret: nullableText(2000),
  /** Subjects (`sub` of the id_token) that may sign in; an empty list admits no one. */
  oidcAllowedSubjects: opt(listOf(text(1, 255), 500)),
  modelsDevSyncEnabled: flag,
  modelsDevSyncInterval: opt(integer(60, 2_592_000))
}).annotate({ identifier: "SettingsChange" })
export type { ScreenName }
export interface SettingsInput extends Schema.Schema.Type<typeof SettingsInput> {}

/** Stored as settings, and read and changed by paths of their own. */
export const ownPaths: ReadonlyArray<string> = [addressFilter, databaseSettings, pipelines, fallbackChains, forgottenKey]

/** Settings that are sealed at rest and absent from every reply. */
export const secretSettings: ReadonlySet<string> = new Set(["oidcClientSecret"])

const payload = Schema.Struct({
  ...SettingsInput.fields,
  newPassword: opt(text(PASSWORD_MINIMUM, PASSWORD_MAXIMUM)),
  currentPassword: opt(text(1, 200)),
  /** With a new password: access tokens that were minted with the old one stay; absent = they are revoked. */
  keepTokens: flag
}).annotate({ identifier: "SettingsDocument" })
export interface SettingsChange extends Schema.Schema.Type<typeof payload> {}

const change = { payload, success: Document }

/** General settings, readable and changeable as one JSON document. */
export const SettingsGroup = HttpApiGroup.make("settings").add(
  HttpApiEndpoint.get("get", "/api/settings", { success: Document })
    .annotate(Access, reads).annotate(OpenApi.Summary, "All settings over their defaults"),
  HttpApiEndpoint.put("put", "/api/settings", change)
    .annotate(Access, writes).annotate(OpenApi.Summary, "As PATCH"),
  HttpApiEndpoint.patch("patch", "/api/settings", change)
    .annotate(Access, writes).annotate(OpenApi.Summary, "Merge settings; a new password needs the current one")
).annotateMerge(OpenApi.annotations({ title: "Settings", description: "General settings." }))
