import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { settingKey, thinkingBudgetOf } from "#schemas/words/ThinkingBudget.ts"
import * as SettingObject from "#src/features/settings/ports/settingObject.ts"
import * as Surface from "#src/management/Surface.ts"
import { ThinkingBudgetGroup } from "./api.ts"

export const layer = HttpApiBuilder.group(Surface.make(ThinkingBudgetGroup), "thinkingBudget", Effect.fn(function*(handlers) {
  const { get, put } = yield* SettingObject.make(settingKey, thinkingBudgetOf)
  return handlers.handleAll({ get: () => get, put: ({ payload }) => put(payload) })
}))
