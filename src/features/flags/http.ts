import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { Configuration } from "#actors/ports/Configuration.ts"
import { Flags } from "#actors/ports/Flags.ts"
import { DocumentStore } from "#actors/ports/Stores.ts"
import { type FlagView, FeatureFlagsGroup } from "./api.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import * as FlagCatalogue from "#schemas/flagCatalogue.ts"
import { refuseInertFlag } from "#src/management/acting.ts"
import { answer } from "#src/management/answer.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import * as SingleSignOn from "#src/management/authentication/singleSignOn.ts"
import { ownerOf, refuseOwned } from "#src/management/ownership/ownership.ts"
import * as Surface from "#src/management/Surface.ts"

const KIND = "flag"

/** A boolean that is on, or an enum whose value is neither `off` nor `disabled`. */
const isActive = (flag: FlagView): boolean =>
  flag.type === "boolean" ? FlagCatalogue.isTruthy(flag.effectiveValue) : flag.effectiveValue !== "off" && flag.effectiveValue !== "disabled"

export const layer = HttpApiBuilder.group(Surface.make(FeatureFlagsGroup), "featureFlags", Effect.fn(function*(handlers) {
  const audit = yield* Audit
  const configuration = yield* Configuration
  const documents = yield* DocumentStore
  const flags = yield* Flags

  const view = ({ lacks, ...definition }: (typeof FlagCatalogue.catalogue)[number]): FlagView => ({
    ...definition,
    effectiveValue: flags.value(definition.key),
    source: flags.source(definition.key),
    acts: lacks === null,
    owner: ownerOf(configuration.current(), "flag", definition.key)
  })

  const list = Effect.sync(() => {
    const views = FlagCatalogue.catalogue.map(view)
    const active = views.filter(isActive).length
    return {
      flags: views,
      summary: {
        total: views.length,
        active,
        inactive: views.length - active,
        overriddenByDb: views.filter((flag) => flag.source === "db").length,
        overriddenByEnv: views.filter((flag) => flag.source === "env").length
      }
    }
  })

  const set = Effect.fn("FeatureFlags.set")(function*(key: string, text: string | undefined) {
    const definition = FlagCatalogue.byKey.get(key)
    if (definition === undefined) return yield* Effect.fail(Refusal.invalidField("key", "No such feature flag"))
    yield* refuseOwned(configuration.current(), "flag", key)
    const value = text === undefined ? undefined : FlagCatalogue.read(definition, text)
    if (value === null) return yield* Effect.fail(Refusal.invalidField("value", `${definition.key} takes ${FlagCatalogue.expects(definition)}`))
    if (value !== undefined) yield* refuseInertFlag(definition, value)
    const previousValue = flags.value(definition.key)
    const previousSource = flags.source(definition.key)
    yield* configuration.commit(Effect.gen(function*() {
      // Read under the writer's lock: the settings that it rests on cannot change meanwhile.
      const missing = key === SingleSignOn.FLAG && value !== undefined && FlagCatalogue.isTruthy(value)
        ? SingleSignOn.missingIn(configuration.current().settings)
        : null
      if (missing !== null) return yield* Effect.fail(Refusal.invalidField("value", `${key} would leave no way in. ${missing}`))
      yield* value === undefined ? documents.remove(KIND, key) : documents.put(KIND, key, value)
    }))
    yield* audit.note({
      action: value === undefined ? "flag.cleared" : "flag.set",
      target: key,
      resourceType: "feature-flag",
      details: { previousValue, value: value ?? null }
    })
    return {
      key,
      effectiveValue: flags.value(definition.key),
      source: flags.source(definition.key),
      previousValue,
      previousSource,
      requiresRestart: definition.requiresRestart
    }
  })

  const clear = Effect.gen(function*() {
    const overrides = [...(yield* documents.list(KIND)).keys()].filter((key) => ownerOf(configuration.current(), "flag", key) === "database")
    const cleared = (yield* configuration.commit(Effect.forEach(overrides, (key) => documents.remove(KIND, key)))).filter(Boolean).length
    yield* audit.note({ action: "flag.cleared", resourceType: "feature-flag", details: { cleared } })
    return { cleared, message: cleared === 1 ? "1 override removed" : `${cleared} overrides removed` }
  })

  return handlers.handleAll({
    list: () => list,
    set: ({ payload }) => answer(set(payload.key, payload.value)),
    clear: () => answer(clear)
  })
}))
