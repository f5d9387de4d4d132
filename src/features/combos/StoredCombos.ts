/** Stores combos and applies the effects of a change: on mappings, on combos that refer to it, on its counts. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { ComboMetrics } from "#src/inference/ports/ComboMetrics.ts"
import { Configuration, shownProvider } from "#actors/ports/Configuration.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { ComboMappingStore, ComboStore } from "#actors/ports/Stores.ts"
import * as Acting from "./acting.ts"
import type { ComboChange, ComboView, DraftCombo, NewCombo } from "./api.ts"
import type { ManagementCall } from "#schemas/api/Management.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import type { Combo } from "#schemas/records/Combo.ts"
import { refuseInert } from "#src/management/acting.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import { ownerOf, refuseOwned } from "#src/management/ownership/ownership.ts"
import { builtin } from "#src/providers/Registry.ts"
import { makeConfigs } from "#src/routing/combos/config.ts"
import * as Nesting from "#src/routing/combos/nesting.ts"
import * as ComboRecord from "./comboRecord.ts"
import * as Members from "./members.ts"

type Done<A> = Effect.Effect<A, Refusal.Refusal | StoreError, ManagementCall>

export class StoredCombos extends Context.Service<StoredCombos, {
  /** All of them, and each answer here, as replies show combos. */
  readonly list: Effect.Effect<ReadonlyArray<ComboView>>
  readonly get: (id: string) => Done<ComboView>
  /** A combo as it would be stored, with the same refusals. */
  readonly draft: (input: DraftCombo) => Effect.Effect<Combo, Refusal.Refusal>
  readonly create: (input: NewCombo) => Done<ComboView>
  readonly change: (id: string, change: ComboChange) => Done<ComboView>
  readonly reorder: (ids: ReadonlyArray<string>) => Done<ReadonlyArray<ComboView>>
  readonly remove: (id: string) => Done<void>
}>()("gateway/http/StoredCombos") {}

const missing = Effect.fail(Refusal.notFound("Combo not found"))
const nameTaken = Refusal.badRequest("Combo name already exists", { details: [{ field: "name", message: "Taken" }] })

const changedSince = ({ name, updatedAt }: Combo): Refusal.Refusal =>
  Refusal.conflict(`Combo '${name}' was changed at ${updatedAt}, after it was read. Read it again, or send the change without ifUpdatedAt.`, { code: "changed_since" })

/** Two nodes may race for a name: the store's word is the last one. */
const takenIsRefused = <A, R>(effect: Effect.Effect<A, Refusal.Refusal | StoreError, R>): Effect.Effect<A, Refusal.Refusal | StoreError, R> =>
  Effect.catchTag(effect, "StoreError", (error) => Effect.fail(error.reason === "conflict" ? nameTaken : error))

export const make = Effect.gen(function*() {
  const audit = yield* Audit
  const configuration = yield* Configuration
  const mappings = yield* ComboMappingStore
  const metrics = yield* ComboMetrics
  const random = yield* SecureRandom.SecureRandom
  const store = yield* ComboStore

  const get = (id: string): Done<Combo> => Effect.suspend(() => {
    const combo = configuration.current().combos.find((one) => one.id === id)
    return combo === undefined ? missing : Effect.succeed(combo)
  })

  /** Ids for one record and `steps` steps. */
  const makingOf = Effect.fnUntraced(function*(steps: number) {
    const ids = yield* Effect.replicateEffect(random.uuidV4(), steps + 1)
    let next = 0
    const making: ComboRecord.Making = {
      registry: builtin, now: new Date(yield* Clock.currentTimeMillis).toISOString(), makeId: () => ids[next++] ?? ""
    }
    return making
  })

  /** The combos as they would be, checked: names are unique, references exist, nothing nests in a circle or too deep. */
  const checked = (next: Combo | Refusal.Refusal, previous: Combo | null): Effect.Effect<Combo, Refusal.Refusal> => Effect.suspend(() => {
    if (next instanceof Refusal.Refusal) return Effect.fail(next)
    const { combos, settings } = configuration.current()
    const others = combos.filter((one) => one.id !== next.id)
    if (others.some((one) => one.name === next.name)) return Effect.fail(nameTaken)
    const after = Nesting.byName([...others.map((one) => previous === null ? one : ComboRecord.renamed(one, previous.name, next.name)), next])
    // A reference whose combo was deleted since it was made does not stand in the way of other changes.
    const old = new Set(previous?.models.map((step) => step.kind === "combo-ref" ? step.comboName : ""))
    const unknown = next.models.findIndex((step) => step.kind === "combo-ref" && !after.has(step.comboName) && !old.has(step.comboName))
    if (unknown >= 0) return Effect.fail(Refusal.invalidField(`models.${unknown}.comboName`, "No such combo"))
    const strangers = Members.issuesOf(next, previous, configuration.current())
    if (strangers.length > 0) return Effect.fail(Refusal.invalidFields(strangers))
    const configOf = makeConfigs(settings)
    const problem = Nesting.newProblem(Nesting.byName(combos), after, next.name, (combo) => configOf(combo).maxComboDepth)
    return problem === null ? Effect.succeed(next) : Effect.fail(Refusal.badRequest(problem, { details: [{ field: "models", message: problem }] }))
  })

  const note = (action: string, combo: Combo, details: Readonly<Record<string, string>> = {}) =>
    audit.note({ action, target: combo.id, resourceType: "combo", details: { name: combo.name, ...details } })

  const shown = (combo: Combo): ComboView => {
    const snapshot = configuration.current()
    return { ...ComboRecord.shown(combo, (provider) => shownProvider(snapshot, provider)), owner: ownerOf(snapshot, "combo", combo.id) }
  }
  const withWarning = (combo: Combo): ComboView => {
    const warning = ComboRecord.shadowing(combo.name, builtin, configuration.current().customModels)
    return warning === null ? shown(combo) : { ...shown(combo), warning }
  }

  return StoredCombos.of({
    list: Effect.sync(() => configuration.current().combos.map(shown)),
    get: (id) => Effect.map(get(id), shown),
    draft: Effect.fn("StoredCombos.draft")(function*({ id, ...input }) {
      yield* refuseInert(Acting.combo, input)
      const making = yield* makingOf(input.models?.length ?? 0)
      const previous = id === undefined ? null : configuration.current().combos.find((one) => one.id === id) ?? null
      if (id !== undefined && previous === null) return yield* missing
      return yield* checked(previous === null ? ComboRecord.make(input, 0, making) : ComboRecord.apply(previous, input, making), previous)
    }),
    create: Effect.fn("StoredCombos.create")(function*(input) {
      yield* refuseInert(Acting.combo, input)
      const making = yield* makingOf(input.models?.length ?? 0)
      // Checked inside the commit: one writer at a time, so that two changes cannot close a circle together.
      const combo = yield* takenIsRefused(configuration.commit(Effect.gen(function*() {
        const last = configuration.current().combos.reduce((most, one) => Math.max(most, one.sortOrder), -1)
        const made = yield* checked(ComboRecord.make(input, last + 1, making), null)
        yield* store.insert(made)
        return made
      })))
      yield* note("combo.created", combo)
      return withWarning(combo)
    }),
    change: Effect.fn("StoredCombos.change")(function*(id, change) {
      yield* refuseOwned(configuration.current(), "combo", id)
      yield* refuseInert(Acting.combo, change)
      const making = yield* makingOf(change.models?.length ?? 0)
      const { combo, previous } = yield* takenIsRefused(configuration.commit(Effect.gen(function*() {
        const previous = yield* get(id)
        if (change.ifUpdatedAt !== undefined && change.ifUpdatedAt !== previous.updatedAt) return yield* Effect.fail(changedSince(previous))
        const combo = yield* checked(ComboRecord.apply(previous, change, making), previous)
        if (!(yield* store.replace(combo))) return yield* missing
        if (combo.name !== previous.name) {
          for (const other of configuration.current().combos) {
            const follows = ComboRecord.renamed(other, previous.name, combo.name)
            if (other.id !== id && follows !== other) yield* store.replace(follows)
          }
        }
        return { combo, previous }
      })))
      const isRenamed = combo.name !== previous.name
      if (isRenamed) metrics.rename(previous.name, combo.name)
      yield* note("combo.updated", combo, isRenamed ? { previousName: previous.name } : {})
      return isRenamed ? withWarning(combo) : shown(combo)
    }),
    reorder: Effect.fn("StoredCombos.reorder")(function*(ids) {
      yield* configuration.commit(Effect.gen(function*() {
        const known = configuration.current().combos.map((one) => one.id)
        const unknown = ids.findIndex((id) => !known.includes(id))
        if (unknown >= 0) return yield* Effect.fail(Refusal.invalidField(`comboIds.${unknown}`, "No such combo"))
        yield* store.reorder([...ids, ...known.filter((id) => !ids.includes(id))])
      }))
      yield* audit.note({ action: "combo.reordered", resourceType: "combo", details: { comboIds: ids } })
      return configuration.current().combos.map(shown)
    }),
    remove: Effect.fn("StoredCombos.remove")(function*(id) {
      yield* refuseOwned(configuration.current(), "combo", id)
      const combo = yield* configuration.commit(Effect.gen(function*() {
        const combo = yield* get(id)
        yield* mappings.removeByCombo(id)
        if (!(yield* store.remove(id))) return yield* missing
        return combo
      }))
      metrics.reset(combo.name)
      yield* note("combo.deleted", combo)
    })
  })
})

export const layer = Layer.effect(StoredCombos, make)
