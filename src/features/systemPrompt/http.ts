import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { settingKey, systemPromptOf } from "#schemas/words/SystemPrompt.ts"
import * as SettingObject from "#src/features/settings/ports/settingObject.ts"
import * as Surface from "#src/management/Surface.ts"
import { SystemPromptGroup } from "./api.ts"

export const layer = HttpApiBuilder.group(Surface.make(SystemPromptGroup), "systemPrompt", Effect.fn(function*(handlers) {
  const { get, put } = yield* SettingObject.make(settingKey, systemPromptOf)
  return handlers.handleAll({ get: () => get, put: ({ payload }) => put(payload) })
}))
