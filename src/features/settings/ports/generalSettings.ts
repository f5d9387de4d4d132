/** General settings between their store and the names that operators give. Pure. */
import type * as Schema from "effect/Schema"
import { blockedProviders, shownKeys, shownProvider, type Snapshot } from "#actors/ports/Configuration.ts"
import type * as Refusal from "#schemas/api/Refusal.ts"
import * as Acting from "#src/features/settings/acting.ts"
import type { TargetConfig } from "#schemas/records/Combo.ts"
import * as ComboLayers from "#src/features/combos/ports/comboLayers.ts"
import { secretSettings, SettingsInput } from "#src/features/settings/api.ts"
import { modelLockoutDefaults } from "#schemas/records/ResilienceSettings.ts"
import * as OlderNames from "#src/features/resilience/ports/olderNames.ts"
import * as ResilienceSettings from "#src/features/resilience/ports/resilienceSettings.ts"
import { inertIssues } from "#src/management/acting.ts"
import { knownProvider, unknownProvider } from "#src/management/knownProvider.ts"

/** Settings that decide about access: a weaker credential must not widen its own access. */
export const securitySettings: ReadonlySet<string> = new Set([
  "requireLogin", "setupComplete", "bruteForceProtection", "wsAuth", "localOnlyManageScopeBypassEnabled", "localOnlyManageScopeBypassPrefixes",
  "oidcEnabled", "oidcIssuer", "oidcClientId", "oidcClientSecret", "oidcAllowedSubjects", "corsOrigins", "callLogBodies",
  // Another gateway decides about records.
  "baseUrl", "cloudUrl", "cloudEnabled",
  // The gateway runs their programs.
  "customAgents"
])
export const isRecord = (value: Schema.Json | undefined): value is Record<string, Schema.Json> => typeof value === "object" && value !== null && !Array.isArray(value)

/** Where settings have providers as keys. */
const byProvider = [[ResilienceSettings.settingKey, "providerQuotaOverrides"], [ResilienceSettings.settingKey, "quotaPreflight", "providerWindowDefaults"], [ResilienceSettings.limitsKey, "perProvider"]] as const

/** What is stored, with the names of providers in place of their ids. */
export const named = (snapshot: Snapshot): Record<string, Schema.Json> => {
  const at = (value: Schema.Json | undefined, path: ReadonlyArray<string>): Schema.Json | undefined => {
    const [name, ...rest] = path
    if (!isRecord(value)) return value
    if (name === undefined) return shownKeys(snapshot, value)
    const member = at(value[name], rest)
    return member === undefined ? value : { ...value, [name]: member }
  }
  const shown = byProvider.reduce((stored, path) => at(stored, path) as Record<string, Schema.Json>, Object.fromEntries(snapshot.settings) as Record<string, Schema.Json>)
  return {
    ...shown,
    ...(shown["blockedProviders"] === undefined ? {} : { blockedProviders: Array.from(blockedProviders(snapshot), (id) => shownProvider(snapshot, id)) }),
    ...(shown["providerOverrides"] === undefined ? {} : { providerOverrides: ComboLayers.shown(snapshot).providerOverrides as Schema.Json })
  }
}

/** A first lockout that is longer than the longest would never be as long as it says. */
const lockoutIssues = (snapshot: Snapshot, { modelLockout }: SettingsInput): ReadonlyArray<Refusal.FieldIssue> => {
  if (modelLockout === undefined) return []
  const { baseCooldownMs, maxCooldownMs }: typeof modelLockoutDefaults = {
    ...modelLockoutDefaults, ...whole(snapshot, "modelLockout", modelLockout as Schema.Json) as Partial<typeof modelLockoutDefaults>
  }
  return baseCooldownMs <= maxCooldownMs ? [] : [{ field: "modelLockout.baseCooldownMs", message: `Expected at most maxCooldownMs (${maxCooldownMs})` }]
}

/** A bridge needs a model that describes. */
const bridgeIssues = ({ settings: stored }: Snapshot, { visionBridgeEnabled, visionBridgeModel }: SettingsInput): ReadonlyArray<Refusal.FieldIssue> => {
  if (visionBridgeEnabled === undefined && visionBridgeModel === undefined) return []
  const model = visionBridgeModel === undefined ? stored.get("visionBridgeModel") : visionBridgeModel
  const isModel = typeof model === "string" && model.trim() !== ""
  return isModel || (visionBridgeEnabled ?? stored.get("visionBridgeEnabled")) !== true ? []
    : [{ field: "visionBridgeModel", message: "Expected the id of a model or combo that takes pictures, because visionBridgeEnabled is on" }]
}

/** What of a change is refused: names that name nothing, and limits that contradict each other. A name that is gone may stay. */
export const issuesIn = (snapshot: Snapshot, settings: SettingsInput): ReadonlyArray<Refusal.FieldIssue> => {
  const stored = blockedProviders(snapshot)
  const blocked = (settings.blockedProviders ?? []).flatMap((name, index) =>
    knownProvider(snapshot, name) === null && !stored.has(name) ? [{ field: `blockedProviders.${index}`, message: unknownProvider(name) }] : [])
  return [...blocked, ...bridgeIssues(snapshot, settings), ...ComboLayers.issuesOf(snapshot, settings), ...lockoutIssues(snapshot, settings)]
}

/** As it is stored: providers by id; members of the lockout's rules that are not given stay as they are. */
export const whole = (snapshot: Snapshot, name: string, value: Schema.Json): Schema.Json => {
  if (name === "providerOverrides" && isRecord(value)) return ComboLayers.stored(snapshot, value as Readonly<Record<string, TargetConfig>>) as Schema.Json
  if (name === "blockedProviders" && Array.isArray(value)) return [...new Set(value.map((one) => knownProvider(snapshot, String(one)) ?? one))]
  const standing = snapshot.settings.get(name) as Schema.Json | undefined
  return name === "modelLockout" && isRecord(value) && isRecord(standing) ? { ...standing, ...value } : value
}

/** `requestRetry` and `maxRetryIntervalSec` as they act: `PATCH /api/resilience` has newer names for them. */
export const waits = (snapshot: Snapshot): Readonly<Record<string, Schema.Json>> => OlderNames.shown(ResilienceSettings.of(snapshot).settings)

/** What must be stored beside a change of these settings, by name: the section of resilience gives way to an older name that is newer. */
export const beside = (snapshot: Snapshot, names: ReadonlyArray<string>): ReadonlyArray<readonly [name: string, value: Schema.Json]> => {
  const change = OlderNames.without(ResilienceSettings.storedChange(snapshot), names)
  return change === null ? [] : [[ResilienceSettings.settingKey, change as unknown as Schema.Json]]
}

export { secretSettings, SettingsInput }

/** Fields that do not act. */
export const inertOf = (input: object): ReadonlyArray<Refusal.FieldIssue> => inertIssues(Acting.settings, input)
