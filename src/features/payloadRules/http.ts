import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { type PayloadRules, payloadRulesOf, settingKey } from "#schemas/words/PayloadRules.ts"
import * as SettingObject from "#src/features/settings/ports/settingObject.ts"
import * as Surface from "#src/management/Surface.ts"
import { type PayloadRulesChange, PayloadRulesGroup } from "./api.ts"

/** Lists are replaced; the older spelling is stored as the newer one. */
const changed = (before: PayloadRules, { "default-raw": older, ...lists }: PayloadRulesChange): PayloadRules =>
  ({ ...before, ...lists, ...older === undefined ? {} : { defaultRaw: older } })

export const layer = HttpApiBuilder.group(Surface.make(PayloadRulesGroup), "payloadRules", Effect.fn(function*(handlers) {
  const { get, put } = yield* SettingObject.make(settingKey, payloadRulesOf, changed)
  return handlers.handleAll({ get: () => get, put: ({ payload }) => put(payload) })
}))
