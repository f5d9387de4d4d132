import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { blockedProviders, Configuration, shownProvider } from "#actors/ports/Configuration.ts"
import { CustomModelStore } from "#actors/ports/Stores.ts"
import * as Acting from "#src/features/providers/acting.ts"
import { type ModelInput, ProviderModelsGroup } from "./api.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import type { CustomModel } from "#schemas/records/CustomModel.ts"
import * as ModelFormats from "#src/providers/modelFormats.ts"
import { refuseInert } from "#src/management/acting.ts"
import { answer } from "#src/management/answer.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import { ConnectionTests } from "#src/features/providers/ConnectionTests.ts"
import * as CustomModelRecord from "./customModelRecord.ts"
import { headerIssues } from "#src/features/providers/nodes/nodeRecord.ts"
import { builtin, modelsOf } from "#src/providers/Registry.ts"
import * as Surface from "#src/management/Surface.ts"

export const layer = HttpApiBuilder.group(Surface.make(ProviderModelsGroup), "providerModels", Effect.fn(function*(handlers) {
  const audit = yield* Audit
  const configuration = yield* Configuration
  const store = yield* CustomModelStore
  const tests = yield* ConnectionTests

  const now = Effect.map(Clock.currentTimeMillis, (ms) => new Date(ms).toISOString())

  /** Registry id, or node id for a node id or prefix; else null. */
  const ownerOf = (provider: string): string | null => {
    const snapshot = configuration.current()
    return builtin.byPrefix.get(provider)?.id ??
      (snapshot.nodeById.has(provider) ? provider : snapshot.nodeByPrefix.get(provider)?.id ?? null)
  }
  const owner = (provider: string) => {
    const id = ownerOf(provider)
    return id === null ? Effect.fail(Refusal.invalidField("provider", "No such provider or provider node")) : Effect.succeed(id)
  }
  const shown = (provider: string): string => shownProvider(configuration.current(), provider)
  const view = (model: CustomModel) => CustomModelRecord.view(model, shown(model.provider))
  const isBuiltin = (model: CustomModel): boolean => modelsOf(builtin, model.provider).has(model.modelId)

  const listed = (provider: string | undefined) => {
    const id = provider === undefined ? undefined : ownerOf(provider) ?? provider
    const own = configuration.current().customModels.filter((model) => id === undefined || model.provider === id)
    return {
      models: own.filter((model) => !isBuiltin(model)).map(view),
      modelCompatOverrides: Object.fromEntries(own.filter(isBuiltin).map((model) => [`${model.provider}/${model.modelId}`, view(model)]))
    }
  }

  const find = (provider: string, modelId: string): CustomModel | undefined =>
    configuration.current().customModels.find((model) => model.provider === provider && model.modelId === modelId)

  /** `check`: what must hold when the model is written. */
  const save = Effect.fnUntraced(function*(input: ModelInput, provider: string, check: Effect.Effect<void, Refusal.Refusal> = Effect.void) {
    yield* refuseInert(Acting.customModel, input)
    const issues = CustomModelRecord.headersIn(input).flatMap(([field, headers]) => headerIssues(field, headers))
    if (issues.length > 0) return yield* Effect.fail(Refusal.invalidFields(issues))
    const at = yield* now
    // Read inside the commit: one writer at a time, so that changes of different fields are all kept.
    const model = yield* configuration.commit(Effect.gen(function*() {
      yield* check
      const standing = find(provider, input.modelId) ?? CustomModelRecord.emptyModel(provider, input.modelId, at)
      const next = CustomModelRecord.apply(standing, { ...input, provider }, at)
      yield* store.upsert(next)
      return next
    }))
    yield* audit.note({ action: "provider.model.saved", target: `${shown(provider)}/${input.modelId}`, resourceType: "provider-model" })
    return model
  })

  const add = Effect.fn("ProviderModels.add")(function*(input: ModelInput) {
    return { model: view(yield* save(input, yield* owner(input.provider))) }
  })

  const update = Effect.fn("ProviderModels.update")(function*(input: ModelInput) {
    const provider = yield* owner(input.provider)
    const overrides = modelsOf(builtin, provider).has(input.modelId)
    const isThere = Effect.suspend(() => overrides || find(provider, input.modelId) !== undefined ? Effect.void : Effect.fail(Refusal.notFound("Model not found")))
    yield* isThere
    const model = yield* save(input, provider, isThere)
    return overrides ? { ok: true as const, modelCompatOverrides: listed(provider).modelCompatOverrides } : { model: view(model) }
  })

  const hide = Effect.fn("ProviderModels.hide")(function*(providerId: string, ids: ReadonlyArray<string>, isHidden: boolean) {
    const provider = yield* owner(providerId)
    if (ids.length === 0) return yield* Effect.fail(Refusal.invalidField("modelIds", "Name a model: modelId in the query or modelIds in the body"))
    const at = yield* now
    yield* configuration.commit(Effect.forEach(ids, (id) =>
      store.upsert({ ...(find(provider, id) ?? CustomModelRecord.emptyModel(provider, id, at)), isHidden, updatedAt: at }), { discard: true }))
    return { ok: true as const, updated: ids.length, ...listed(provider) }
  })

  const remove = Effect.fn("ProviderModels.remove")(function*(query: { readonly provider: string; readonly model?: string; readonly all?: string }) {
    const provider = ownerOf(query.provider) ?? query.provider
    if (query.all === "true") {
      yield* configuration.commit(store.removeAll(provider))
      return { cleared: true }
    }
    if (query.model === undefined) return yield* Effect.fail(Refusal.invalidField("model", "Name a model, or all=true"))
    const removed = yield* configuration.commit(store.remove(provider, query.model))
    if (!removed) return yield* Effect.fail(Refusal.notFound("Model not found"))
    yield* audit.note({ action: "provider.model.removed", target: `${shown(provider)}/${query.model}`, resourceType: "provider-model" })
    return { removed }
  })

  const validateAndAdd = Effect.fn("ProviderModels.validateAndAdd")(function*(input: ModelInput) {
    yield* refuseInert(Acting.customModel, input)
    const provider = yield* owner(input.provider)
    if (blockedProviders(configuration.current()).has(provider)) return yield* Effect.fail(Refusal.badRequest("The provider is blocked (setting blockedProviders)"))
    const connection = configuration.current().activeByProvider.get(provider)?.[0]
    if (connection === undefined) return yield* Effect.fail(Refusal.badRequest("The provider has no active connection to ask"))
    const result = yield* tests.probe(connection, { model: input.modelId, wants: "chat", family: ModelFormats.of({ targetFormat: input.targetFormat ?? null, extra: {} })?.family ?? null })
    if (!result.valid) return yield* Effect.fail(Refusal.badRequest(result.diagnosis?.message ?? "The upstream refused the model"))
    return { model: view(yield* save(input, provider)) }
  })

  return handlers.handleAll({
    list: ({ query }) => Effect.sync(() => listed(query.provider)),
    create: ({ payload }) => answer(add(payload)),
    update: ({ payload }) => answer(update(payload)),
    hide: ({ payload, query }) =>
      answer(hide(query.provider, payload.modelIds ?? (query.modelId === undefined ? [] : [query.modelId]), payload.isHidden)),
    remove: ({ query }) => answer(remove(query)),
    validateAndAdd: ({ payload }) => answer(validateAndAdd(payload))
  })
}))
