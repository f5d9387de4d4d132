import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { answer } from "#src/management/answer.ts"
import * as Surface from "#src/management/Surface.ts"
import { ProviderModelsGroup } from "./api.ts"
import { ManagedModels } from "./ManagedModels.ts"

export const layer = HttpApiBuilder.group(Surface.make(ProviderModelsGroup), "providerModels", Effect.fn(function*(handlers) {
  const managed = yield* ManagedModels
  return handlers.handleAll({
    list: ({ query }) => Effect.sync(() => managed.listed(query.provider)),
    create: ({ payload }) => answer(managed.add(payload)),
    update: ({ payload }) => answer(managed.update(payload)),
    hide: ({ payload, query }) =>
      answer(managed.hide(query.provider, payload.modelIds ?? (query.modelId === undefined ? [] : [query.modelId]), payload.isHidden)),
    remove: ({ query }) => answer(managed.remove(query)),
    validateAndAdd: ({ payload }) => answer(managed.validateAndAdd(payload))
  })
}))
