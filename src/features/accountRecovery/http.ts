import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { autoDisableOf, settingKey } from "#schemas/words/AutoDisable.ts"
import * as SettingObject from "#src/features/settings/ports/settingObject.ts"
import * as Surface from "#src/management/Surface.ts"
import { AccountRecoveryGroup } from "./api.ts"

export const layer = HttpApiBuilder.group(Surface.make(AccountRecoveryGroup), "accountRecovery", Effect.fn(function*(handlers) {
  const { get, put } = yield* SettingObject.make(settingKey, autoDisableOf)
  return handlers.handleAll({ get: () => get, put: ({ payload }) => put(payload) })
}))
