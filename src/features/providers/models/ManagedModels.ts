/** Custom models, and the operator's overrides of built-in ones: how they are listed, made, changed, hidden and removed. Each change is in the audit log. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { blockedProviders, Configuration, shownProvider } from "#actors/ports/Configuration.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { CustomModelStore } from "#actors/ports/Stores.ts"
import type { ManagementCall } from "#schemas/api/Management.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import type { CustomModel } from "#schemas/records/CustomModel.ts"
import * as Acting from "#src/features/providers/acting.ts"
import { ConnectionTests } from "#src/features/providers/ConnectionTests.ts"
import { headerIssues } from "#src/features/providers/nodes/nodeRecord.ts"
import { refuseInert } from "#src/management/acting.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import * as ModelFormats from "#src/providers/modelFormats.ts"
import { builtin, modelsOf } from "#src/providers/Registry.ts"
import type { ModelInput, ModelView } from "./api.ts"
import * as CustomModelRecord from "./customModelRecord.ts"

type Done<A> = Effect.Effect<A, Refusal.Refusal | StoreError, ManagementCall>

export interface Listed {
  /** Models that the registry does not have. */
  readonly models: ReadonlyArray<ModelView>
  /** Overrides of the registry's models, by `<provider>/<model>`. */
  readonly modelCompatOverrides: Readonly<Record<string, ModelView>>
}

export class ManagedModels extends Context.Service<ManagedModels, {
  /** Of one provider, by its id, alias or prefix; of all without it. */
  readonly listed: (provider: string | undefined) => Listed
  readonly add: (input: ModelInput) => Done<{ readonly model: ModelView }>
  readonly update: (input: ModelInput) => Done<{ readonly model: ModelView } | { readonly ok: true; readonly modelCompatOverrides: Listed["modelCompatOverrides"] }>
  readonly hide: (provider: string, ids: ReadonlyArray<string>, isHidden: boolean) => Done<Listed & { readonly ok: true; readonly updated: number }>
  readonly remove: (query: { readonly provider: string; readonly model?: string; readonly all?: string }) => Done<{ readonly cleared: boolean } | { readonly removed: boolean }>
  /** Asks the upstream with this model first; a refusal stores nothing. */
  readonly validateAndAdd: (input: ModelInput) => Done<{ readonly model: ModelView }>
}>()("gateway/http/ManagedModels") {}

export const make = Effect.gen(function*() {
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

  const listed = (provider: string | undefined): Listed => {
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

  const add = Effect.fn("ManagedModels.add")(function*(input: ModelInput) {
    return { model: view(yield* save(input, yield* owner(input.provider))) }
  })

  const update = Effect.fn("ManagedModels.update")(function*(input: ModelInput) {
    const provider = yield* owner(input.provider)
    const overrides = modelsOf(builtin, provider).has(input.modelId)
    const isThere = Effect.suspend(() => overrides || find(provider, input.modelId) !== undefined ? Effect.void : Effect.fail(Refusal.notFound("Model not found")))
    yield* isThere
    const model = yield* save(input, provider, isThere)
    return overrides ? { ok: true as const, modelCompatOverrides: listed(provider).modelCompatOverrides } : { model: view(model) }
  })

  const hide = Effect.fn("ManagedModels.hide")(function*(providerId: string, ids: ReadonlyArray<string>, isHidden: boolean) {
    const provider = yield* owner(providerId)
    if (ids.length === 0) return yield* Effect.fail(Refusal.invalidField("modelIds", "Name a model: modelId in the query or modelIds in the body"))
    const at = yield* now
    yield* configuration.commit(Effect.forEach(ids, (id) =>
      store.upsert({ ...(find(provider, id) ?? CustomModelRecord.emptyModel(provider, id, at)), isHidden, updatedAt: at }), { discard: true }))
    return { ok: true as const, updated: ids.length, ...listed(provider) }
  })

  const remove = Effect.fn("ManagedModels.remove")(function*(query: { readonly provider: string; readonly model?: string; readonly all?: string }) {
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

  const validateAndAdd = Effect.fn("ManagedModels.validateAndAdd")(function*(input: ModelInput) {
    yield* refuseInert(Acting.customModel, input)
    const provider = yield* owner(input.provider)
    if (blockedProviders(configuration.current()).has(provider)) return yield* Effect.fail(Refusal.badRequest("The provider is blocked (setting blockedProviders)"))
    const connection = configuration.current().activeByProvider.get(provider)?.[0]
    if (connection === undefined) return yield* Effect.fail(Refusal.badRequest("The provider has no active connection to ask"))
    const result = yield* tests.probe(connection, { model: input.modelId, wants: "chat", family: ModelFormats.of({ targetFormat: input.targetFormat ?? null, extra: {} })?.family ?? null })
    if (!result.valid) return yield* Effect.fail(Refusal.badRequest(result.diagnosis?.message ?? "The upstream refused the model"))
    return { model: view(yield* save(input, provider)) }
  })

  return ManagedModels.of({ listed, add, update, hide, remove, validateAndAdd })
})

export const layer = Layer.effect(ManagedModels, make)
