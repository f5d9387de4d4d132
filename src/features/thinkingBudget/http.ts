import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { Configuration } from "#actors/ports/Configuration.ts"
import { DocumentStore } from "#actors/ports/Stores.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import { settingKey, thinkingBudgetOf } from "#schemas/words/ThinkingBudget.ts"
import { answer } from "#src/management/answer.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import * as Surface from "#src/management/Surface.ts"
import { type ThinkingBudgetChange, ThinkingBudgetGroup } from "./api.ts"

const KIND = "setting"

export const layer = HttpApiBuilder.group(Surface.make(ThinkingBudgetGroup), "thinkingBudget", Effect.fn(function*(handlers) {
  const audit = yield* Audit
  const configuration = yield* Configuration
  const documents = yield* DocumentStore

  const view = () => thinkingBudgetOf(configuration.current().settings)

  const change = Effect.fn("ThinkingBudget.change")(function*(input: ThinkingBudgetChange) {
    const names = Object.keys(input)
    if (names.length === 0) return yield* Effect.fail(Refusal.badRequest("No valid fields to update"))
    // Read under the writer's lock: two changes at once both stand.
    yield* configuration.commit(Effect.suspend(() => documents.put(KIND, settingKey, { ...view(), ...input })))
    yield* audit.note({ action: "settings.updated", resourceType: "settings", details: { changed: names.map((name) => `${settingKey}.${name}`) } })
    return view()
  })

  return handlers.handleAll({
    get: () => Effect.sync(view),
    put: ({ payload }) => answer(change(payload))
  })
}))
