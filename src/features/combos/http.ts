import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { ComboMetrics } from "#src/inference/ports/ComboMetrics.ts"
import { Configuration } from "#actors/ports/Configuration.ts"
import { DocumentStore } from "#actors/ports/Stores.ts"
import * as Acting from "./acting.ts"
import { type Defaults, CombosGroup } from "./api.ts"
import { settingDefaults } from "#schemas/settingDefaults.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import { Strategy } from "#schemas/records/Combo.ts"
import { refuseInert } from "#src/management/acting.ts"
import { answer } from "#src/management/answer.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import { ComboTests } from "./ComboTests.ts"
import * as Drafts from "./Drafts.ts"
import * as ComboLayers from "./ports/comboLayers.ts"
import { StoredCombos } from "./StoredCombos.ts"
import { channelIds, channelOf } from "#src/routing/auto/channel.ts"
import { catalogView } from "#src/routing/models/catalogView.ts"
import { managementCatalog } from "#src/routing/models/modelCatalog.ts"
import * as Surface from "#src/management/Surface.ts"

const success = { success: true as const }

export const layer = HttpApiBuilder.group(Surface.make(CombosGroup), "combos", Effect.fn(function*(handlers) {
  const audit = yield* Audit
  const combos = yield* StoredCombos
  const configuration = yield* Configuration
  const documents = yield* DocumentStore
  const metrics = yield* ComboMetrics
  const tests = yield* ComboTests
  const drafts = yield* Drafts.make

  const setting = (name: string): unknown => configuration.current().settings.get(name) ?? settingDefaults[name]

  const builderOptions = () => {
    const snapshot = configuration.current()
    const catalog = managementCatalog(catalogView(snapshot))
    const providers = Object.entries(catalog).flatMap(([id, owner]) => {
      if (!owner.active) return []
      const connections = snapshot.activeByProvider.get(snapshot.nodeByPrefix.get(id)?.id ?? id) ?? []
      return [{
        id,
        name: owner.provider,
        connections: connections.map(({ defaultModel, id: connectionId, name }) => ({ id: connectionId, name, defaultModel })),
        models: owner.models.map((model) => ({ id: model.id, name: model.name, type: model.type }))
      }]
    })
    return { strategies: Strategy.literals, combos: snapshot.combos.map(({ id, name }) => ({ id, name })), providers }
  }

  const auto = () => ({
    enabled: setting("autoRoutingEnabled") !== false,
    defaultVariant: String(setting("autoRoutingDefaultVariant")),
    variants: channelIds.map((id) => {
      const channel = channelOf(id)
      return {
        id, modePack: channel?.config.modePack ?? null, explorationRate: channel?.config.explorationRate ?? null,
        category: channel?.category ?? null, tier: channel?.tier ?? null
      }
    })
  })

  const layers = () => ComboLayers.shown(configuration.current())

  const changeDefaults = Effect.fn("Combos.changeDefaults")(function*(input: Defaults) {
    const entries = Object.entries(input)
    if (entries.length === 0) return yield* Effect.fail(Refusal.badRequest("No valid fields to update"))
    yield* refuseInert(Acting.layers, input)
    yield* configuration.commit(Effect.gen(function*() {
      const issues = ComboLayers.issuesOf(configuration.current(), input)
      if (issues.length > 0) return yield* Effect.fail(Refusal.invalidFields(issues))
      yield* Effect.forEach(entries, ([name, value]) =>
        value === null ? documents.remove("setting", name)
          : documents.put("setting", name, name === "providerOverrides" ? ComboLayers.stored(configuration.current(), input.providerOverrides ?? {}) : value), { discard: true })
    }))
    yield* audit.note({ action: "settings.updated", resourceType: "settings", details: { changed: entries.map(([name]) => name) } })
    return layers()
  })

  const test = Effect.fn("Combos.test")(function*(name: string) {
    const combo = configuration.current().combos.find((one) => one.name === name)
    if (combo === undefined) return yield* Effect.fail(Refusal.notFound("Combo not found"))
    return { results: yield* tests.run(combo) }
  })

  const reset = Effect.fn("Combos.resetMetrics")(function*(combo: string | undefined) {
    metrics.reset(combo)
    yield* audit.note({ action: "combo.metrics.reset", resourceType: "combo", target: combo ?? null })
    return success
  })

  return handlers.handleAll({
    list: () => Effect.map(combos.list, (all) => ({ combos: all })),
    create: ({ payload }) => answer(combos.create(payload)),
    reorder: ({ payload }) => answer(Effect.map(combos.reorder(payload.comboIds), (ordered) => ({ combos: ordered }))),
    builderOptions: () => Effect.sync(builderOptions),
    auto: () => Effect.sync(auto),
    metrics: ({ query }) => Effect.sync(() => ({ metrics: query.combo === undefined ? metrics.all() : metrics.of(query.combo) })),
    resetMetrics: ({ query }) => answer(reset(query.combo)),
    test: ({ payload }) => answer(test(payload.comboName)),
    explain: ({ payload: { combo, ...asked } }) => answer(drafts.explain(combo, asked)),
    simulate: ({ payload: { combo, ...asked } }) => answer(drafts.simulate(combo, asked)),
    get: ({ params }) => answer(combos.get(params.id)),
    update: ({ params, payload }) => answer(combos.change(params.id, payload)),
    remove: ({ params }) => answer(Effect.as(combos.remove(params.id), success)),
    readDefaults: () => Effect.sync(layers),
    defaults: ({ payload }) => answer(changeDefaults(payload))
  })
}))
