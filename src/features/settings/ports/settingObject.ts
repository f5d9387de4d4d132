/** A setting that is an object of its own path: read with its defaults, changed by the members that are given. */
import * as Effect from "effect/Effect"
import { Configuration } from "#actors/ports/Configuration.ts"
import { DocumentStore } from "#actors/ports/Stores.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import { answer } from "#src/management/answer.ts"
import { Audit } from "#src/management/audit/Audit.ts"

const replaced = <Value extends object>(before: Value, input: Partial<Value>): Value => ({ ...before, ...input })

/** `key`: under which it is stored. `read`: the effective values of stored settings. `changed`: the values with a change; absent = members are replaced. */
export const make = Effect.fnUntraced(function*<Value extends object, Change extends object = Partial<Value>>(
  key: string, read: (settings: ReadonlyMap<string, unknown>) => Value, changed: (before: Value, input: Change) => Value = replaced as never
) {
  const audit = yield* Audit
  const configuration = yield* Configuration
  const documents = yield* DocumentStore

  const view = (): Value => read(configuration.current().settings)

  const change = Effect.fn("SettingObject.change")(function*(input: Change) {
    const names = Object.keys(input)
    if (names.length === 0) return yield* Effect.fail(Refusal.badRequest("No valid fields to update"))
    // Read under the writer's lock: two changes at once both stand.
    yield* configuration.commit(Effect.suspend(() => documents.put("setting", key, changed(view(), input))))
    // Names only: a text may be too large for a line of the audit.
    yield* audit.note({ action: "settings.updated", resourceType: "settings", details: { changed: names.map((name) => `${key}.${name}`) } })
    return view()
  })

  return { get: Effect.sync(view), put: (input: Change) => answer(change(input)) }
})
