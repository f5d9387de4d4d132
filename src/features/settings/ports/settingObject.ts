/** A setting that is an object of its own path: read with its defaults, changed by the members that are given. */
import * as Effect from "effect/Effect"
import { Configuration } from "#actors/ports/Configuration.ts"
import { DocumentStore } from "#actors/ports/Stores.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import { answer } from "#src/management/answer.ts"
import { Audit } from "#src/management/audit/Audit.ts"

/** `key`: under which it is stored. `read`: the effective values of stored settings. */
export const make = Effect.fnUntraced(function*<Value extends object>(key: string, read: (settings: ReadonlyMap<string, unknown>) => Value) {
  const audit = yield* Audit
  const configuration = yield* Configuration
  const documents = yield* DocumentStore

  const view = (): Value => read(configuration.current().settings)

  const change = Effect.fn("SettingObject.change")(function*(input: Partial<Value>) {
    const names = Object.keys(input)
    if (names.length === 0) return yield* Effect.fail(Refusal.badRequest("No valid fields to update"))
    // Read under the writer's lock: two changes at once both stand.
    yield* configuration.commit(Effect.suspend(() => documents.put("setting", key, { ...view(), ...input })))
    // Names only: a text may be too large for a line of the audit.
    yield* audit.note({ action: "settings.updated", resourceType: "settings", details: { changed: names.map((name) => `${key}.${name}`) } })
    return view()
  })

  return { get: Effect.sync(view), put: (input: Partial<Value>) => answer(change(input)) }
})
