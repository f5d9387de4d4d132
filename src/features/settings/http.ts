import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import type * as Schema from "effect/Schema"
import { Configuration } from "#actors/ports/Configuration.ts"
import { Flags } from "#actors/ports/Flags.ts"
import { DocumentStore } from "#actors/ports/Stores.ts"
import * as Acting from "./acting.ts"
import { ManagementCall } from "#schemas/api/Management.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import { ownPaths, secretSettings, type SettingsChange, SettingsGroup } from "./api.ts"
import { modelLockoutDefaults } from "#schemas/records/ResilienceSettings.ts"
import { settingDefaults } from "#schemas/settingDefaults.ts"
import { refuseInert } from "#src/management/acting.ts"
import { answer } from "#src/management/answer.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import { ManagementOptions } from "#src/management/ManagementOptions.ts"
import { Password } from "#src/management/authentication/Password.ts"
import { PasswordGate } from "#src/management/authentication/PasswordGate.ts"
import * as SingleSignOn from "#src/management/authentication/singleSignOn.ts"
import { scopeRank } from "#actors/keys/scopes.ts"
import { callerRank } from "#src/management/authentication/rights.ts"
import * as Surface from "#src/management/Surface.ts"
import * as GeneralSettings from "#src/features/settings/ports/generalSettings.ts"

const KIND = "setting"
/** Documents of this kind are sealed by their store, and no list of settings shows them. */
const SECRET_KIND = "secret"
/** Settings with a meaning of their own: some have their own paths, one the gateway writes itself. */
const unlisted: ReadonlySet<string> = new Set([...ownPaths, SingleSignOn.PROOF, ...secretSettings])

export const layer = HttpApiBuilder.group(Surface.make(SettingsGroup), "settings", Effect.fn(function*(handlers) {
  const audit = yield* Audit
  const configuration = yield* Configuration
  const documents = yield* DocumentStore
  const gate = yield* PasswordGate
  const options = yield* ManagementOptions
  const password = yield* Password
  const flags = yield* Flags

  const view = Effect.gen(function*() {
    const stored = GeneralSettings.named(configuration.current())
    const hidden = yield* documents.list(SECRET_KIND)
    const hasPassword = yield* password.exists
    const secretsSet = Object.fromEntries(Array.from(secretSettings, (name) => [`${name}Set`, hidden.has(name)]))
    return {
      ...settingDefaults,
      ...Object.fromEntries(Object.entries(stored).filter(([name]) => !unlisted.has(name))),
      ...GeneralSettings.waits(configuration.current()),
      modelLockout: { ...modelLockoutDefaults, ...GeneralSettings.isRecord(stored["modelLockout"]) ? stored["modelLockout"] : {} },
      ...secretsSet,
      hasPassword,
      // INITIAL_PASSWORD completes the setup, too, without a stored setting.
      setupComplete: hasPassword || stored["setupComplete"] === true,
      runtimePorts: { api: options.port, dashboard: options.port },
      apiPort: options.port,
      dashboardPort: options.port,
      cloudConfigured: typeof stored["cloudUrl"] === "string" && stored["cloudUrl"] !== "",
      cloudUrl: stored["cloudUrl"] ?? null,
      machineId: options.machineId
    }
  })

  const store = (name: string, value: Schema.Json) => {
    if (!secretSettings.has(name)) return value === null ? documents.remove(KIND, name) : documents.put(KIND, name, value)
    return typeof value === "string" && value !== ""
      ? documents.put(SECRET_KIND, name, value)
      : documents.remove(SECRET_KIND, name)
  }

  const change = Effect.fn("Settings.change")(function*(input: SettingsChange) {
    const { currentPassword, keepTokens = false, newPassword, ...settings } = input
    const entries = Object.entries(settings as Readonly<Record<string, Schema.Json>>)
    if (entries.length === 0 && newPassword === undefined) return yield* Effect.fail(Refusal.badRequest("No valid fields to update"))
    const { caller } = yield* ManagementCall
    const guarded = newPassword === undefined ? entries.find(([name]) => GeneralSettings.securitySettings.has(name))?.[0] : "newPassword"
    if (guarded !== undefined && callerRank(caller) < scopeRank(["admin"])) {
      return yield* Effect.fail(Refusal.forbidden(`Changing ${guarded} needs a dashboard session or scope admin`))
    }
    yield* refuseInert(Acting.settings, settings)
    // What it was before lets an operator take the change back; documents are too large for a line of the audit.
    const known = new Map([...configuration.current().settings, ...Object.entries(GeneralSettings.waits(configuration.current()))])
    const before: Readonly<Record<string, Schema.Json>> = Object.fromEntries(entries.flatMap(([name]) => {
      if (secretSettings.has(name)) return []
      const value = (known.get(name) ?? (settingDefaults as Readonly<Record<string, unknown>>)[name] ?? null) as Schema.Json
      return typeof value === "object" && value !== null ? [] : [[name, value] as const]
    }))
    const passwordChange = newPassword === undefined ? null : yield* gate.replace({ next: newPassword, current: currentPassword, keepTokens })
    if (entries.length > 0) {
      yield* configuration.commit(Effect.gen(function*() {
        const issuesInside = GeneralSettings.issuesIn(configuration.current(), settings)
        const before = configuration.current().settings
        const issues = [...issuesInside, ...SingleSignOn.issuesOf(before, new Map([...before, ...entries]), entries.map(([name]) => name), flags.isOn(SingleSignOn.FLAG))]
        if (issues.length > 0) return yield* Effect.fail(Refusal.invalidFields(issues))
        const beside = GeneralSettings.beside(configuration.current(), entries.map(([name]) => name))
        yield* Effect.forEach([...entries, ...beside], ([name, value]) => Effect.suspend(() => store(name, GeneralSettings.whole(configuration.current(), name, value))), { discard: true })
      }))
      yield* audit.note({ action: "settings.updated", resourceType: "settings", details: { changed: entries.map(([name]) => name), before } })
    }
    return { ...yield* view, ...(passwordChange === null ? {} : { passwordChange }) }
  })

  return handlers.handleAll({
    get: () => answer(view),
    put: ({ payload }) => answer(change(payload)),
    patch: ({ payload }) => answer(change(payload))
  })
}))
