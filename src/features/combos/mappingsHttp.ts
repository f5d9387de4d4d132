import * as Clock from "effect/Clock"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { Configuration } from "#actors/ports/Configuration.ts"
import { ComboMappingStore } from "#actors/ports/Stores.ts"
import { type MappingChange, type NewMapping, ComboMappingsGroup } from "./api.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import type { ComboMapping } from "#schemas/records/Combo.ts"
import { answer } from "#src/management/answer.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import * as Surface from "#src/management/Surface.ts"

const missing = Effect.fail(Refusal.notFound("Mapping not found"))

export const layer = HttpApiBuilder.group(Surface.make(ComboMappingsGroup), "comboMappings", Effect.fn(function*(handlers) {
  const audit = yield* Audit
  const configuration = yield* Configuration
  const random = yield* SecureRandom.SecureRandom
  const store = yield* ComboMappingStore

  const now = Effect.map(Clock.currentTimeMillis, (ms) => new Date(ms).toISOString())

  const find = (id: string) => Effect.suspend(() => {
    const mapping = configuration.current().comboMappings.find((one) => one.id === id)
    return mapping === undefined ? missing : Effect.succeed(mapping)
  })

  const checkCombo = (id: string) => Effect.suspend(() =>
    configuration.current().combos.some((combo) => combo.id === id) ? Effect.void : Effect.fail(Refusal.invalidField("comboId", "No such combo")))

  const note = (action: string, mapping: ComboMapping) =>
    audit.note({ action, target: mapping.id, resourceType: "combo-mapping", details: { pattern: mapping.pattern, comboId: mapping.comboId } })

  const create = Effect.fn("ComboMappings.create")(function*(input: NewMapping) {
    const at = yield* now
    const mapping: ComboMapping = {
      id: yield* random.uuidV4(), pattern: input.pattern, comboId: input.comboId, priority: input.priority ?? 0,
      enabled: input.enabled ?? true, description: input.description ?? null, createdAt: at, updatedAt: at
    }
    // Checked inside the commit, so that its combo is not deleted in between.
    yield* configuration.commit(Effect.andThen(checkCombo(mapping.comboId), store.insert(mapping)))
    yield* note("combo.mapping.created", mapping)
    return { mapping }
  })

  const update = Effect.fn("ComboMappings.update")(function*(id: string, change: MappingChange) {
    const updatedAt = yield* now
    const mapping = yield* configuration.commit(Effect.gen(function*() {
      const next: ComboMapping = { ...yield* find(id), ...change, updatedAt }
      yield* checkCombo(next.comboId)
      if (!(yield* store.replace(next))) return yield* missing
      return next
    }))
    yield* note("combo.mapping.updated", mapping)
    return { mapping }
  })

  const remove = Effect.fn("ComboMappings.remove")(function*(id: string) {
    const mapping = yield* find(id)
    if (!(yield* configuration.commit(store.remove(id)))) return yield* missing
    yield* note("combo.mapping.deleted", mapping)
    return { success: true as const }
  })

  return handlers.handleAll({
    list: () => Effect.sync(() => ({ mappings: configuration.current().comboMappings })),
    create: ({ payload }) => answer(create(payload)),
    get: ({ params }) => answer(Effect.map(find(params.id), (mapping) => ({ mapping }))),
    update: ({ params, payload }) => answer(update(params.id, payload)),
    remove: ({ params }) => answer(remove(params.id))
  })
}))
