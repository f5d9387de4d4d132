import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { Configuration } from "#actors/ports/Configuration.ts"
import { DocumentStore } from "#actors/ports/Stores.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import { settingKey, systemPromptOf } from "#schemas/words/SystemPrompt.ts"
import { answer } from "#src/management/answer.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import * as Surface from "#src/management/Surface.ts"
import { type SystemPromptChange, SystemPromptGroup } from "./api.ts"

const KIND = "setting"

export const layer = HttpApiBuilder.group(Surface.make(SystemPromptGroup), "systemPrompt", Effect.fn(function*(handlers) {
  const audit = yield* Audit
  const configuration = yield* Configuration
  const documents = yield* DocumentStore

  const view = () => systemPromptOf(configuration.current().settings)

  const change = Effect.fn("SystemPrompt.change")(function*(input: SystemPromptChange) {
    const names = Object.keys(input)
    if (names.length === 0) return yield* Effect.fail(Refusal.badRequest("No valid fields to update"))
    // Read under the writer's lock: two changes at once both stand.
    yield* configuration.commit(Effect.suspend(() => documents.put(KIND, settingKey, { ...view(), ...input })))
    // The texts are too large for a line of the audit.
    yield* audit.note({ action: "settings.updated", resourceType: "settings", details: { changed: names.map((name) => `${settingKey}.${name}`) } })
    return view()
  })

  return handlers.handleAll({
    get: () => Effect.sync(view),
    put: ({ payload }) => answer(change(payload))
  })
}))
