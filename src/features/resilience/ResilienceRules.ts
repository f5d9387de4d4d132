/** The rules of breakers, cooldowns and queues as operators read and change them: by names of providers, checked, and audited. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Configuration, shownKeys } from "#actors/ports/Configuration.ts"
import { Flags } from "#actors/ports/Flags.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { DocumentStore } from "#actors/ports/Stores.ts"
import type { ManagementCall } from "#schemas/api/Management.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import type { ResilienceChange } from "#schemas/records/ResilienceSettings.ts"
import { breakerRows } from "#src/features/resilience/ports/breakerRows.ts"
import * as OlderNames from "#src/features/resilience/ports/olderNames.ts"
import { ResilienceControl } from "#src/features/resilience/ports/ResilienceControl.ts"
import * as ResilienceSettings from "#src/features/resilience/ports/resilienceSettings.ts"
import { refuseInert } from "#src/management/acting.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import { knownProvider, unknownProvider } from "#src/management/knownProvider.ts"
import * as Acting from "./acting.ts"
import type { ResilienceView } from "./api.ts"

export class ResilienceRules extends Context.Service<ResilienceRules, {
  /** The rules in force, and the breakers of this moment. */
  readonly view: Effect.Effect<ResilienceView>
  /** Changes the named members only; null takes one away. */
  readonly patch: (change: ResilienceChange) => Effect.Effect<void, Refusal.Refusal | StoreError, ManagementCall>
}>()("gateway/http/ResilienceRules") {}

const KIND = "setting"

/** Rules over several fields, checked on the effective values after the change. */
const issuesOf = (change: ResilienceChange): ReadonlyArray<Refusal.FieldIssue> => {
  const { providerBreaker, providerCooldown } = ResilienceSettings.effective(change)
  const issues: Array<Refusal.FieldIssue> = []
  for (const profile of ["oauth", "apikey", "local"] as const) {
    const { degradationThreshold, failureThreshold } = providerBreaker[profile]
    if (failureThreshold > 1 && degradationThreshold >= failureThreshold) {
      issues.push({ field: `providerBreaker.${profile}.degradationThreshold`, message: `Expected less than failureThreshold (${failureThreshold})` })
    }
  }
  if (providerCooldown.minMs > providerCooldown.maxMs) issues.push({ field: "providerCooldown.minMs", message: "Expected at most maxMs" })
  return issues
}

export const make = Effect.gen(function*() {
  const audit = yield* Audit
  const configuration = yield* Configuration
  const control = yield* ResilienceControl
  const documents = yield* DocumentStore
  const flags = yield* Flags

  const providerOf = (text: string): string => knownProvider(configuration.current(), text) ?? text

  /** Names that an operator gives are stored as ids, and ids are shown as names. */
  const byId = (change: ResilienceChange): ResilienceChange => ResilienceSettings.renamed(change, (records) =>
    Object.fromEntries(Object.entries(records).map(([name, value]) => [providerOf(name), value])))
  const byName = <A extends ResilienceChange>(settings: A): A => ResilienceSettings.renamed(settings, (records) => shownKeys(configuration.current(), records))

  const view = Effect.map(Clock.currentTimeMillis, (now): ResilienceView => ({
    ...byName(control.settings()),
    streamRecovery: {
      enabled: flags.isOn("STREAM_RECOVERY_ENABLED"),
      midStream: flags.isOn("STREAM_RECOVERY_MIDSTREAM_ENABLED"),
      toolCallSafe: flags.isOn("STREAM_RECOVERY_TOOLCALL_ORDER_FIX"),
      earlyEofSibling: flags.isOn("STREAM_EARLY_EOF_SIBLING_FAILOVER_ENABLED")
    },
    legacy: OlderNames.shown(control.settings()),
    breakers: breakerRows(control, configuration.current(), now)
  }))

  /** Providers that do not exist; what is stored of one that is gone can be taken away. */
  const strangersIn = ({ providerQuotaOverrides = {}, quotaPreflight }: ResilienceChange): ReadonlyArray<Refusal.FieldIssue> => {
    const of = (field: string, records: Readonly<Record<string, unknown>>) => Object.entries(records).flatMap(([name, value]) =>
      value === null || knownProvider(configuration.current(), name) !== null ? [] : [{ field: `${field}.${name}`, message: unknownProvider(name) }])
    return [...of("providerQuotaOverrides", providerQuotaOverrides), ...of("quotaPreflight.providerWindowDefaults", quotaPreflight?.providerWindowDefaults ?? {})]
  }

  const patch = Effect.fn("Resilience.patch")(function*(asked: ResilienceChange) {
    const change = byId(asked)
    const names = Object.keys(change)
    if (names.length === 0) return yield* Effect.fail(Refusal.badRequest("No valid fields to update"))
    yield* refuseInert(Acting.resilience, change)
    yield* configuration.commit(Effect.gen(function*() {
      const unknown = strangersIn(asked)
      if (unknown.length > 0) return yield* Effect.fail(Refusal.invalidFields(unknown))
      // Read again under the writer's lock: two changes at once must both stand.
      const merged = ResilienceSettings.merge(ResilienceSettings.storedChange(configuration.current()) as Readonly<Record<string, unknown>>, change as Readonly<Record<string, unknown>>)
      const issues = issuesOf(merged as ResilienceChange)
      if (issues.length > 0) return yield* Effect.fail(Refusal.invalidFields(issues))
      yield* documents.put(KIND, ResilienceSettings.settingKey, merged)
      yield* Effect.forEach(OlderNames.saidBy(change), (name) => documents.remove(KIND, name), { discard: true })
    }))
    yield* audit.note({ action: "resilience.updated", resourceType: "resilience", details: { changed: names } })
  })

  return ResilienceRules.of({ view, patch })
})

export const layer = Layer.effect(ResilienceRules, make)
